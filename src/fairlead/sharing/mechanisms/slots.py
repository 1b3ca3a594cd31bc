"""Slots: machines cut into equal bundles, which are shared as one resource (Hadoop)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairlead.model.errors import InputError, Mistake
from fairlead.sharing.filling.fill import fill
from fairlead.sharing.problem.problem import Bools, Floats, Problem, tasks_that_fit
from fairlead.sharing.rules.mechanism import Outcome
from fairlead.sharing.rules.registry import mechanism

ROUNDING = 1e-12
"""Relative: a quotient of two decimals this close below a whole number is that number."""


@mechanism("slots")
def slots(problem: Problem, weight: Floats, **amount: float) -> Outcome:
    """Max-min fair shares of slots (DRF sections 2 and 7; the fair scheduler of Hadoop).

    A machine has as many slots as it holds bundles, whole ones, and a task takes as many slots
    as its demand needs bundles, at least one. `slots(cpu=1, memory=4GiB)` says what the bundle
    is; otherwise it is on every machine the componentwise largest task among the jobs that may
    use the machine and of which it holds a whole one. A task that needs more slots than a machine
    has cannot run there. What a slot leaves unused is lost: that is the point of comparison.
    Resources that a given bundle leaves out are shared as they are, so no machine is
    oversubscribed.
    """
    _check(problem, amount)
    if amount:
        size = np.array([amount.get(name, np.inf) for name in problem.resources])
        count = _whole(_least(problem.capacity, size))
        takes = np.maximum(1.0, -_whole(-_most(problem.demand, size)))
        fits: Bools = takes[:, None] <= count[None, :]
        left_out = ~np.isfinite(size)
    else:
        whole = tasks_that_fit(problem.demand, problem.capacity, np.zeros_like(problem.spread))
        fits = problem.usable & (whole >= 1 - ROUNDING)
        largest = np.array(
            [problem.demand[fits[:, c]].max(axis=0, initial=0.0) for c in range(len(whole.T))]
        ).reshape(problem.capacity.shape)
        count = np.where(fits.any(axis=0), _whole(_least(problem.capacity, largest)), 0.0)
        takes = np.ones(len(problem.demand))
        left_out = np.zeros(len(problem.resources), dtype=bool)
    limited = sorted({limit.resource for limit in problem.tree.limits})
    kept = np.flatnonzero(left_out | np.isin(range(len(left_out)), limited))
    demand = np.column_stack([takes, problem.demand[:, kept]])
    capacity = np.column_stack([count, problem.capacity[:, kept]])
    holds = tasks_that_fit(demand, capacity, problem.spread)
    place = {int(r): i + 1 for i, r in enumerate(kept)}
    limits = tuple(replace(x, resource=place[x.resource]) for x in problem.tree.limits)
    cut = replace(
        problem,
        resources=("slot", *(problem.resources[r] for r in kept)),
        demand=demand,
        capacity=capacity,
        holds=holds,
        usable=problem.usable & fits & (holds > 0),
        tree=replace(problem.tree, limits=limits),
        known=None,  # slots are what the doubles say
    )
    scale = np.where(cut.usable.any(axis=1), float(count @ problem.count) / takes, 0.0)
    return Outcome(fill(cut, scale, weight).tasks)


def _check(problem: Problem, amount: dict[str, float]) -> None:
    mistakes = [
        Mistake(f"slots: no job demands {name}", f"leave out {name}={size:g}")
        for name, size in amount.items()
        if name not in problem.resources
    ]
    mistakes += [
        Mistake(f"slots: {name}={size:g}", "a slot has a positive finite amount of each resource")
        for name, size in amount.items()
        if not 0 < size < np.inf
    ]
    if mistakes:
        raise InputError(mistakes)


def _least(capacity: Floats, size: Floats) -> Floats:
    """For each row the least of capacity / size; what has no size or no end does not count."""
    counts = (size > 0) & np.isfinite(size)
    ratio = np.full(capacity.shape, np.inf)
    np.divide(capacity, size, out=ratio, where=np.broadcast_to(counts, capacity.shape))
    least: Floats = ratio.min(axis=1, initial=np.inf)
    return least


def _most(demand: Floats, size: Floats) -> Floats:
    """For each row the most of demand / size."""
    most: Floats = (demand / size).max(axis=1, initial=0.0)
    return most


def _whole(number: Floats) -> Floats:
    """The whole number just below, or the number itself but for rounding."""
    whole: Floats = np.floor(number + ROUNDING * np.maximum(1.0, np.abs(number)))
    return whole
