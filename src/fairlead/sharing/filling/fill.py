"""Exact progressive filling: the levels, who froze at each, and what proves it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from typing import Any

import numpy as np
from flint import fmpq

from fairlead.model.errors import InternalError, SolverError
from fairlead.sharing.filling.climb import Climb, NoRoomError
from fairlead.sharing.filling.component import Component, Programs
from fairlead.sharing.filling.connected import connected, indices
from fairlead.sharing.filling.corner import Corner, Row, without_one
from fairlead.sharing.filling.groups import Groups, coalesce
from fairlead.sharing.filling.prices import Priced, price
from fairlead.sharing.filling.progress import Progress, Terms
from fairlead.sharing.filling.rounds import Filling, FillingRound, Telling
from fairlead.sharing.filling.settled import Settled
from fairlead.sharing.filling.tasks import Bundles, place_bundles
from fairlead.sharing.filling.watcher import report_progress
from fairlead.sharing.numbers.amounts import nearest, rationals
from fairlead.sharing.numbers.threads import one_thread
from fairlead.sharing.problem.problem import Floats, Ints, Problem
from fairlead.sharing.solvers.step import block, pairs_in

# Components whose levels are this close in doubles are compared as rationals.
_CLOSE = 1e-6


def fill(
    problem: Problem,
    scale: Iterable[Any],
    weight: Iterable[Any],
    *,
    merge: bool = True,
    trust: bool = True,
) -> Filling:
    """The exact filling. `scale` (J,): tasks per unit of share, 0 for a job that gets nothing;
    `weight` (T,): the weight of every tenant, those of pools included. `merge` False solves for
    every job by itself, `trust` False asks no program in doubles: both are slower and give the same
    shares."""
    scales, weights = rationals(scale), rationals(weight)
    groups = coalesce(problem, scales, merge=merge)
    if not groups.members:
        none = np.zeros(problem.usable.shape)
        return Filling((fmpq(0),) * len(scales), none, ())
    with one_thread(), np.errstate(all="ignore"):
        for doubles in Doubles if trust else (Doubles.UNUSED,):
            try:
                found = _State(problem, groups, scales, weights, doubles).all_rounds()
            except NoRoomError:
                found = None
            if found is not None:
                return found
    raise InternalError("the tasks of a filling do not fit")


class Doubles(Enum):
    """The trust in programs in doubles; each is tried where the one before went wrong."""

    BELIEVED = auto()
    """Corners that ended well inside are taken to fit; all are seen to in the end."""
    CHECKED = auto()
    """Each corner is seen to at once: a wrong one costs its own round, not all that follow."""
    UNUSED = auto()
    """Each corner is made by rationals alone."""


@dataclass
class _State:
    """The filling as far as it is done."""

    problem: Problem
    groups: Groups
    scale: Sequence[fmpq]
    weight: Sequence[fmpq]
    doubles: Doubles
    rounds: list[FillingRound] = field(default_factory=list)
    settled: list[Settled] = field(default_factory=list)

    def __post_init__(self) -> None:
        groups = self.groups
        self.progress = Progress(self.problem.tree, self.weight, groups, self.scale)
        self.places = groups.usable.copy()
        self.programs = Programs(groups)
        self.telling = Telling(self.problem, groups, self.scale)
        self.parts: list[Component] = []
        # Where all are frozen nothing changes any more: what was seen to fit does.
        self.held: set[Hashable] = set()
        everyone = np.arange(len(groups.members)), np.arange(len(groups.room))
        self._split(Component(*everyone, 0.0), None)

    def all_rounds(self) -> Filling | None:
        """The filling; None, or NoRoomError, where a corner that was believed does not fit."""
        settled, told = 0, 0
        while self.progress.anyone:
            report_progress(settled, len(self.scale))
            self.round()
            settled += sum(len(each.frozen) for each in self.rounds[told:])
            told = len(self.rounds)
        return self.filling()

    def round(self) -> None:
        """Raises all active jobs as far as they all can; those that can rise no more freeze."""
        bound = self.progress.out_of_tasks()
        limit, which = self.progress.at_limit()
        ceiling = min((each for each in (bound, limit) if each is not None), default=None)
        part = self._lowest(ceiling)
        if part is not None:
            self._stop(part)
        elif bound is not None and bound == ceiling:
            for g in self.progress.run_out(bound):
                self._number(("tasks", self.groups.members[g][0], 0), [g], bound)
        else:
            assert limit is not None
            takes = self.groups.caps[which].takes
            rising = [g for g in takes if self.progress.rate[g]]
            self._number(("limit", which, 0), rising, limit)

    def _lowest(self, ceiling: fmpq | None) -> Component | None:
        """The first of the components whose level is the lowest, if that is below the ceiling."""
        lowest: Component | None = None
        while True:
            open_parts = [part for part in self.parts if part.priced is None]
            known = min((nearest(p.priced.level) for p in self.parts if p.priced), default=np.inf)
            least = known if ceiling is None else min(known, nearest(ceiling))
            ask = [p for p in open_parts if (p.near or p.reached) <= least * (1 + _CLOSE)]
            if not ask:
                break
            part = min(ask, key=lambda p: p.near or p.reached)
            if part.near is None and self.doubles is not Doubles.UNUSED:
                self._guess(part)
            else:
                self._prove(part)
        for part in self.parts:
            if part.priced is not None and (
                lowest is None or lowest.priced is None or part.priced.level < lowest.priced.level
            ):
                lowest = part
        if lowest is None or lowest.priced is None:
            return None
        return lowest if ceiling is None or lowest.priced.level < ceiling else None

    def _guess(self, part: Component) -> None:
        try:
            self.programs.highest(
                part, self.places, self.progress.near_base, self.progress.near_rate
            )
        except SolverError:
            # There is always the slower way.
            part.near = part.reached

    def _prove(self, part: Component) -> None:
        """The exact level, by the corner that a program found or by one that rationals find."""
        where = self._open(part)
        progress = self.progress
        for again in (False, True):
            if again and self.doubles is not Doubles.UNUSED:
                try:
                    self.programs.again(part, self.places, progress.near_base, progress.near_rate)
                except SolverError:
                    break  # what there is may be a corner to climb from
            if part.corner is not None:
                priced = price(self.groups, where, part.corner, progress)
                if priced is not None and self._holds(part, part.corner, priced):
                    part.priced = priced
                    return
        climb = self._climb(part, where)
        if part.corner is not None:
            climb.start_in(part.corner)
        if part.stood is not None:
            climb.stand_in(part.stood.corner, part.stood.tight)
        part.corner = climb.highest()
        part.priced = price(self.groups, where, part.corner, self.progress)
        if part.priced is None:
            raise InternalError("a corner of rationals has no prices")
        if part.priced.level < self.progress.level:
            raise NoRoomError

    def _holds(self, part: Component, corner: Corner, priced: Priced) -> bool:
        """Whether the corner fits, as far as it is asked for now."""
        if priced.level < self.progress.level:
            return False
        found = Settled(corner, _without_one(corner, priced))
        doubtful = part.doubtful if self.doubles is Doubles.BELIEVED else None
        rate, wanted = self.progress.rate, partial(self.progress.terms, level=priced.level)
        for piece in [found] if doubtful is None else found.around(doubtful):
            rises = any(rate[g] for g in piece.corner.first)
            if not rises and piece.key in self.held:
                continue
            placed = place_bundles(self.groups, piece.corner, piece.tight, wanted, corner.tight)
            if placed is None:
                return False
            if not rises:
                self.held.add(piece.key)
        return True

    def _climb(self, part: Component, where: tuple[Ints, Ints]) -> Climb:
        progress = self.progress
        alive = [g for g in part.groups.tolist() if progress.base[g] or progress.rate[g]]
        some = set(alive)
        pairs = [
            pair for pair in zip(*map(np.ndarray.tolist, where), strict=True) if pair[0] in some
        ]
        base = {g: progress.base[g] for g in alive}
        rate = {g: progress.rate[g] for g in alive}
        climb = Climb(self.groups, pairs, base, rate)
        climb.start_at(progress.level)
        return climb

    def _open(self, part: Component) -> tuple[Ints, Ints]:
        """The open places of a component, group by group."""
        row, column = pairs_in(block(self.places, part.groups, part.classes))
        return part.groups[row], part.classes[column]

    def _stop(self, part: Component) -> None:
        """Machines stop whoever has a price in this component."""
        priced, corner = part.priced, part.corner
        assert priced is not None and corner is not None
        progress = self.progress
        stopped = [g for g in sorted(priced.worth) if progress.rate[g]]
        self.rounds.append(self.telling.by_machines(priced, corner, stopped))
        group, machine_class = priced.closed
        self.places[group, machine_class] = False
        before = progress.near_rate.copy()
        _, changed = progress.freeze(stopped, priced.level)
        self.parts.remove(part)
        self._split(part, Settled(corner, _without_one(corner, priced)))
        self._forget(changed, before)

    def _number(self, row: Row, stopped: list[int], level: fmpq) -> None:
        """These have no more tasks, or are at a limit."""
        progress = self.progress
        self.rounds.append(self.telling.by_number(row, stopped, level, progress.rate))
        before = progress.near_rate.copy()
        _, changed = progress.freeze(stopped, level)
        slower = set(stopped)
        self._forget(changed | slower, before)
        for part in list(self.parts):
            own = set(part.groups.tolist())
            if not own & slower:
                continue
            nothing = [g for g in stopped if g in own and not progress.base[g]]
            if nothing:
                # They have no place, and keep nobody together.
                self.places[nothing] = False
                self.parts.remove(part)
                left = np.array(sorted(own.difference(nothing)), dtype=np.int64)
                if len(left):
                    rest = Component(left, part.classes, nearest(level), stood=part.stood)
                    self._split(rest, None)
            elif not any(progress.rate[g] for g in own):
                self.parts.remove(part)
                self._settle(part)

    def _forget(self, groups: set[int], before: Floats) -> None:
        """These groups rise otherwise from now on than before."""
        if groups:
            for part in self.parts:
                if not groups.isdisjoint(part.groups.tolist()):
                    part.forget(self._room(part, before))

    def _room(self, part: Component, before: Floats) -> float:
        """A level at which all of a component have room still: nobody has more there than at the
        level that was known, when all rose as before."""
        level = nearest(self.progress.level)
        known = part.reached if part.near is None else part.near
        if part.priced is not None:
            known = nearest(part.priced.level)
        was, now = before[part.groups], self.progress.near_rate[part.groups]
        part_of = np.divide(was, now, out=np.ones(len(was)), where=now > was)
        return max(level, level + (known - level) * float(part_of.min(initial=1.0)))

    def _split(self, part: Component, stopped: Settled | None) -> None:
        """The component as it hangs together now, `stopped` there if by machines; where nobody
        rises any more it is done with."""
        progress = self.progress
        inside = block(self.places, part.groups, part.classes)
        own, of_class = connected(inside)
        for members, classes in zip(indices(own), indices(of_class), strict=True):
            groups, machine_classes = part.groups[members], part.classes[classes]
            basis = None if part.basis is None else part.basis.of(members, classes)
            stood = stopped or part.stood
            if stood is not None:
                stood = stood.about(groups, machine_classes)
            level = nearest(progress.level)
            piece = Component(groups, machine_classes, level, basis, part.hard, stood)
            if any(progress.rate[g] for g in groups.tolist()):
                self.parts.append(piece)
            elif stopped is None or stood is None:
                self._settle(piece)
            else:
                self.settled.append(stood)

    def _settle(self, part: Component) -> None:
        """Finds where all groups of a component are when numbers stopped the last of them."""
        has = [g for g in part.groups.tolist() if self.progress.base[g]]
        if not has:
            return
        some = Component(
            np.array(has),
            part.classes,
            part.reached,
            None
            if part.basis is None
            else part.basis.of(
                np.flatnonzero(np.isin(part.groups, has)), np.arange(len(part.classes))
            ),
        )
        if self.doubles is not Doubles.UNUSED:
            with suppress(SolverError):
                self.programs.settle(some, self.places, self.progress.near_base)
        corner = some.corner
        if corner is not None:
            tight = without_one(self.groups, corner)
            # The level of doubles is nearly 1, so a row that it uses up may be exceeded at 1.
            if place_bundles(self.groups, corner, tight, self._terms) is not None:
                self.settled.append(Settled(corner, tight))
                return
        corner = self._climb(some, self._open(some)).settle()
        self.settled.append(Settled(corner, corner.tight))

    def _terms(self, g: int) -> Terms:
        return self.progress.terms(g, self.progress.level)

    def filling(self) -> Filling | None:
        """All of it, once nobody rises any more; None where the tasks do not fit."""
        groups, progress = self.groups, self.progress
        bundles: Bundles = {}
        for each in self.settled:
            found = place_bundles(groups, each.corner, each.tight, self._terms, each.corner.tight)
            if found is None:
                return None
            bundles |= found
        tasks = np.zeros(self.problem.usable.shape)
        each_job = [
            nearest(share * scale) for share, scale in zip(progress.share, self.scale, strict=True)
        ]
        several = {g for (g, _), amount in bundles.items() if amount and amount != progress.base[g]}
        whole = {g: nearest(progress.base[g]) for g in several}
        for (g, c), amount in bundles.items():
            if amount:
                part = nearest(amount) / whole[g] if g in several else 1.0
                for j in groups.members[g]:
                    tasks[j, c] = each_job[j] * part
        places = []
        full: list[Row] = []
        for settled in self.settled:
            corner = settled.corner
            places += [
                (groups.members[g], corner.places(g)) for g in corner.first if progress.base[g]
            ]
            for kind, first, second in settled.tight:
                full.append((kind, groups.members[first][0] if kind == "spread" else first, second))
        return Filling(tuple(progress.share), tasks, tuple(self.rounds), tuple(places), tuple(full))


def _without_one(corner: Corner, priced: Priced) -> tuple[Row, ...]:
    """The rows that are used up, but for the one of them with the greatest price: when the level
    is known, it says nothing new."""
    dearest = max(priced.price, key=lambda row: (priced.price[row], row))
    return tuple(row for row in corner.tight if row != dearest)
