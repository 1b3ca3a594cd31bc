"""How much of each group is where, when all shares are known: rationals, and whether they fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from flint import fmpq

from fairlead.sharing.amounts import nearest, total
from fairlead.sharing.enclosed import FEW, enclosed
from fairlead.sharing.filling.corner import (
    NONE,
    Corner,
    Entries,
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


def placed(
    groups: Groups,
    corner: Corner,
    tight: tuple[Row, ...],
    wanted: Callable[[int], Terms],
    used_up: tuple[Row, ...] = (),
) -> Bundles | None:
    """The bundles in each place, or numbers as near to them as doubles can tell, where these rows
    (and `used_up` by construction) are used up and each group has as many as it is wanted to. None
    where the rows do not say, something is below 0, or more is used than there is."""
    for exact in (False, True):
        found = _place(groups, corner, tight, wanted, exact)
        if found is None:
            return None
        bundles, off = found
        if _fits(groups, bundles, off, {*tight, *used_up}):
            return bundles
        if not off:
            break
    return None


def _place(
    groups: Groups,
    corner: Corner,
    tight: tuple[Row, ...],
    wanted: Callable[[int], Terms],
    exact: bool,
) -> tuple[Bundles, Bundles] | None:
    """The bundles in each place, and how far off those are that are not exact."""
    entries = differences(groups, corner, tight)
    if not all(entries):
        return None
    has = {g: wanted(g) for g in corner.first}
    taken: list[dict[int, tuple[fmpq, list[fmpq]]]] = [{} for _ in tight]
    on = rows_on(tight)
    for g, first in corner.first.items():
        for index in on.get(first, ()):
            part = takes(groups, tight[index], g, first)
            if part:
                for level, times in has[g]:
                    known = taken[index].setdefault(id(level), (level, []))
                    known[1].append(times * part)
    left = [
        there_is(groups, row) - total([level * total(times) for level, times in by_level.values()])
        for row, by_level in zip(tight, taken, strict=True)
    ]
    others = list(corner.beyond_first())
    found: Bundles = {}
    off: Bundles = {}
    for equations, rows in blocks(entries, len(tight)):
        if len(equations) != len(rows):
            return None
        own, right = [entries[e] for e in equations], [left[row] for row in rows]
        near = None if exact or len(rows) < FEW else _near(own, rows, right)
        if near is not None:
            amounts, radius = near
            off |= {others[number]: radius for number in equations}
        else:
            solved = solve(own, rows, right)
            if solved is None:
                return None
            amounts = solved
        for number, amount in zip(equations, amounts, strict=True):
            found[others[number]] = amount
    for g, first in corner.first.items():
        rest = sum((level * times for level, times in has[g]), NONE)
        for c in corner.others.get(g, ()):
            rest = rest - found[g, c]
            if (g, c) in off:
                off[g, first] = off.get((g, first), NONE) + off[g, c]
        found[g, first] = rest
    return found, off


def _near(
    entries: Entries, rows: Sequence[int], right: Sequence[fmpq]
) -> tuple[list[fmpq], fmpq] | None:
    at = {row: index for index, row in enumerate(rows)}
    cells = (
        (at[row], number, value)
        for number, entry in enumerate(entries)
        for row, value in entry.items()
    )
    return enclosed(cells, right)


def _fits(groups: Groups, bundles: Bundles, off: Bundles, tight: set[Row]) -> bool:
    """Whether nothing is below 0, and nothing is used more than there is, wherever the bundles are
    that are so far off at most. `tight` are used up by construction."""
    if any(amount < off.get(pair, NONE) for pair, amount in bundles.items()):
        return False
    on: dict[int, list[tuple[int, fmpq]]] = {}
    for (g, c), amount in bundles.items():
        if amount:
            on.setdefault(c, []).append((g, amount + off.get((g, c), NONE)))
    for c, there in on.items():
        members = np.array([g for g, _ in there])
        amounts = np.array([nearest(amount) for _, amount in there])
        load = amounts @ groups.use[members]
        for r in np.flatnonzero(~(load < groups.room[c] * (1.0 - _SURE))).tolist():
            if ("on", c, r) in tight:
                continue
            used = sum((amount * int(groups.demand[g, r]) for g, amount in there), NONE)
            if used > int(groups.capacity[c, r]):
                return False
    return all(
        bundles[pair] + off.get(pair, NONE) <= most
        for pair, most in groups.most_on.items()
        if pair in bundles and ("spread", *pair) not in tight
    )
