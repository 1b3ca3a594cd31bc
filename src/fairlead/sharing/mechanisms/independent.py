"""Independent allocation: each machine is split by weight among those who can use it."""

from __future__ import annotations

import numpy as np

from fairlead.sharing.filling.rates import rates
from fairlead.sharing.mechanisms.weights import jobs_capped, runnable
from fairlead.sharing.problem.problem import Floats, Problem, tasks_that_fit
from fairlead.sharing.rules.mechanism import Outcome
from fairlead.sharing.rules.registry import mechanism


@mechanism("independent")
def independent(problem: Problem, weight: Floats) -> Outcome:
    """Every machine divided without a look at the others (Choosy section 4, Figure 1).

    Every resource of a machine is split in proportion to the effective weights of the jobs that
    can use it, and each runs what its part allows (at most one task where it spreads). What a job
    cannot use of its part is lost: nothing is handed on. A job that would exceed its number of
    tasks, and the jobs that would exceed a limit together, are scaled down alike everywhere.
    """
    present = runnable(problem, weight)
    whole = tasks_that_fit(problem.demand, problem.capacity, np.zeros_like(problem.spread))
    tasks = np.zeros(problem.usable.shape)
    for c in range(len(problem.count)):
        users = problem.usable[:, c] & present
        if users.any():
            part = rates(problem.tree, weight, users)
            part /= part.sum()
            tasks[users, c] = part[users] * whole[users, c]
    tasks = np.where(problem.spread[:, None], np.minimum(tasks, 1.0), tasks) * problem.count
    total = tasks.sum(axis=1)
    over = total > problem.tasks
    tasks[over] *= (problem.tasks[over] / total[over])[:, None]
    # From the leaves up: what a limit below cuts may already satisfy the limit above.
    limits = sorted(
        zip(problem.tree.limits, jobs_capped(problem), strict=True), key=lambda x: -x[0].tenant
    )
    for limit, capped in limits:
        held = float(problem.demand[capped, limit.resource] @ tasks[capped].sum(axis=1))
        if held > limit.amount:
            tasks[capped] *= limit.amount / held
    return Outcome(tasks)
