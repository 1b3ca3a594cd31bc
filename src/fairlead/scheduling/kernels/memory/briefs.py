"""Words that say nearly how much of each resource: mostly one comparison of them is enough."""

from __future__ import annotations

import numpy as np

from fairlead.scheduling.kernels.memory.compiling import inner, small
from fairlead.scheduling.kernels.memory.state import Handle, Ints

BRIEF = 4
"""So many resources are in a brief."""
SIGNS = np.uint64(0x8000_8000_8000_8000)
"""The highest bit of each of a brief's parts, which is 0 there."""
NO_ROOM = ~SIGNS
"""Where nobody is to be placed, whatever is needed."""
BITS = np.uint64(16)


@small
def _part(amount: int) -> np.uint64:
    """0 for nothing; else the amount's logarithm with nine binary digits of the amount, below
    2^15. More never gives less."""
    if amount <= 0:
        return np.uint64(0)
    return np.uint64((np.float64(amount).view(np.int64) >> 43) - (1022 << 9))


@inner
def brief(amounts: Ints, row: int) -> np.uint64:
    """The first amounts in a row, rounded down, in one word."""
    word = np.uint64(0)
    for r in range(min(amounts.shape[1], BRIEF)):
        word |= _part(amounts[row, r]) << (BITS * np.uint64(r))
    return word


@small
def beneath(need: np.uint64, room: np.uint64) -> bool:
    """Is no part of a brief more than that of the room, in which the signs are set? Where one is,
    an amount is more. NO_ROOM is less than any."""
    return ((room - need) & SIGNS) == SIGNS


@inner
def abridge(s: Handle, n: int) -> None:
    """After the rows of `need` or `terms` of node n changed: in short in its record."""
    s.node[n].brief = brief(s.need, n)
    s.node[n].word = s.terms[n, 0]
