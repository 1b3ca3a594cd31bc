"""Whole-task mechanisms to compare with: serial dictatorship and the moving knife."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np

from fairlead.model.errors import InputError
from fairlead.sharing.problem.problem import Ints
from fairlead.sharing.whole_tasks.counts import Counts
from fairlead.sharing.whole_tasks.gangs import refuse_gangs, whole_gangs
from fairlead.sharing.whole_tasks.lottery import Drawn, Lottery, generator
from fairlead.sharing.whole_tasks.outcome import WholeOutcome

Place = tuple[int, Fraction]
"""A mark: a machine, and the part of it up to there."""


MOST_ORDERED = 6
"""Jobs whose orders are all gone through: 6 have 720."""


def serial_dictatorship(counts: Counts, seed: int = 0, lottery: bool = False) -> WholeOutcome:
    """In an order that the seed draws, each job takes whole gangs of what is left, all that it can.

    It is Pareto-optimal and strategy-proof and shares nothing (Friedman, Ghodsi, Psomas 2014,
    section 2.4), where no job runs out of tasks: else where it puts them matters to those after
    it. `lottery=true`: all orders, equally likely, as a lottery, for at most 6 jobs.
    """
    if lottery:
        return _all_orders(counts)
    # By name: a job that says another demand, and so stands elsewhere here, moves no one's turn.
    names = counts.problem.job_names
    by_name = sorted(range(len(names)), key=lambda j: names[j])
    return _in_order(counts, [by_name[at] for at in generator(seed).permutation(len(names))])


def _all_orders(counts: Counts) -> WholeOutcome:
    some = [j for j in range(len(counts.demand)) if counts.usable[j] > 0]
    if len(some) > MOST_ORDERED:
        raise InputError(
            f"{len(some)} jobs have more orders than can all be gone through",
            f"leave out lottery, or share among at most {MOST_ORDERED} jobs",
        )
    number = Counter(
        tuple((c, row, int(times)) for c, row, times in _in_order(counts, order).machines)
        for order in permutations(some)
    )
    allocations = (
        Drawn(Fraction(times, number.total()), machines) for machines, times in number.items()
    )
    found = Lottery.of(allocations, len(counts.demand))
    return WholeOutcome(found.mixture(), lottery=found)


class _Allowed:
    """The tasks that jobs may still have, by their number and the limits."""

    def __init__(self, counts: Counts) -> None:
        self._tasks, self._limits = counts.tasks, counts.limits
        self._gang: list[int] = counts.gang.tolist()
        self._room = [cap.amount for cap in counts.limits]

    def most(self, j: int) -> int:
        """Of job j."""
        return self.of(j, int(self._tasks[j]))

    def of(self, j: int, fit: int) -> int:
        """Of job j where so many fit: no part of a gang."""
        most = min(fit, int(self._tasks[j]))
        for room, cap in zip(self._room, self._limits, strict=True):
            if cap.use[j]:
                most = min(most, room // int(cap.use[j]))
        return whole_gangs(self._gang[j], most, int(self._tasks[j]))

    def take(self, j: int, tasks: int) -> None:
        for at, cap in enumerate(self._limits):
            self._room[at] -= int(cap.use[j]) * tasks


def _in_order(counts: Counts, order: Sequence[int]) -> WholeOutcome:
    left = counts.capacity.copy()
    packing = np.zeros((len(left), len(counts.demand)), np.int64)
    allowed = _Allowed(counts)
    for j in order:
        fit = counts.most[j].copy()
        needs = counts.demand[j] > 0
        fit = np.minimum(fit, (left[:, needs] // counts.demand[j, needs]).min(axis=1))
        tasks = int(fit @ counts.count)
        if tasks > allowed.of(j, tasks):
            return _one_by_one(counts, order)
        allowed.take(j, tasks)
        packing[:, j] = fit
        left -= fit[:, None] * counts.demand[j]
    return WholeOutcome(
        tuple(
            (c, tuple(row), Fraction(int(number)))
            for c, (row, number) in enumerate(zip(packing.tolist(), counts.count, strict=True))
            if any(row)
        )
    )


def _one_by_one(counts: Counts, order: Sequence[int]) -> WholeOutcome:
    """The same, machine by machine: a job that has few tasks takes the first machines."""
    allowed = _Allowed(counts)
    of = np.repeat(np.arange(len(counts.capacity)), counts.count)
    left = counts.capacity[of].copy()
    packing = np.zeros((len(of), len(counts.demand)), np.int64)
    for j in order:
        needs = counts.demand[j] > 0
        fit = np.minimum(
            counts.most[j, of], (left[:, needs] // counts.demand[j, needs]).min(axis=1)
        )
        packing[:, j] = _first(fit, allowed.of(j, int(fit.sum())))
        allowed.take(j, int(packing[:, j].sum()))
        left -= packing[:, j, None] * counts.demand[j]
    return _counted(of, packing)


def _counted(of: Ints, packing: Ints) -> WholeOutcome:
    """The outcome of a packing for each machine, the equal ones of a class counted."""
    number = Counter(
        (int(c), tuple(row)) for c, row in zip(of, packing.tolist(), strict=True) if any(row)
    )
    return WholeOutcome(
        tuple((c, row, Fraction(times)) for (c, row), times in sorted(number.items()))
    )


def moving_knife(counts: Counts) -> WholeOutcome:
    """Pieces of the row of machines, each worth an n-th of it to its job (CDRF Algorithm 1).

    Of n jobs that can run a task each runs at least ⌊s/n⌋ tasks, or all that its own number of
    tasks and its tenant's limits allow where that is less; s is what it could run alone on the
    machines that it may use, a task a machine where it spreads (Friedman, Ghodsi, Psomas 2014,
    Theorem 2.3, whose proof asks only that a longer piece holds no fewer tasks). Where jobs share a
    limit, the last of them may have less. Weights do not count, and what a piece cannot hold is
    lost.
    """
    refuse_gangs(counts, "moving-knife")
    allowed = _Allowed(counts)
    jobs = [j for j in range(len(counts.demand)) if counts.usable[j] > 0]
    of = np.repeat(np.arange(len(counts.capacity)), counts.count)
    packing = np.zeros((len(of), len(counts.demand)), np.int64)
    size = _sizes(counts)
    # An n-th of what it could run, and then no more than it may: an n-th of a single task is none.
    wanted = {j: min(int(counts.usable[j]) // len(jobs), allowed.most(j)) for j in jobs}
    marks = {j: list(_marks(counts, of, size, j, wanted[j], len(jobs) - 1)) for j in jobs}
    knife: Place = (0, Fraction(0))
    left = list(jobs)
    for step in range(len(jobs)):
        if len(left) == 1:
            end: Place = (len(of), Fraction(0))
            who = left[0]
        else:
            who = min(left, key=lambda j: (marks[j][step], j))
            end = max(marks[who][step], knife)
        for machine, part in _piece(knife, end):
            packing[machine, who] = _in_part(counts, size, who, int(of[machine]), part)
        packing[:, who] = _first(packing[:, who], allowed.most(who))
        allowed.take(who, int(packing[:, who].sum()))
        left.remove(who)
        knife = end
    return _counted(of, packing)


def _sizes(counts: Counts) -> dict[tuple[int, int], Fraction]:
    """The part of a machine of class c that a task of j takes."""
    return {
        (j, c): max(
            Fraction(int(counts.demand[j, r]), int(counts.capacity[c, r]))
            for r in range(counts.demand.shape[1])
            if counts.demand[j, r] > 0
        )
        for j in range(len(counts.demand))
        for c in range(len(counts.capacity))
        if counts.most[j, c] > 0
    }


def _in_part(
    counts: Counts, size: dict[tuple[int, int], Fraction], j: int, c: int, part: Fraction
) -> int:
    """The whole tasks of j that so large a part of a machine holds."""
    if counts.most[j, c] == 0:
        return 0
    return min(int(counts.most[j, c]), int(part / size[j, c]))


def _marks(
    counts: Counts,
    of: Ints,
    size: dict[tuple[int, int], Fraction],
    j: int,
    wanted: int,
    number: int,
) -> Iterator[Place]:
    """The marks where j, going along the row, has what it wants: for the first time, and again from
    there."""
    machine, start, has = 0, Fraction(0), 0
    for _ in range(number):
        while has < wanted and machine < len(of):
            c = int(of[machine])
            room = _in_part(counts, size, j, c, 1 - start)
            if has + room >= wanted:
                start += (wanted - has) * size[j, c]
                has = wanted
                break
            has += room
            machine, start = machine + 1, Fraction(0)
        yield (machine, start)
        has = 0


def _piece(begin: Place, end: Place) -> Iterator[tuple[int, Fraction]]:
    """The parts of machines between two places."""
    machine, start = begin
    while machine < end[0]:
        yield machine, 1 - start
        machine, start = machine + 1, Fraction(0)
    if machine == end[0] and end[1] > start:
        yield machine, end[1] - start


def _first(tasks: Ints, most: int) -> Ints:
    """So many of the tasks at most, on the first machines."""
    before = np.concatenate([[0], np.cumsum(tasks)[:-1]])
    kept: Ints = np.clip(most - before, 0, tasks)
    return kept
