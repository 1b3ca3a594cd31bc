"""Tasks that all are of one size: the lexicographically max-min whole tasks, exactly, by flow."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fairlead.sharing.problem.problem import Floats, Ints
from fairlead.sharing.whole_tasks.counts import Counts


def all_alike(counts: Counts) -> bool:
    """Whether every task takes the same and starts alone, so that machines have slots, and nobody's
    rate depends on who else is active."""
    tree = counts.problem.tree
    return (
        len(counts.demand) > 0
        and bool((counts.demand == counts.demand[0]).all())
        and bool((tree.parent < 0).all())
        and int(np.bincount(tree.job_tenant).max()) == 1
        and not tree.limits
        and bool((counts.gang == 1).all())
        and int(counts.holds.max()) * int(counts.count.sum()) < 2**30
    )


def in_slots(counts: Counts, unit: Floats) -> Ints:
    """(J, C) whole tasks whose shares, tasks / `unit` (J,), are lexicographically max-min (Ghodsi,
    Zaharia, Shenker, Stoica 2013, section 5: whole machines by network flow)."""
    from fairlead.sharing.solvers.whole.flow import whole_flow

    problem = counts.problem
    slots = _slots(counts)
    runs = np.flatnonzero((counts.usable > 0) & (unit > 0))
    if problem.written is not None:  # of equal shares the one that was written first
        runs = runs[np.argsort(np.array(problem.written)[runs])]
    most_on = counts.most[runs] * counts.count
    found = np.zeros(counts.most.shape, np.int64)
    if not len(runs):
        return found
    found[runs] = whole_flow(
        most_on,
        [Fraction(float(unit[j])) for j in runs],
        np.minimum(counts.tasks[runs], most_on.sum(axis=1)),
        slots * counts.count,
    )
    return found


def _slots(counts: Counts) -> Ints:
    """(C,) tasks that a machine of each class holds, whosoever they are."""
    needs = counts.demand[0] > 0
    slots: Ints = (counts.capacity[:, needs] // counts.demand[0, needs]).min(axis=1)
    return slots


def deal(tasks: Ints, machines: int) -> list[tuple[tuple[tuple[int, int], ...], int]]:
    """The tasks (J,) of a class dealt out to its machines one by one in a circle: what is on a
    machine, as (job, tasks), and on how many machines that is. Nobody has two tasks on a machine
    who has no more tasks than there are machines."""
    order = np.repeat(np.arange(len(tasks)), tasks)
    rows = -(-len(order) // machines)
    if rows == 0:
        return []
    hands = np.full(rows * machines, -1)
    hands[: len(order)] = order
    hands = np.sort(hands.reshape(rows, machines).T, axis=1)
    kinds, number = np.unique(hands, axis=0, return_counts=True)
    found = []
    for hand, times in zip(kinds.tolist(), number.tolist(), strict=True):
        has: dict[int, int] = {}
        for j in hand:
            if j >= 0:
                has[j] = has.get(j, 0) + 1
        if has:
            found.append((tuple(has.items()), times))
    return found
