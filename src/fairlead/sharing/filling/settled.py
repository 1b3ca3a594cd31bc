"""Places that are settled: a corner, and the rows that say how much is where."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from fairlead.sharing.filling.corner import Corner, Row
from fairlead.sharing.problem.problem import Ints


@dataclass
class Settled:
    """The places of groups: a corner, and the rows that say how much is where."""

    corner: Corner
    tight: tuple[Row, ...]

    @property
    def key(self) -> Hashable:
        """The same for all that is the same."""
        corner = self.corner
        return tuple(corner.first.items()), tuple(corner.others.items()), corner.tight, self.tight

    def about(self, groups: Ints, classes: Ints) -> Settled:
        own, there = set(groups.tolist()), set(classes.tolist())

        def about(rows: Iterable[Row]) -> tuple[Row, ...]:
            return tuple(
                row for row in rows if (row[1] in there if row[0] == "on" else row[1] in own)
            )

        return Settled(
            self.corner.about(groups.tolist(), about(self.corner.tight)), about(self.tight)
        )

    def around(self, classes: Iterable[int]) -> Iterator[Settled]:
        """What is there on these classes, and on those that hang together with them by groups that
        are on several, piece by piece: nothing else has a say in how much is where."""
        on: dict[int, list[int]] = {}
        for g in self.corner.first:
            for c in self.corner.places(g):
                on.setdefault(c, []).append(g)
        seen: set[int] = set()
        for start in sorted(classes):
            if start in seen:
                continue
            reached, waiting, groups = {start}, [start], set[int]()
            while waiting:
                there = on.get(waiting.pop(), ())
                groups.update(there)
                for g in there:
                    if g in self.corner.others:
                        more = set(self.corner.places(g)) - reached
                        reached |= more
                        waiting += more
            seen |= reached
            yield self.about(np.array(sorted(groups), dtype=np.int64), np.array(sorted(reached)))
