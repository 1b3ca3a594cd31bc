"""The sparse, scaled program that all linear baselines share: one variable a (job, class) pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from fairlead.sharing.problem.problem import Bools, Floats, Ints, Problem


class BaselineError(Exception):
    """A baseline's solver stopped without an optimum."""


@dataclass(frozen=True)
class Pairs:
    """Usable pairs in a unit in which an equal split would be a share of about 1.

    The share of job j is the sum of its variables; `job_rows` @ x says so. `capacity_rows` @ x
    is at most `capacity`; each row is scaled to a mean coefficient of 1. `unit` turns shares back.
    """

    jobs: int
    unit: float
    most: Floats  # (P,) of each variable, infinite where its job does not spread
    job_rows: sparse.csr_matrix  # (J, P)
    capacity_rows: sparse.csr_matrix  # (rows, P)
    capacity: Floats  # (rows,)


def pairs(problem: Problem, scale: Floats, weight: Floats, *, simple: bool = True) -> Pairs:
    """The scaled program. `weight` is per tenant, as the filling takes it. `simple`: whoever asks
    knows no job that ends or spreads."""
    tree = problem.tree
    jobs = len(problem.tasks)
    if not (
        np.array_equal(tree.job_tenant, np.arange(jobs))
        and (tree.parent < 0).all()
        and not tree.limits
    ):
        raise ValueError("the baselines take tenants of one job only, without limits")
    if simple and not np.isinf(problem.tasks).all():
        raise ValueError("this baseline takes jobs without a last task only")
    if simple and problem.spread.any():
        raise ValueError("this baseline takes no job that spreads")
    job, machine_class = np.nonzero(problem.usable)
    number = len(job)
    unit = float(weight.sum())
    tasks = (scale * weight / unit)[job]  # tasks in one unit of each variable
    resources = len(problem.resources)
    amount = problem.demand[job] * tasks[:, None]  # (P, R)
    which, resource = np.nonzero(amount)
    rows = sparse.csr_matrix(
        (amount[which, resource], (machine_class[which] * resources + resource, which)),
        shape=(len(problem.count) * resources, number),
    )
    available = (problem.count[:, None] * problem.capacity).ravel()
    entries = np.diff(rows.indptr)
    used = np.flatnonzero(entries)
    rows = rows[used]
    mean = np.asarray(rows.sum(axis=1)).ravel() / entries[used]
    return Pairs(
        jobs=jobs,
        unit=unit,
        most=np.where(problem.spread[job], problem.count[machine_class] / tasks, np.inf),
        job_rows=sparse.csr_matrix((np.ones(number), (job, np.arange(number))), (jobs, number)),
        capacity_rows=sparse.csr_matrix(sparse.diags(1.0 / mean) @ rows),
        capacity=available[used] / mean,
    )


def runnable(problem: Problem) -> Bools:
    """(J,) the jobs that some machine can run."""
    return np.asarray(problem.usable.any(axis=1))


def stuck(rise: Floats, tolerance: float) -> Ints:
    """Those whose rise is within the tolerance; where nobody's is (the solver's slack, amplified),
    those that rose least, so that every round freezes somebody."""
    return np.flatnonzero(rise <= max(tolerance, float(rise.min())))
