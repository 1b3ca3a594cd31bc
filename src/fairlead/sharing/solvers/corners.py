"""What a walk is at and what it finds: corners, lines between them, and who is stopped there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from fairlead.sharing.problem import Bools, Floats, Ints
from fairlead.sharing.rise import Basis


class End(Enum):
    """How a climb ended."""

    MACHINES = "machines stop somebody"
    BOUND = "the bound is reached, and everybody could still rise"
    LOST = "it takes too long this way, or what was found is not certain: others must go on"


@dataclass(frozen=True)
class Stop:
    """Whom machines stop, with the prices that prove it. Nobody else may use these machines any
    more, and the members can use no others: all of them are done with."""

    members: Ints  # the groups that are stopped, or were frozen and have a part of the same
    classes: Ints
    places: tuple[Ints, Ints]  # where the members are: groups and classes
    share: Floats  # and how much they have there
    price: Floats  # (classes, R) of these classes; all others cost nothing
    group: Floats  # (members,); each times its rate, they add up to 1


@dataclass(frozen=True)
class Left:
    """What a walk leaves to be done in other ways."""

    pairs: Bools  # (G, C) where those may be who are left
    basis: Basis  # where they are now, or on their way up from there


@dataclass(frozen=True)
class Line:
    """Where all are at each level while no place and no capacity takes the part of another:
    first + second * level."""

    inverse: Floats  # (tight, basic) of what the basic pairs take of the tight capacities
    share: Floats  # (2, basic)
    load: Floats  # (2, cells) what is taken of each capacity
    full: Floats  # (cells,) the level at which it is used up


@dataclass(frozen=True)
class Corner:
    """Where all are when one more capacity is used up, so that they say the level, too."""

    share: list[float]  # (basic,)
    load: Floats  # (cells,)
    inverse: Floats  # (tight, n) of what the level, first, and the basic pairs take of these


def bordered(inverse: Floats, column: Floats, row: Floats, by: float, *, first: bool) -> Floats:
    """The inverse where one more capacity, the last, is tight and one more row, the first or the
    last, says how much.

    `by` is what is left of the new capacity's entry in that row, `column` and `row` what the old
    inverse makes of the new column, and of the new row with the other sign.
    """
    size = len(inverse)
    found = np.empty((size + 1, size + 1))
    old, new = (slice(1, None), 0) if first else (slice(size), size)
    found[size, old] = row / by
    np.subtract(inverse, column[:, None] * found[size, old], out=found[:size, old])
    found[:size, new] = column / -by
    found[size, new] = 1.0 / by
    return found
