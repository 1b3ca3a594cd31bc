"""Exact progressive filling: the levels, who froze at each, and the prices that prove it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairlead.model.errors import SolverError
from fairlead.sharing.coalesce import Groups, coalesce
from fairlead.sharing.flowing import fill_by_flow, is_flow
from fairlead.sharing.guards import Chain
from fairlead.sharing.parts import Begun, Part, Parts
from fairlead.sharing.problem import Bools, Floats, Ints, Problem
from fairlead.sharing.rates import rates
from fairlead.sharing.rise import Basis, Rise, largest
from fairlead.sharing.solvers.corners import End
from fairlead.sharing.solvers.threads import one_thread
from fairlead.sharing.solvers.walk import Walk, start
from fairlead.sharing.standing import SAME, Standing


@dataclass(frozen=True)
class FillingRound:
    """One round. `share` is the level reached: the sum of the steps so far.

    Multipliers are scaled so that sum(job_price * rate) over active jobs is 1; prices are per
    unit of the resource (task, limit, machine) as written.
    """

    share: float
    frozen: Ints  # jobs that froze in this round
    job_price: Floats  # (J,) multiplier of each share row, per unit of share (tasks / scale)
    price: Floats  # (C, R)
    task_price: Floats  # (J,) of a finite job's last task
    limit_price: Floats  # (L,)
    spread_price: dict[tuple[int, int], float]  # (job, class), those above zero


@dataclass(frozen=True)
class Filling:
    """Tasks of each job on each class of machines, and the rounds that led there."""

    tasks: Floats  # (J, C)
    rounds: tuple[FillingRound, ...]


def fill(problem: Problem, scale: Floats, weight: Floats, *, merge: bool = True) -> Filling:
    """The exact filling. `scale` (J,): tasks per unit of share, 0 for a job that gets nothing;
    `weight` (T,): the weight of every tenant, those of pools included. `merge` False solves for
    every job by itself, which is slower and gives the same shares."""
    if not problem.job_names:
        return Filling(np.zeros(problem.usable.shape), ())
    groups = coalesce(problem, scale, merge=merge)
    if len(groups.use) == 0:
        return Filling(np.zeros(problem.usable.shape), ())
    if is_flow(problem, groups):
        return _by_flow(problem, groups, scale, weight)
    with one_thread():
        state = _State(problem, groups, scale, weight)
        while state.standing.active.any():
            state.round()
        tasks = _tasks(problem, groups, scale, state.standing.share(), state.found())
        return Filling(tasks, tuple(state.rounds()))


@dataclass(frozen=True)
class _Multipliers:
    """The multipliers of a round in units of the groups' shares."""

    group: Floats  # (G,)
    capacity: Floats  # (C, R)
    task: Floats  # (G,)
    limit: Floats  # (L,)
    spread: Floats | None  # (G, C)


class _State:
    """The filling as far as it is done: where it stands, and what the machines bound."""

    def __init__(self, problem: Problem, groups: Groups, scale: Floats, weight: Floats) -> None:
        self.groups, self.scale = groups, scale
        self.standing = Standing(problem.tree, weight, groups)
        # Each with the jobs that froze, and why; None where that is in the chain.
        self._rounds: list[tuple[float, Ints, _Multipliers | None]] = []
        self._chain = Chain(groups)
        with np.errstate(all="ignore"):
            self._walk = start(_all(groups, self.standing))
        # What cannot be walked is done part by part.
        self._parts = None if self._walk else self._in_parts(groups.usable)

    def _in_parts(self, pairs: Bools, basis: Basis | None = None) -> Parts:
        standing, level = self.standing, self.standing.level
        base, rate = standing.group_base, standing.group_rate
        chain = self._chain
        begun = Begun(base, rate, chain.share(), pairs, chain.guards(), level, basis)
        return Parts(self.groups, begun, steady=standing.steady)

    def found(self) -> Floats:
        """(G, C) the shares, once nobody rises any more."""
        with np.errstate(all="ignore"):
            rest = None if self._walk is None else self._walk.rest()
        if rest is None:
            self._give_up()
            assert self._parts is not None
            return self._parts.share
        share, (places, there) = self._chain.share(), rest
        share[places] = there
        return share

    def _give_up(self) -> None:
        """What is left to walk is done part by part."""
        if self._walk is not None:
            left, standing = self._walk.left(), self.standing
            # Who was stopped before anything was had wants no place.
            left.pairs[(standing.group_rate == 0) & (standing.group_base == 0)] = False
            self._parts = self._in_parts(left.pairs, left.basis)
            self._walk = None

    def rounds(self) -> Iterator[FillingRound]:
        """All that were done, told by jobs."""
        groups = self.groups
        price, group_price = self._chain.complete()
        # Who is in no group has some other's, no times.
        job_price = group_price.take(groups.group, axis=1) * groups.part
        no_task, no_limit = np.zeros(len(groups.part)), np.zeros(len(groups.limit))
        walked = zip(job_price, price, strict=True)
        for level, frozen, prices in self._rounds:
            if prices is None:
                yield FillingRound(level, frozen, *next(walked), no_task, no_limit, {})
            else:
                yield _found(groups, self.scale, level, frozen, prices)

    def round(self) -> None:
        """Raises all active jobs as far as they all can; those that can rise no more freeze."""
        standing = self.standing
        bound, out_of_tasks, at_limit = standing.next_numbers()
        found: tuple[float, Bools, _Multipliers | None] | None = None
        if self._walk is not None:
            found = self._climb(self._walk, bound)
        stopped: list[Part] = []
        if found is None and self._walk is None:
            assert self._parts is not None
            level, stopped = self._parts.lowest(bound, standing.ahead)
            if stopped and level * (1 + SAME) < bound:
                found = level, *self._stopped_by_machines(self._parts, stopped, level)
        by_machines = found is not None
        if found is None:
            tight = standing.stopped_by_numbers(out_of_tasks, at_limit)
            found = bound, tight, self._prices_of_numbers(out_of_tasks, at_limit)
        level, tight, prices = found
        frozen = standing.freeze(tight, level)
        if not len(frozen):
            raise SolverError(f"nobody is stopped at the level {standing.level}")
        base, rate = standing.group_base, standing.group_rate
        if self._walk is not None:
            if not (by_machines and standing.steady):  # else those who are left rise as before
                with np.errstate(all="ignore"):
                    self._walk.change(base, rate)
        elif self._parts is not None:
            self._parts.change(base, rate, standing.level, foreseen=not by_machines)
        self._rounds.append((standing.level, frozen, prices))

    def _climb(self, walk: Walk, bound: float) -> tuple[float, Bools, None] | None:
        """The level at which machines stop somebody next, and whom (why is in the chain); None if
        that is not below the bound, or not to be found this way."""
        # Numbers that lie too far apart overflow, and prove nothing then.
        with np.errstate(all="ignore"):
            end, stop = walk.climb(bound)
        if end is End.LOST:
            self._give_up()
        if stop is None:
            return None
        self._chain.add(stop)
        stopped = np.zeros(len(self.groups.use), dtype=np.bool_)
        stopped[stop.members] = True
        return walk.level, stopped, None

    def _prices_of_numbers(self, out_of_tasks: Ints, at_limit: Ints) -> _Multipliers:
        """Why these have no more tasks or are at a limit, all at once: each of them is a proof, and
        so is their mean."""
        groups, rate = self.groups, self.standing.group_rate
        group = np.zeros(len(rate))
        task = np.zeros(len(rate))
        limit = np.zeros(len(groups.limit))
        proofs = len(out_of_tasks) + len(at_limit)
        task[out_of_tasks] = 1.0 / rate[out_of_tasks] / proofs
        group += task
        limit[at_limit] = 1.0 / (groups.limit_use @ rate)[at_limit] / proofs
        group += limit @ groups.limit_use
        return _Multipliers(group, np.zeros(groups.capacity.shape), task, limit, None)

    def _stopped_by_machines(
        self, parts: Parts, stopped: list[Part], level: float
    ) -> tuple[Bools, _Multipliers]:
        """Who is stopped by machines in these parts, and the mean of the parts' prices."""
        rate = parts.rate
        tight = np.zeros(len(rate), dtype=np.bool_)
        group = np.zeros(len(rate))
        capacity = np.zeros(self.groups.capacity.shape)
        spread: Floats | None = None
        for part in stopped:
            own = parts.prices(part)
            tight |= parts.stopped(own)
            prices = parts.guards.complete(own, rate)
            capacity += prices.capacity / len(stopped)
            group += prices.group / len(stopped)
            if prices.spread is not None:
                spread = prices.spread / len(stopped) + (0.0 if spread is None else spread)
            parts.freeze(part, own, level)
        none = np.zeros(len(self.groups.limit))
        return tight, _Multipliers(group, capacity, np.zeros(len(rate)), none, spread)


def _all(groups: Groups, standing: Standing) -> Rise:
    """All groups at the beginning of a filling."""
    spreads = bool(np.isfinite(groups.most_on).any())
    return Rise(
        groups.use,
        groups.usable,
        groups.capacity,
        groups.most_on if spreads else None,
        standing.group_base,
        standing.group_rate,
    )


def _by_flow(problem: Problem, groups: Groups, scale: Floats, weight: Floats) -> Filling:
    """The filling of one resource, all rounds at once."""
    alive = groups.group >= 0
    rate = rates(problem.tree, weight, alive)
    flowed = fill_by_flow(groups, _by_group(groups, rate))
    none = np.zeros(0)
    share = np.zeros(len(alive))
    rounds = []
    for found in flowed.levels:
        frozen = np.flatnonzero(alive & found.stopped[groups.group])
        share[frozen] = rate[frozen] * found.level
        prices = _Multipliers(found.group, found.capacity, found.task, none, None)
        rounds.append(_found(groups, scale, found.level, frozen, prices))
    return Filling(_tasks(problem, groups, scale, share, flowed.share), tuple(rounds))


def _by_group(groups: Groups, by_job: Floats) -> Floats:
    alive = groups.group >= 0
    weighted = (groups.part * by_job)[alive]
    total = np.bincount(groups.group[alive], weighted, minlength=len(groups.use))
    return total.astype(np.float64)


def _found(
    groups: Groups, scale: Floats, level: float, frozen: Ints, prices: _Multipliers
) -> FillingRound:
    """A round, its multipliers per unit of the jobs' shares and of resources as written."""
    alive = np.flatnonzero(groups.group >= 0)
    of_group = groups.group[alive]
    job_price = np.zeros(len(scale))
    job_price[alive] = prices.group[of_group] * groups.part[alive]
    task_price = np.zeros(len(scale))
    task_price[alive] = prices.task[of_group] * groups.part[alive] / scale[alive]
    spread_price: dict[tuple[int, int], float] = {}
    if prices.spread is not None:
        # A group that spreads is a single job.
        for index, c in zip(*np.nonzero(prices.spread[of_group]), strict=True):
            job = int(alive[index])
            worth = prices.spread[of_group[index], c] / scale[job]
            spread_price[job, int(c)] = float(worth)
    return FillingRound(
        share=level,
        frozen=frozen,
        job_price=job_price,
        price=prices.capacity,
        task_price=task_price,
        limit_price=prices.limit,
        spread_price=spread_price,
    )


def _tasks(problem: Problem, groups: Groups, scale: Floats, share: Floats, found: Floats) -> Floats:
    """(J, C) the groups' shares split among their jobs, each brought to its level exactly."""
    alive = groups.group >= 0
    total = found.sum(axis=1)
    has = np.where(alive, total[groups.group], 0.0)
    times = np.divide(share * scale, has, out=np.zeros(len(has)), where=has > 0)
    # Who is in no group has some other's, no times.
    tasks: Floats = found.take(groups.group, axis=0)
    tasks *= times[:, None]
    used = tasks.T @ problem.demand
    capacity = problem.capacity * problem.count[:, None]
    over = largest(np.divide(used, capacity, out=np.zeros_like(used), where=capacity > 0))
    if (over > 1.0).any():
        tasks /= np.maximum(over, 1.0)
    return tasks
