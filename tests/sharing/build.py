"""Problems straight from arrays, for tests of what is below the compilation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairlead.sharing.problem.problem import Limit, Problem, Tree, tasks_that_fit


def build(
    demand: Sequence[Sequence[float]],
    capacity: Sequence[Sequence[float]],
    *,
    count: Sequence[int] | None = None,
    eligible: Sequence[Sequence[int]] | None = None,
    tasks: Sequence[float] | None = None,
    spread: Sequence[bool] | None = None,
    weight: Sequence[float] | None = None,
    parent: Sequence[int] | None = None,
    job_tenant: Sequence[int] | None = None,
    limits: Sequence[tuple[int, int, float]] = (),
) -> Problem:
    """The problem; what is left out is plain: one machine a class, every job its own tenant."""
    demands = np.array(demand, dtype=np.float64)
    capacities = np.array(capacity, dtype=np.float64)
    jobs, resources = demands.shape
    classes = len(capacities)
    owner = np.arange(jobs) if job_tenant is None else np.array(job_tenant)
    tenants = max(int(owner.max()) + 1, len(parent or ()), len(weight or ()))
    spreads = np.zeros(jobs, dtype=np.bool_) if spread is None else np.array(spread)
    allowed = (
        np.ones((jobs, classes), dtype=np.bool_)
        if eligible is None
        else np.array(eligible, dtype=np.bool_)
    )
    holds = tasks_that_fit(demands, capacities, spreads)
    return Problem(
        resources=tuple(f"r{r}" for r in range(resources)),
        job_names=tuple(f"j{j}" for j in range(jobs)),
        class_machines=tuple((f"m{c}",) for c in range(classes)),
        demand=demands,
        tasks=np.full(jobs, np.inf) if tasks is None else np.array(tasks, dtype=np.float64),
        spread=spreads,
        capacity=capacities,
        count=np.ones(classes, dtype=np.int64) if count is None else np.array(count),
        eligible=allowed,
        holds=holds,
        usable=allowed & (holds > 0),
        tree=Tree(
            names=tuple(f"t{t}" for t in range(tenants)),
            parent=np.full(tenants, -1) if parent is None else np.array(parent, dtype=np.int64),
            weight=np.ones(tenants) if weight is None else np.array(weight, dtype=np.float64),
            pool_count=np.zeros((tenants, classes), dtype=np.int64),
            job_tenant=owner,
            limits=tuple(Limit(*limit) for limit in limits),
        ),
    )
