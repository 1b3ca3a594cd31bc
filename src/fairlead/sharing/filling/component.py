"""Components: groups and classes that hang together by open places; corners by doubles."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fairlead.model.errors import SolverError
from fairlead.sharing.filling.corner import Corner, Row
from fairlead.sharing.filling.groups import Groups
from fairlead.sharing.filling.prices import Priced
from fairlead.sharing.filling.settled import Settled
from fairlead.sharing.problem.problem import Bools, Floats, Ints
from fairlead.sharing.solvers.step import Basis, StepProblem, StepSolution, block, rise_at_once

if TYPE_CHECKING:
    from fairlead.sharing.solvers.simplex import Simplex

# The simplex gives shares on few classes each, and is fast where there is little to choose. An
# interior point method takes a few dense steps however much there is.
_LITTLE, _MUCH = 3000, 30_000  # places
_LOOSE = 0.5  # of all places of the component's groups and classes
# In between the simplex goes first. If so many pivots for each row do not suffice, from nothing or
# from where the last one ended, the interior point method takes less than the rest of them.
_FIRST_PIVOTS, _NEXT_PIVOTS = 1.5, 0.25
# A round later the simplex goes on among the places of the last program: of hundreds of jobs a
# level mostly stops few, and the next one is a few pivots on. So many at most.
_ONWARD = 0.75
# Among likely places the simplex is lost if so many do not.
_LOST = 4.0
# A place that is cheaper by this part of what a group is worth is one that a program lacks.
_CHEAPER = 1e-10
# What is this close to nothing, or to what there is, relative, may be it.
_SURE = 1e-9
# Shares enter a program lowered by this, relative, so that rounding leaves room for all of them.
_LOWER = 1e-10


@dataclass(eq=False)
class Component:
    """Groups and classes that nobody else uses or is used by any more.

    `reached` is a level at which all have room. `corner` and `priced` are there once it is known
    how high it can rise. `doubtful` None: all of them.
    """

    groups: Ints
    classes: Ints
    reached: float
    basis: Basis | None = None  # where it stood
    hard: bool = False  # the simplex took too long for it, or for what it is a piece of
    stood: Settled | None = None  # where it stood exactly
    near: float | None = None  # its highest level, in doubles
    corner: Corner | None = None
    onward: bool = False  # the corner is one to which the program before led
    doubtful: frozenset[int] | None = None  # classes where rationals must say that the corner fits
    priced: Priced | None = None

    def forget(self, reached: float) -> None:
        """Other rates: what is known no longer holds, but for this level."""
        self.reached, self.near, self.corner, self.priced = reached, None, None, None
        self.doubtful = None


class Programs:
    """The linear programs of components, in doubles: what they say is a guess."""

    def __init__(self, groups: Groups) -> None:
        self.groups = groups

    @cached_property
    def _simplex(self) -> Simplex:
        """Where there is a program at all: most small fillings are done without."""
        from fairlead.sharing.solvers.simplex import Simplex

        return Simplex()

    def highest(self, part: Component, places: Bools, base: Floats, rate: Floats) -> None:
        """The component's corner at the highest level; SolverError where no program ends."""
        part.onward = False
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
        groups = self.groups
        problem = StepProblem(
            use=groups.use[part.groups],
            pairs=block(places, part.groups, part.classes),
            capacity=groups.room[part.classes],
            most_on=None,
            base=base * (1.0 - lower * (rate == 0)),
            rate=rate,
            least=0.0 if most < np.inf else part.reached,
            basis=part.basis,
            most=most,
        )
        if not groups.spreads[part.groups].any():
            return problem
        group, machine_class = part.groups[problem.places[0]], part.classes[problem.places[1]]
        most_on = np.full(len(group), np.inf)
        some = np.flatnonzero(groups.spreads[group])
        pairs = zip(group[some].tolist(), machine_class[some].tolist(), strict=True)
        most_on[some] = [float(groups.most_on[pair]) for pair in pairs]
        basis = part.basis
        if basis is not None and len(group) <= _LITTLE:
            # Few places are full again in no time; of several corners the same one is told as ever.
            basis = replace(basis, full=None)
        return replace(problem, most_on=most_on, basis=basis)

    def _by_program(self, part: Component, problem: StepProblem) -> StepSolution:
        from fairlead.sharing.solvers import interior

        number = int(np.count_nonzero(problem.pairs))
        much = number > _MUCH or (number > _LITTLE and number > _LOOSE * problem.pairs.size)
        if (much or number > _LITTLE) and problem.most == np.inf:
            if not much and not part.hard:
                pivots = _NEXT_PIVOTS if problem.basis else _FIRST_PIVOTS
                risen = self._simplex.rise(problem, pivots)
                if risen is not None:
                    return risen
                part.hard = True
            elif problem.basis:
                with suppress(SolverError):  # there is another way
                    risen = self._onward(problem, problem.basis, _ONWARD)
                    if risen is not None:
                        part.onward = True
                        return risen
                if problem.most_on is not None:
                    return self._among_all(problem, problem.basis)
            if _is_flow(problem):
                risen = self._by_columns(problem, _by_cuts(problem))
                assert risen is not None
                return risen
            for likely in interior.likely(problem):
                risen = self._by_columns(
                    problem, likely.start.columns, likely.start, None if likely.last else _LOST
                )
                if risen is not None:
                    return risen
        risen = self._simplex.rise(problem)
        assert risen is not None
        return risen

    def _by_columns(
        self,
        problem: StepProblem,
        columns: Bools,
        basis: Basis | None = None,
        most_pivots: float | None = None,  # for each row, of all programs together
    ) -> StepSolution | None:
        """The highest corner, from a basis next to it if there is one: the simplex has these
        places, and then those that are cheaper by its prices. A lower one that fits where the
        simplex fails later. None if so many pivots do not suffice."""
        risen: StepSolution | None = None
        while True:
            few = problem.among(columns, basis)
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
            if most_pivots is not None:
                most_pivots -= risen.pivots

    def _onward(
        self, problem: StepProblem, basis: Basis, most_pivots: float | None = None
    ) -> StepSolution | None:
        """As `_by_columns`, among the places of the program that ended in this basis."""
        columns = basis.columns & problem.pairs
        none_left = ~columns.any(axis=1)
        group, machine_class = (each[problem.first][none_left] for each in problem.places)
        columns[group, machine_class] = True
        return self._by_columns(problem, columns, basis, most_pivots)

    def _among_all(self, problem: StepProblem, basis: Basis) -> StepSolution:
        """The highest corner from this basis, by the simplex alone among all places. The next round
        goes on among those that the last one had, and those where this one ended."""
        risen = self._simplex.rise(problem)
        assert risen is not None
        assert risen.basis is not None
        columns = (basis.columns & problem.pairs) | risen.basis.pairs
        if risen.basis.full is not None:
            columns |= risen.basis.full
        return replace(risen, basis=replace(risen.basis, columns=columns))

    def _cheaper(self, problem: StepProblem, risen: StepSolution) -> Bools:
        """(G, C) the cheapest place of each group that costs less than the group is worth. Who
        spreads lacks none: all that it has is in its program."""
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
        """As `highest`, by the simplex alone, from where the component stands; where it went on to
        there, which would lead there once more, from nothing."""
        problem = self._problem(part, places, _LOWER, base[part.groups], rate[part.groups])
        if problem.basis is None:
            risen = self._simplex.rise(problem)
        elif part.onward:
            part.onward = False
            risen = self._by_program(part, replace(problem, basis=None))
        else:
            risen = self._onward(problem, problem.basis)
        assert risen is not None
        part.near = risen.level
        self._take(part, problem, risen)

    def _take(self, part: Component, problem: StepProblem, risen: StepSolution) -> None:
        """The corner that a program ended in."""
        assert risen.basis is not None
        part.basis = risen.basis
        classes, groups = part.classes, part.groups.tolist()
        # Place by place: of thousands of groups and classes few pairs are there.
        group, machine_class = problem.places
        basic = risen.basis.pairs[group, machine_class]
        share = risen.share[group, machine_class]
        tight: list[Row] = []
        full = np.zeros_like(basic)
        if risen.basis.full is not None:
            full = risen.basis.full[group, machine_class]
            tight += [
                ("spread", groups[group[p]], int(classes[machine_class[p]]))
                for p in np.flatnonzero(full).tolist()
            ]
            basic = basic | full
        some = np.logical_or.reduceat(basic, problem.first)
        # A group that has nothing may be anywhere.
        there = np.where(some[group], basic, True)
        much = np.where(there, share, -1.0)
        most = np.flatnonzero(~(much < np.maximum.reduceat(much, problem.first)[group]))
        first = machine_class[most[np.searchsorted(group[most], np.arange(len(groups)))]]
        others: dict[int, tuple[int, ...]] = {}
        for p in np.flatnonzero(basic & (machine_class != first[group])).tolist():
            g = groups[group[p]]
            others[g] = (*others.get(g, ()), int(classes[machine_class[p]]))
        at = (machine_class * problem.use.shape[1])[:, None] + np.arange(problem.use.shape[1])
        need = problem.use.take(group, axis=0)
        shape, size = problem.capacity.shape, problem.capacity.size
        takers = np.bincount(at.ravel(), (need > 0).ravel(), size).reshape(shape) > 0
        load = np.bincount(at.ravel(), (need * share[:, None]).ravel(), size).reshape(shape)
        used_up = ~risen.basis.slack & takers
        tight += [("on", int(classes[c]), int(r)) for c, r in np.argwhere(used_up)]
        part.corner = Corner(
            dict(zip(groups, classes[first].tolist(), strict=True)), others, tuple(tight)
        )
        part.doubtful = None
        if some.all():
            # Where doubles leave it open that the corner fits: a place next to empty or next to
            # full, or a row that is used up though it is not one of those that must be.
            each = np.add.reduceat(share, problem.first)[group]
            open_ = basic & ~(share > _SURE * each)
            if problem.most_on is not None:
                # A frozen group that has room for all it holds, and is full in all other places,
                # is not too full in the last one.
                last = np.add.reduceat(~full, problem.first, dtype=np.int64) == 1
                known = (last & (problem.rate == 0))[group]
                open_ |= basic & ~full & ~known & ~(share < problem.most_on * (1.0 - _SURE))
            crowded = takers & ~used_up & ~(load < problem.capacity * (1.0 - _SURE))
            unsure = {*machine_class[open_].tolist(), *np.flatnonzero(crowded.any(axis=1)).tolist()}
            part.doubtful = frozenset(classes[sorted(unsure)].tolist())


def _is_flow(problem: StepProblem) -> bool:
    """Whether all need a single resource, nobody spreads, and nobody was stopped before."""
    one_resource = int((problem.use > 0).any(axis=0).sum()) == 1
    return one_resource and problem.most_on is None and not problem.base.any()


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
