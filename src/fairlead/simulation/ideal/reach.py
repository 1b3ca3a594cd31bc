"""What can be reached from where: by moving tasks along classes, or jobs along slots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fairlead.sharing.problem.problem import Bools

Bits = int
"""A set of classes: there are hundreds, and each event asks again what can be reached from which,
so that a set is a whole number."""


class Reach:
    """The classes from which tasks can be moved on until a slot there is free: all of them, or
    those that are as near as the nearest of `wanted`."""

    def __init__(
        self, usable: Sequence[Bits], movable: Sequence[Bits], near: Bits, wanted: Bits
    ) -> None:
        self.classes = near
        # By distance: who moves from which classes, and where to.
        self._steps: list[list[tuple[Bits, int, Bits]]] = []
        rows = [row for row, some in enumerate(movable) if some]
        edge = near
        while edge and not self.classes & wanted:
            fresh, left, step = 0, [], []
            for row in rows:
                to = usable[row] & edge
                if not to:
                    left.append(row)
                elif more := movable[row] & ~(self.classes | fresh):
                    fresh |= more
                    step.append((more, row, to))
            rows, edge = left, fresh
            self._steps.append(step)
            self.classes |= fresh

    def way(self, usable: Bits) -> list[tuple[int, int, int]]:
        """Who moves from which class to which, the one after the other, until a free slot is
        among the usable classes: from the nearest of them on."""
        reached = [_union(step) & usable for step in self._steps]
        depth = next(at for at, classes in enumerate(reached) if classes)
        c = first(reached[depth])
        found = []
        for step in self._steps[depth::-1]:
            mover, to = next((row, first(to)) for more, row, to in step if more >> c & 1)
            found.append((mover, c, to))
            c = to
        return found


class Out:
    """The jobs whose slots one job could get, each of them moving on to where the next one is.

    `left`: by job the class on which it would give one up."""

    def __init__(self, usable: Sequence[Bits], on: Sequence[Bits], row: int) -> None:
        self.classes = usable[row]
        self.left: dict[int, int] = {}
        self._enters = [(usable[row], row)]  # who would take a slot on which classes
        rows = [other for other, some in enumerate(on) if some and other != row]
        edge = self.classes
        while edge:
            fresh, rest = [], []
            for other in rows:
                if here := on[other] & edge:
                    self.left[other] = first(here)
                    fresh.append(other)
                else:
                    rest.append(other)
            rows, edge = rest, 0
            for other in fresh:
                if wider := usable[other] & ~self.classes:
                    self._enters.append((wider, other))
                    self.classes |= wider
                    edge |= wider

    def enters(self, c: int) -> int:
        """The job that would take a slot on the class."""
        return next(row for classes, row in self._enters if classes >> c & 1)


def bits(these: Bools) -> Bits:
    """The set of the classes that are true."""
    return int.from_bytes(np.packbits(these, bitorder="little").tobytes(), "little")


def places(classes: Bits) -> Iterator[int]:
    """The classes in the set, the first one first."""
    while classes:
        c = first(classes)
        yield c
        classes ^= 1 << c


def first(classes: Bits) -> int:
    """The first class in the set."""
    return (classes & -classes).bit_length() - 1


def with_class(classes: Bits, c: int, there: bool) -> Bits:
    """The set with or without this class."""
    return classes | 1 << c if there else classes & ~(1 << c)


def _union(step: Sequence[tuple[Bits, int, Bits]]) -> Bits:
    found = 0
    for classes, _, _ in step:
        found |= classes
    return found
