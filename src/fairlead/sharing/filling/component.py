"""Components: groups and classes that hang together by open places; corners by doubles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fairlead.model.errors import SolverError
from fairlead.sharing.filling.corner import Corner, Row
from fairlead.sharing.filling.groups import Groups
from fairlead.sharing.filling.prices import Priced
from fairlead.sharing.problem.problem import Bools, Floats, Ints
from fairlead.sharing.solvers.step import Basis, StepProblem, StepSolution, rise_at_once

if TYPE_CHECKING:
    from fairlead.sharing.solvers.simplex import Simplex

# The simplex gives shares on few classes each, and is fast where there is little to choose. An
# interior point method takes a few dense steps however much there is.
_LITTLE, _MUCH = 3000, 30_000  # places
_LOOSE = 0.5  # of all places of the component's groups and classes
# In between the simplex goes first. If so many pivots for each row do not suffice, from nothing or
# from where the last one ended, the interior point method takes less than the rest of them.
_FIRST_PIVOTS, _NEXT_PIVOTS = 1.5, 0.25
# Among likely places the simplex is lost if so many do not.
_LOST = 4.0
# A place that is cheaper by this part of what a group is worth is one that a program lacks.
_CHEAPER = 1e-10
# What is this close to nothing, or to what there is, relative, may be it.
_SURE = 1e-9
# Shares enter a program lowered by this, relative, so that rounding leaves room for all of them.
_LOWER = 1e-10


@dataclass
class Settled:
    """The places of groups: a corner, and the rows that say how much is where."""

    corner: Corner
    tight: tuple[Row, ...]

    def about(self, groups: Ints, classes: Ints) -> Settled:
        own, there = set(groups.tolist()), set(classes.tolist())

        def about(rows: Iterable[Row]) -> tuple[Row, ...]:
            return tuple(
                row for row in rows if (row[1] in there if row[0] == "on" else row[1] in own)
            )

        return Settled(
            self.corner.about(groups.tolist(), about(self.corner.tight)), about(self.tight)
        )


@dataclass(eq=False)
class Component:
    """Groups and classes that nobody else uses or is used by any more.

    `reached` is a level at which all have room. `corner` and `priced` are there once it is known
    how high it can rise.
    """

    groups: Ints
    classes: Ints
    reached: float
    basis: Basis | None = None  # where it stood
    hard: bool = False  # the simplex took too long for it, or for what it is a piece of
    stood: Settled | None = None  # where it stood exactly
    near: float | None = None  # its highest level, in doubles
    corner: Corner | None = None
    doubtful: bool = True  # whether rationals must say that the corner fits
    priced: Priced | None = None

    def forget(self, reached: float) -> None:
        """Other rates: what is known no longer holds, but for this level."""
        self.reached, self.near, self.corner, self.priced = reached, None, None, None
        self.doubtful = True


class Programs:
    """The linear programs of components, in doubles: what they say is a guess."""

    def __init__(self, groups: Groups) -> None:
        self.groups = groups

    @cached_property
    def _simplex(self) -> Simplex:
        """Where there is a program at all: most small fillings are done without."""
        from fairlead.sharing.solvers.simplex import Simplex

        return Simplex()

    @cached_property
    def _most_on(self) -> Floats:
        """(G, C) the most bundles on a class; infinite where there is no such bound."""
        found = np.full(self.groups.usable.shape, np.inf)
        for pair, most in self.groups.most_on.items():
            found[pair] = float(most)
        return found

    def highest(self, part: Component, places: Bools, base: Floats, rate: Floats) -> None:
        """The component's corner at the highest level; SolverError where no program ends."""
        problem = self._problem(part, places, _LOWER, base[part.groups], rate[part.groups])
        risen = rise_at_once(problem) or self._by_program(part, problem)
        part.near = risen.level
        self._take(part, problem, risen)

    def settle(self, part: Component, places: Bools, wanted: Floats) -> None:
        """A corner of the component at which each group has as much as it is wanted to."""
        own = wanted[part.groups]
        problem = self._problem(part, places, 0.0, np.zeros(len(own)), own, most=1.0)
        self._take(part, problem, self._by_program(part, problem))

    def _problem(
        self,
        part: Component,
        places: Bools,
        lower: float,
        base: Floats,
        rate: Floats,
        most: float = np.inf,
    ) -> StepProblem:
        groups, inside = self.groups, (part.groups[:, None], part.classes)
        most_on = None
        if groups.spreads[part.groups].any():
            most_on = self._most_on[inside]
        return StepProblem(
            use=groups.use[part.groups],
            pairs=places[inside],
            capacity=groups.room[part.classes],
            most_on=most_on,
            base=base * (1.0 - lower * (rate == 0)),
            rate=rate,
            least=0.0 if most < np.inf else part.reached,
            basis=part.basis,
            most=most,
        )

    def _by_program(self, part: Component, problem: StepProblem) -> StepSolution:
        from fairlead.sharing.solvers import interior

        number = int(np.count_nonzero(problem.pairs))
        much = number > _MUCH or (number > _LITTLE and number > _LOOSE * problem.pairs.size)
        if (much or number > _LITTLE) and problem.most_on is None and problem.most == np.inf:
            if not much and not part.hard:
                pivots = _NEXT_PIVOTS if problem.basis else _FIRST_PIVOTS
                risen = self._simplex.rise(problem, pivots)
                if risen is not None:
                    return risen
                part.hard = True
            if _is_flow(problem):
                risen = self._by_columns(problem, None, _by_cuts(problem))
                assert risen is not None
                return risen
            for likely in interior.likely(problem):
                risen = self._by_columns(
                    problem, likely.start, likely.places, None if likely.last else _LOST
                )
                if risen is not None:
                    return risen
        risen = self._simplex.rise(problem)
        assert risen is not None
        return risen

    def _by_columns(
        self,
        problem: StepProblem,
        basis: Basis | None,
        columns: Bools,
        most_pivots: float | None = None,  # for each row
    ) -> StepSolution | None:
        """The highest corner, from a basis next to it if there is one: the simplex has these
        places, and then those that are cheaper by its prices. A lower one that fits where the
        simplex fails later. None if so many pivots do not suffice."""
        risen: StepSolution | None = None
        while True:
            few = replace(problem, pairs=columns, basis=basis)
            try:
                risen = self._simplex.rise(few, most_pivots)
            except SolverError:
                if risen is None:
                    raise
                return risen
            if risen is None:
                return None
            assert risen.basis is not None
            cheaper = self._cheaper(problem, risen) & ~columns
            if not cheaper.any():
                return risen
            columns, basis = columns | cheaper, risen.basis

    def _cheaper(self, problem: StepProblem, risen: StepSolution) -> Bools:
        """(G, C) the cheapest place of each group that costs less than the group is worth."""
        group, machine_class = problem.places
        cost = np.einsum(
            "pr,pr->p",
            problem.use.take(group, axis=0),
            risen.price.take(machine_class, axis=0),
        )
        least = np.minimum.reduceat(cost, problem.first)
        found = np.zeros(problem.pairs.shape, dtype=np.bool_)
        less = (cost == least[group]) & (cost < risen.group[group] * (1.0 - _CHEAPER))
        found[group[less], machine_class[less]] = True
        return found

    def again(self, part: Component, places: Bools, base: Floats, rate: Floats) -> None:
        """As `highest`, by the simplex alone, from where the component stands."""
        problem = self._problem(part, places, _LOWER, base[part.groups], rate[part.groups])
        if problem.basis is None or problem.most_on is not None:
            risen = self._simplex.rise(problem)
        else:
            first = np.zeros(problem.pairs.shape, dtype=np.bool_)
            group, machine_class = problem.places
            first[group[problem.first], machine_class[problem.first]] = True
            some = problem.basis.pairs.any(axis=1, keepdims=True)
            columns = problem.basis.pairs | (first & ~some)
            risen = self._by_columns(problem, problem.basis, columns)
        assert risen is not None
        part.near = risen.level
        self._take(part, problem, risen)

    def _take(self, part: Component, problem: StepProblem, risen: StepSolution) -> None:
        """The corner that a program ended in."""
        assert risen.basis is not None
        part.basis = risen.basis
        basic, share = risen.basis.pairs, risen.share
        classes, groups = part.classes, part.groups.tolist()
        tight: list[Row] = []
        full = np.zeros_like(basic)
        if problem.most_on is not None:
            # A place that is no part of the basis and not empty is as full as it can be.
            full = (share > 0.5 * problem.most_on) & ~basic & np.isfinite(problem.most_on)
            tight += [("spread", groups[row], int(classes[c])) for row, c in np.argwhere(full)]
            basic = basic | full
        # A group that has nothing may be anywhere.
        there = np.where(basic.any(axis=1, keepdims=True), basic, problem.pairs)
        first = np.where(there, share, -1.0).argmax(axis=1)
        others: dict[int, tuple[int, ...]] = {}
        for row in np.flatnonzero(np.count_nonzero(basic, axis=1) > 1).tolist():
            more = np.flatnonzero(basic[row]).tolist()
            more.remove(int(first[row]))
            others[groups[row]] = tuple(classes[more].tolist())
        takers = ((problem.use > 0).astype(np.float64).T @ problem.pairs > 0).T
        used_up = ~risen.basis.slack & takers
        tight += [("on", int(classes[c]), int(r)) for c, r in np.argwhere(used_up)]
        part.corner = Corner(
            dict(zip(groups, classes[first].tolist(), strict=True)), others, tuple(tight)
        )
        # Whether doubles leave it open that the corner fits: a place next to empty, or a row that
        # is used up though it is not one of those that must be.
        each = share.sum(axis=1, keepdims=True)
        load = share.T @ problem.use
        crowded = False
        if problem.most_on is not None:
            crowded = bool((basic & ~full & ~(share < problem.most_on * (1.0 - _SURE))).any())
        part.doubtful = bool(
            crowded
            or (basic & ~(share > _SURE * each)).any()
            or (takers & ~used_up & ~(load < problem.capacity * (1.0 - _SURE))).any()
            or not basic.any(axis=1).all()
        )


def _is_flow(problem: StepProblem) -> bool:
    """Whether all need a single resource, and nobody was stopped before."""
    return int((problem.use > 0).any(axis=0).sum()) == 1 and not problem.base.any()


def _by_cuts(problem: StepProblem) -> Bools:
    """(G, C) the places that minimum cuts fill, and one of each group."""
    from fairlead.sharing.solvers.flow import flow_levels

    resource = int((problem.use > 0).any(axis=0).argmax())
    want = problem.use[:, resource] * problem.rate
    _, taken = flow_levels(
        problem.pairs, want, np.full(len(want), np.inf), problem.capacity[:, resource]
    )
    found = np.asarray(taken > 0) & problem.pairs
    group, machine_class = problem.places
    found[group[problem.first], machine_class[problem.first]] = True
    return found
