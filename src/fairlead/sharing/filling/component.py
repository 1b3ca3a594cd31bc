"""Components: groups and classes that hang together by open places; corners by doubles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fairlead.sharing.filling.corner import Corner, Row
from fairlead.sharing.filling.groups import Groups
from fairlead.sharing.filling.prices import Priced
from fairlead.sharing.problem import Bools, Floats, Ints
from fairlead.sharing.solvers.rise import Basis, Rise, Risen, rise_at_once

if TYPE_CHECKING:
    from fairlead.sharing.solvers.interior import Ended

# The simplex gives shares on few classes each, and is fast where there is little to choose. An
# interior point method takes a few dense steps however much there is.
_LITTLE, _MUCH = 3000, 30_000  # places
_LOOSE = 0.5  # of all places of the component's groups and classes
# In between the simplex goes first. If so many pivots for each row do not suffice, from nothing or
# from where the last one ended, the interior point method takes less than the rest of them.
_FIRST_PIVOTS, _NEXT_PIVOTS = 1.5, 0.25
# A place that is cheaper by this part of what a group is worth is one that a program lacks.
_CHEAPER = 1e-10
# Shares enter a program lowered by this, relative, so that rounding leaves room for all of them.
_LOWER = 1e-10


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
    near: float | None = None  # its highest level, in doubles
    corner: Corner | None = None
    share: Mapping[tuple[int, int], float] | None = None  # bundles at that corner
    priced: Priced | None = None

    def forget(self, reached: float) -> None:
        """Other rates: what is known no longer holds, but for this level."""
        self.reached = reached
        self.near = self.corner = self.share = self.priced = None


class Programs:
    """The linear programs of components, in doubles: what they say is a guess."""

    def __init__(self, groups: Groups) -> None:
        from fairlead.sharing.solvers.simplex import Simplex

        self.groups = groups
        self._simplex = Simplex()

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
    ) -> Rise:
        groups, inside = self.groups, (part.groups[:, None], part.classes)
        most_on = None
        if groups.spreads[part.groups].any():
            most_on = np.full((len(part.groups), len(part.classes)), np.inf)
            at = {int(c): index for index, c in enumerate(part.classes)}
            for row, g in enumerate(part.groups.tolist()):
                for c, column in at.items():
                    if (g, c) in groups.most_on:
                        most_on[row, column] = float(groups.most_on[g, c])
        return Rise(
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

    def _by_program(self, part: Component, problem: Rise) -> Risen:
        from fairlead.sharing.solvers import interior

        number = int(np.count_nonzero(problem.pairs))
        much = number > _MUCH or (number > _LITTLE and number > _LOOSE * problem.pairs.size)
        if (much or number > _LITTLE) and problem.most_on is None and problem.most == np.inf:
            if not much and not part.hard:
                pivots = _NEXT_PIVOTS if problem.basis else _FIRST_PIVOTS
                rows = len(problem.use) + problem.capacity.size
                risen = self._simplex.rise(problem, int(pivots * rows))
                if risen is not None:
                    return risen
                part.hard = True
            ended = interior.rise(problem)
            if ended is not None:
                return self._corner_near(problem, ended)
        risen = self._simplex.rise(problem)
        assert risen is not None
        return risen

    def _corner_near(self, problem: Rise, ended: Ended) -> Risen:
        """The corner next to where an interior point method ended."""
        risen, basis = ended.risen, ended.risen.basis
        assert basis is not None
        others = np.count_nonzero(basis.pairs) - len(problem.use)
        used_up = np.count_nonzero(~basis.slack & (problem.capacity > 0))
        if (
            basis.pairs.any(axis=1).all()
            and used_up == others + 1
            and not self._cheaper(problem, risen).any()
        ):
            return risen
        return self._by_columns(problem, basis, ended.likely | basis.pairs)

    def _by_columns(self, problem: Rise, basis: Basis, columns: Bools) -> Risen:
        """The highest corner from a basis next to it: the simplex has these places, and then those
        that are cheaper by its prices."""
        while True:
            few = replace(problem, pairs=columns, basis=basis)
            risen = self._simplex.rise(few)
            assert risen is not None and risen.basis is not None
            cheaper = self._cheaper(problem, risen) & ~columns
            if not cheaper.any():
                return risen
            columns, basis = columns | cheaper, risen.basis

    def _cheaper(self, problem: Rise, risen: Risen) -> Bools:
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
            assert risen is not None
        else:
            first = np.zeros(problem.pairs.shape, dtype=np.bool_)
            group, machine_class = problem.places
            first[group[problem.first], machine_class[problem.first]] = True
            some = problem.basis.pairs.any(axis=1, keepdims=True)
            risen = self._by_columns(problem, problem.basis, problem.basis.pairs | (first & ~some))
        part.near = risen.level
        self._take(part, problem, risen)

    def _take(self, part: Component, problem: Rise, risen: Risen) -> None:
        """The corner that a program ended in."""
        assert risen.basis is not None
        part.basis = risen.basis
        classes, groups = part.classes.tolist(), part.groups.tolist()
        places: dict[int, list[int]] = {}
        share: dict[tuple[int, int], float] = {}
        tight: list[Row] = []
        basic = risen.basis.pairs
        full = np.zeros_like(basic)
        if problem.most_on is not None:
            # A place that is no part of the basis and not empty is as full as it can be.
            full = (risen.share > 0.5 * problem.most_on) & ~basic & np.isfinite(problem.most_on)
        for row, column in zip(*np.nonzero(basic | full), strict=True):
            g, c = groups[row], classes[column]
            places.setdefault(g, []).append(c)
            share[g, c] = float(risen.share[row, column])
            if full[row, column]:
                tight.append(("spread", g, c))
        for row, g in enumerate(groups):
            if g not in places:
                # It has nothing: anywhere is as good.
                places[g] = [classes[int(problem.pairs[row].argmax())]]
                share[g, places[g][0]] = 0.0
        takers = (problem.use > 0).astype(np.float64).T @ problem.pairs > 0
        for column, r in zip(*np.nonzero(~risen.basis.slack & takers.T), strict=True):
            tight.append(("on", classes[column], int(r)))
        for g, own in places.items():
            own.sort(key=lambda c: -share[g, c])
        part.corner = Corner({g: tuple(own) for g, own in places.items()}, tuple(tight))
        part.share = share
