"""Every machine by itself: how finite jobs and limits, which all machines share, are parted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.sharing.answer import jobs_below
from fairlead.sharing.problem import Bools, Floats, Ints, Problem
from fairlead.sharing.rates import rates, siblings

TOGETHER = 1e-12
"""Relative: events closer than this are one, what is left apart is rounding."""


@dataclass(frozen=True)
class Parts:
    """What one machine of each class may have of what all machines share."""

    tasks: Floats  # (J, C) at most so many tasks of a finite job
    limits: Floats  # (L, C) of each limit


def parts(problem: Problem, scale: Floats, weight: Floats) -> Parts:
    """The parts of finite jobs and limits that each machine uses when all fill at the same pace.

    One clock for all machines: on each of them the shares of its active jobs rise with it, until a
    resource of the machine is used up. A job whose tasks are used up freezes everywhere at that
    time, and so do all jobs under a limit that is used up. `scale` is (J, C), 0 where a job may
    not run. What is never used up is not parted, nor is it where everyone whom it could stop was
    stopped before: there a machine may have all of it.
    """
    clock = _Clock(problem, scale, weight)
    while clock.active.any():
        clock.tick()
    return Parts(clock.tasks, clock.limits)


class _Clock:
    """All machines filling at the same pace."""

    def __init__(self, problem: Problem, scale: Floats, weight: Floats) -> None:
        self.problem, self.scale, self.weight = problem, scale, weight
        self.active: Bools = scale > 0
        self.held = np.zeros_like(scale)  # (J, C) tasks on one machine
        self.speed = np.zeros_like(scale)
        self.left = problem.capacity.copy()
        self.use = np.zeros_like(self.left)
        self.gone = self.left <= 0  # not asked again: what is subtracted leaves a little behind
        self.tasks = np.repeat(problem.tasks[:, None], scale.shape[1], axis=1)
        amounts = np.array([limit.amount for limit in problem.tree.limits])
        self.limits = np.repeat(amounts[:, None], scale.shape[1], axis=1)
        self.open = amounts >= 0
        self.need = np.zeros((len(amounts), len(scale)))
        below = jobs_below(problem.tree)
        for row, limit in enumerate(problem.tree.limits):
            self.need[row, below[limit.tenant]] = problem.demand[
                below[limit.tenant], limit.resource
            ]
        self.spread = np.flatnonzero(problem.spread)
        # Jobs that are all that a tenant at the top has: their rates do not depend on others.
        self.lonely = siblings(problem.tree) == -1
        self._changed(np.arange(scale.shape[1]))

    def tick(self) -> None:
        """On to the next event: something is used up, and whoever needs it freezes."""
        problem, count = self.problem, self.problem.count
        running = self.speed @ count
        held = self.held @ count
        limit_speed = np.where(self.open, self.need @ running, 0.0)
        limit_left = np.array([limit.amount for limit in problem.tree.limits]) - self.need @ held
        finite = np.where(np.isfinite(problem.tasks), running, 0.0)
        until = [
            _until(self.left, np.where(self.gone, 0.0, self.use)),
            _until(problem.tasks - held, finite),
            _until(limit_left, limit_speed),
            _until(1.0 - self.held[self.spread], self.speed[self.spread]),
        ]
        step = min(float(times.min(initial=np.inf)) for times in until)
        resource, job, limit, spread = (times <= step * (1 + TOGETHER) for times in until)
        self.held += self.speed * step
        self.left = np.maximum(self.left - self.use * step, 0.0)
        frozen = np.zeros_like(self.active)
        frozen[self.spread] = spread
        self.gone |= resource
        for c, r in np.argwhere(resource):
            frozen[problem.demand[:, r] > 0, c] = True
        for row in np.flatnonzero(limit):
            self.open[row] = False
            frozen[self.need[row] > 0] = True
            here = (self.active & (self.need[row] > 0)[:, None]).any(axis=0)
            self.limits[row] = np.where(here, self.need[row] @ self.held, self.limits[row])
        frozen[job] = True
        self.tasks[job] = np.where(self.active[job], self.held[job], self.tasks[job])
        frozen &= self.active
        self.active &= ~frozen
        self._stop(frozen)

    def _stop(self, frozen: Bools) -> None:
        """The speeds, now that these are frozen."""
        problem = self.problem
        # Whose rate nobody gets has only itself to stop.
        lonely = np.flatnonzero(self.lonely & frozen.any(axis=1))
        stopped = np.where(frozen[lonely], self.speed[lonely], 0.0)
        self.use -= stopped.T @ problem.demand[lonely]
        self.speed[lonely] -= stopped
        self._changed(np.flatnonzero(frozen[~self.lonely].any(axis=0)))

    def _changed(self, classes: Ints) -> None:
        """The speeds on these classes from who is active there."""
        tree = self.problem.tree
        for c in classes:
            self.speed[:, c] = rates(tree, self.weight, self.active[:, c]) * self.scale[:, c]
            self.use[c] = self.speed[:, c] @ self.problem.demand


def _until(left: Floats, speed: Floats) -> Floats:
    """When what is left is used up at this speed; inf where it is not used."""
    rest = np.maximum(left, 0.0)
    times: Floats = np.divide(rest, speed, out=np.full_like(rest, np.inf), where=speed > 0)
    return times
