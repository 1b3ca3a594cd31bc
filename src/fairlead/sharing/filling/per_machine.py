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
    if not problem.tree.limits and all(tasks is None for tasks in problem.amounts.tasks):
        return None
    clock = _Clock(problem, scale, weight)
    while any(machine.active for machine in clock.machines):
        clock.tick()
    return Parts(
        tuple(tuple(machine.tasks) for machine in clock.machines),
        tuple(tuple(machine.limits) for machine in clock.machines),
    )


class _Machine:
    """One machine of a class as it fills: who rises how fast, and when it stops somebody next."""

    def __init__(
        self, problem: Problem, scale: Sequence[fmpq], weight: Sequence[fmpq], c: int
    ) -> None:
        amounts = problem.amounts
        self.count = int(problem.count[c])
        self.demand, self.spread = amounts.demand, problem.spread
        self.left = [fmpq(each) for each in amounts.capacity[c].tolist()]
        self.tasks = list(amounts.tasks)
        self.limits = list(amounts.limits)
        self.scale = scale
        alive = np.array([each > 0 for each in scale], dtype=np.bool_)
        self.active = set(np.flatnonzero(alive).tolist())
        self._rates = Rates(problem.tree, weight, alive)
        self.speed: dict[int, fmpq] = {}
        self.held = dict.fromkeys(self.active, NONE)
        self._look()

    def _look(self) -> None:
        """The speed of everything from now on, and until when."""
        self.speed = {j: self._rates.rate[j] * self.scale[j] for j in self.active}
        self.use = [
            total([speed * int(self.demand[j, r]) for j, speed in self.speed.items()])
            for r in range(len(self.left))
        ]
        times = [left / use for left, use in zip(self.left, self.use, strict=True) if use]
        times += [(1 - self.held[j]) / v for j, v in self.speed.items() if self.spread[j]]
        self.until = min(times, default=None)

    def advance(self, step: fmpq) -> None:
        """So much later."""
        for j, speed in self.speed.items():
            self.held[j] += speed * step
        self.left = [a - b * step for a, b in zip(self.left, self.use, strict=True)]
        if self.until is not None:
            self.until -= step

    def full(self) -> set[int]:
        """The active jobs that this machine stops now."""
        gone = [r for r, left in enumerate(self.left) if not left]
        return {
            j
            for j in self.active
            if any(self.demand[j, r] for r in gone) or (self.spread[j] and self.held[j] == 1)
        }

    def freeze(self, jobs: set[int]) -> None:
        """These have all that they get here."""
        jobs = jobs & self.active
        if jobs:
            self.active -= jobs
            self._rates.freeze(jobs)
            self._look()


class _Clock:
    """All machines filling at the same pace."""

    def __init__(
        self, problem: Problem, scale: Sequence[Sequence[fmpq]], weight: Sequence[fmpq]
    ) -> None:
        tree, amounts = problem.tree, problem.amounts
        self.machines = [_Machine(problem, each, weight, c) for c, each in enumerate(scale)]
        self.tasks = {j: tasks for j, tasks in enumerate(amounts.tasks) if tasks is not None}
        below = jobs_below(tree)
        self.limits = {
            index: (
                amounts.limits[index],
                {
                    j: int(amounts.demand[j, limit.resource])
                    for j in below[limit.tenant]
                    if amounts.demand[j, limit.resource]
                },
            )
            for index, limit in enumerate(tree.limits)
        }

    def tick(self) -> None:
        """On to the next event: something is used up, and whoever needs it freezes."""
        machines = self.machines
        times = [
            machine.until for machine in machines if machine.active and machine.until is not None
        ]
        speed = {j: self._sum(j, "speed") for j in self.tasks}
        times += [(self.tasks[j] - self._sum(j, "held")) / v for j, v in speed.items() if v]
        for amount, need in self.limits.values():
            rising = total([self._sum(j, "speed") * takes for j, takes in need.items()])
            if rising:
                used = total([self._sum(j, "held") * takes for j, takes in need.items()])
                times.append((amount - used) / rising)
        step = min(times)
        for machine in machines:
            if machine.active:
                machine.advance(step)
        out = {j for j, v in speed.items() if v and self._sum(j, "held") == self.tasks[j]}
        reached = [
            (index, need)
            for index, (amount, need) in self.limits.items()
            if total([self._sum(j, "held") * takes for j, takes in need.items()]) == amount
        ]
        for machine in machines:
            stopped = machine.full()
            for j in out & machine.active:
                machine.tasks[j] = machine.held[j]
            for index, need in reached:
                under = machine.active & need.keys()
                if under:
                    machine.limits[index] = total(
                        [machine.held[j] * takes for j, takes in need.items() if j in machine.held]
                    )
                    stopped |= under
            machine.freeze(stopped | out)
        for index, _ in reached:
            del self.limits[index]
        for j in out:
            del self.tasks[j]

    def _sum(self, job: int, what: str) -> fmpq:
        """The amount that a job holds on all machines, or the speed at which that grows."""
        return total(
            [
                getattr(machine, what)[job] * machine.count
                for machine in self.machines
                if job in getattr(machine, what)
            ]
        )
