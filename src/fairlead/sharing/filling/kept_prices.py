"""Prices for people: those of a round, and those of earlier rounds that hold the same jobs back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.sharing.filling.corner import Row
from fairlead.sharing.filling.groups import Groups
from fairlead.sharing.problem.problem import Floats, Ints


@dataclass(frozen=True)
class Kept:
    """A round's prices in doubles, in share of those whom it stopped: of bundles and of rows."""

    worth: dict[int, float]
    price: dict[Row, float]
    closed: tuple[Ints, Ints]  # groups and classes
    over: Floats  # by how much each of these costs more than its group is worth


class Prices:
    """All rounds' prices so far.

    A place that a round closed stays closed: its prices hold in later rounds, too, in any multiple.
    So the prices of a later round, with multiples of earlier ones, hold for every place.
    """

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._rounds: list[Kept] = []

    def add(self, kept: Kept) -> None:
        """Takes the next round."""
        self._rounds.append(kept)

    def complete(self, kept: Kept) -> tuple[dict[int, float], dict[Row, float]]:
        """The prices with the least multiples of earlier rounds by which no place of a group costs
        less than the group is worth: of groups and of rows. Call it before `add`."""
        groups = self._groups
        worth = np.zeros(len(groups.members))
        table = np.zeros(groups.room.shape)
        spread: dict[tuple[int, int], float] = {}

        def put(more: Kept, times: float) -> None:
            for g, each in more.worth.items():
                worth[g] += times * each
            for (kind, first, second), each in more.price.items():
                if kind == "on":
                    table[first, second] += times * each
                else:
                    spread[first, second] = spread.get((first, second), 0.0) + times * each

        put(kept, 1.0)
        for earlier in reversed(self._rounds):
            group, machine_class = earlier.closed
            some = np.flatnonzero(worth[group] > 0)
            if len(some) == 0:
                continue
            g, c = group[some], machine_class[some]
            cost = np.einsum("pr,pr->p", groups.use.take(g, axis=0), table.take(c, axis=0))
            if spread:
                cost += [spread.get(pair, 0.0) for pair in zip(g.tolist(), c.tolist(), strict=True)]
            short = worth[g] - cost
            # What is missing is the round's to give; rounding is not.
            lacks = short > 1e-12 * worth[g]
            if lacks.any():
                put(earlier, float((short[lacks] / earlier.over[some][lacks]).max()))
        rows: dict[Row, float] = {
            ("on", int(c), int(r)): float(table[c, r])
            for c, r in zip(*np.nonzero(table), strict=True)
        }
        rows |= {("spread", g, c): each for (g, c), each in spread.items()}
        return {int(g): float(worth[g]) for g in np.flatnonzero(worth)}, rows
