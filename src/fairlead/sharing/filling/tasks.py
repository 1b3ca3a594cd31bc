"""How much of each group is where, when all shares are known: rationals, and whether they fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from flint import fmpq

from fairlead.sharing.amounts import nearest, total
from fairlead.sharing.filling.corner import (
    NONE,
    Corner,
    Row,
    blocks,
    differences,
    rows_on,
    solve,
    takes,
    there_is,
)
from fairlead.sharing.filling.groups import Groups
from fairlead.sharing.filling.progress import Terms

# Loads that are less than what there is by more than this, relative, are less as rationals.
_SURE = 1e-9

Bundles = dict[tuple[int, int], fmpq]
"""By group and class."""


def place(
    groups: Groups, corner: Corner, tight: tuple[Row, ...], wanted: Callable[[int], Terms]
) -> Bundles | None:
    """The bundles in each place, where these rows are used up and each group has as many as it is
    wanted to; None where the rows do not say."""
    entries = differences(groups, corner, tight)
    if not all(entries):
        return None
    has = {g: wanted(g) for g in corner.places}
    taken: list[dict[int, tuple[fmpq, list[fmpq]]]] = [{} for _ in tight]
    on = rows_on(tight)
    for g, classes in corner.places.items():
        for index in on.get(classes[0], ()):
            part = takes(groups, tight[index], g, classes[0])
            if part:
                for level, times in has[g]:
                    known = taken[index].setdefault(id(level), (level, []))
                    known[1].append(times * part)
    left = [
        there_is(groups, row) - total([level * total(times) for level, times in by_level.values()])
        for row, by_level in zip(tight, taken, strict=True)
    ]
    others = list(corner.others)
    found: Bundles = {}
    for equations, rows in blocks(entries, len(tight)):
        if len(equations) != len(rows):
            return None
        amounts = solve([entries[e] for e in equations], rows, [left[row] for row in rows])
        if amounts is None:
            return None
        for number, amount in zip(equations, amounts, strict=True):
            found[others[number]] = amount
    for g, classes in corner.places.items():
        rest = sum((level * times for level, times in has[g]), NONE)
        for c in classes[1:]:
            rest = rest - found[g, c]
        found[g, classes[0]] = rest
    return found


def fits(groups: Groups, bundles: Bundles, tight: Iterable[Row]) -> bool:
    """Whether nothing is below 0, and nothing is used more than there is. `tight` are used up by
    construction."""
    if any(amount < 0 for amount in bundles.values()):
        return False
    known = set(tight)
    on: dict[int, list[tuple[int, fmpq]]] = {}
    for (g, c), amount in bundles.items():
        if amount:
            on.setdefault(c, []).append((g, amount))
    for c, there in on.items():
        members = np.array([g for g, _ in there])
        amounts = np.array([nearest(amount) for _, amount in there])
        load = amounts @ groups.use[members]
        for r in np.flatnonzero(~(load < groups.room[c] * (1.0 - _SURE))).tolist():
            if ("on", c, r) in known:
                continue
            used = sum((amount * int(groups.demand[g, r]) for g, amount in there), NONE)
            if used > int(groups.capacity[c, r]):
                return False
    return all(
        bundles.get(pair, NONE) <= most for pair, most in groups.most_on.items() if pair in bundles
    )


def doubtful(groups: Groups, share: Mapping[tuple[int, int], float], corner: Corner) -> bool:
    """Whether doubles leave it open that the corner fits: a place next to empty, or a row that is
    used up though it is not one of those that must be."""
    load = np.zeros(groups.room.shape)
    whole: dict[int, float] = {}
    for (g, c), amount in share.items():
        load[c] += amount * groups.use[g]
        whole[g] = whole.get(g, 0.0) + amount
    for g, classes in corner.places.items():
        for c in classes:
            if not share.get((g, c), 0.0) > _SURE * whole.get(g, 0.0):
                return True
    used_up = set(corner.tight)
    for pair in groups.most_on.keys() & share.keys():
        full = not share[pair] < groups.most_on[pair] * (1.0 - _SURE)
        if full and ("spread", *pair) not in used_up:
            return True
    over = ~(load < groups.room * (1.0 - _SURE)) & (load > 0)
    return any(("on", c, r) not in used_up for c, r in np.argwhere(over).tolist())
