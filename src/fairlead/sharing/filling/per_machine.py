"""Every machine by itself: how finite jobs and limits, which all machines share, are parted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq

from fairlead.sharing.filling.rates import NONE, Rates
from fairlead.sharing.numbers.sums import total
from fairlead.sharing.problem.problem import Problem, jobs_below


@dataclass(frozen=True)
class Parts:
    """The parts that one machine of each class may have of what all machines share: for each class,
    of each finite job at most so many tasks, and so much of each limit."""

    tasks: tuple[tuple[fmpq | None, ...], ...]  # (C)(J)
    limits: tuple[tuple[fmpq, ...], ...]  # (C)(L)


def parts(
    problem: Problem, scale: Sequence[Sequence[fmpq]], weight: Sequence[fmpq]
) -> Parts | None:
    """The parts of finite jobs and limits that each machine uses when all fill at the same pace;
    None where there is nothing to part.

    One clock for all machines: on each of them the shares of its active jobs rise with it, until a
    resource of the machine is used up. A job whose tasks are used up freezes everywhere at that
    time, and so do all jobs under a limit that is used up. `scale` is (C)(J), 0 where a job may
    not run. What is never used up is not parted, nor is it where everyone whom it could stop was
    stopped before: there a machine may have all of it.
    """
    tree, amounts = problem.tree, problem.amounts
    if not tree.limits and all(tasks is None for tasks in amounts.tasks):
        return None
    machines = [_Machine(problem, each, weight, c) for c, each in enumerate(scale)]
    jobs = {
        j: _Shared(tasks, {j: 1}, [tasks] * len(machines))
        for j, tasks in enumerate(amounts.tasks)
        if tasks is not None
    }
    below, limits = jobs_below(tree), []
    for limit, amount in zip(tree.limits, amounts.limits, strict=True):
        takes = {j: int(amounts.demand[j, limit.resource]) for j in below[limit.tenant]}
        takes = {j: each for j, each in takes.items() if each}
        limits.append(_Shared(amount, takes, [amount] * len(machines)))
    shared = [*jobs.values(), *limits]
    while any(machine.speed for machine in machines):
        shared = _tick(machines, shared)
    return Parts(
        tuple(
            tuple(jobs[j].part[c] if j in jobs else None for j in range(len(amounts.tasks)))
            for c in range(len(machines))
        ),
        tuple(tuple(limit.part[c] for limit in limits) for c in range(len(machines))),
    )


class _Machine:
    """One machine of a class as it fills: who holds what, and who rises how fast."""

    def __init__(
        self, problem: Problem, scale: Sequence[fmpq], weight: Sequence[fmpq], c: int
    ) -> None:
        self.count = int(problem.count[c])
        self._demand, self._spread = problem.amounts.demand, problem.spread
        self._left = [fmpq(each) for each in problem.amounts.capacity[c].tolist()]
        self._scale = scale
        alive = np.array([each > 0 for each in scale], dtype=np.bool_)
        self._rates = Rates(problem.tree, weight, alive)
        self.held = dict.fromkeys(np.flatnonzero(alive).tolist(), NONE)
        self.speed = self.held  # of the active jobs
        self.freeze(set())

    def freeze(self, jobs: set[int]) -> None:
        """These have all that they get here."""
        self._rates.freeze(jobs)
        self.speed = {j: self._rates.rate[j] * self._scale[j] for j in self.speed if j not in jobs}
        self._use = [
            total([speed * int(self._demand[j, r]) for j, speed in self.speed.items()])
            for r in range(len(self._left))
        ]

    def times(self) -> list[fmpq]:
        """The times until something here stops somebody."""
        times = [left / use for left, use in zip(self._left, self._use, strict=True) if use]
        return times + [(1 - self.held[j]) / v for j, v in self.speed.items() if self._spread[j]]

    def advance(self, step: fmpq) -> None:
        """So much later."""
        for j, speed in self.speed.items():
            self.held[j] += speed * step
        self._left = [a - b * step for a, b in zip(self._left, self._use, strict=True)]

    def full(self) -> set[int]:
        """The active jobs that this machine stops now."""
        gone = [r for r, left in enumerate(self._left) if not left]
        return {
            j
            for j in self.speed
            if any(self._demand[j, r] for r in gone) or (self._spread[j] and self.held[j] == 1)
        }


@dataclass(frozen=True, eq=False)
class _Shared:
    """An amount that all machines share: the tasks of a job, or a limit."""

    amount: fmpq
    takes: dict[int, int]  # of it, by job, for a task
    part: list[fmpq]  # (C) that one machine may have

    def sum_taken(self, tasks: Sequence[tuple[int, dict[int, fmpq]]]) -> fmpq:
        """The amount that the tasks on so many machines each take, or how fast it grows."""
        return total(
            [
                on[j] * (takes * count)
                for count, on in tasks
                for j, takes in self.takes.items()
                if j in on
            ]
        )


def _tick(machines: Sequence[_Machine], shared: Sequence[_Shared]) -> list[_Shared]:
    """On to the next event: something is used up, and whoever needs it freezes. Returns what is
    left to share."""
    times = [time for machine in machines for time in machine.times()]
    speed = [(machine.count, machine.speed) for machine in machines]
    held = [(machine.count, machine.held) for machine in machines]
    times += [
        (each.amount - each.sum_taken(held)) / rising
        for each in shared
        if (rising := each.sum_taken(speed))
    ]
    step = min(times)
    for machine in machines:
        machine.advance(step)
    gone = [each for each in shared if each.sum_taken(held) == each.amount]
    for c, machine in enumerate(machines):
        stopped = machine.full()
        for each in gone:
            if under := machine.speed.keys() & each.takes.keys():
                each.part[c] = each.sum_taken([(1, machine.held)])
                stopped |= under
        if stopped:
            machine.freeze(stopped)
    return [each for each in shared if each not in gone]
