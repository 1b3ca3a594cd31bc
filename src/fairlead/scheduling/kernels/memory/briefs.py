"""Briefs: words that say nearly how much of each resource. Mostly one comparison of them decides.

A brief of what is needed is rounded down, and so is that of the room there is: where a need's brief
is more than the room's, the need is more than the room.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fairlead.compiling import inner, kernel, small

BRIEF = 4
"""So many resources are in a brief."""
SIGNS = np.uint64(0x8000_8000_8000_8000)
"""The highest bit of each of a brief's parts, which is 0 there."""
NO_ROOM = ~SIGNS
"""The brief of a room in which nobody may be placed, whatever is needed."""
BITS = np.uint64(16)


@small
def part_of(amount: int) -> np.uint64:
    """0 for nothing; else the amount's logarithm with nine binary digits of the amount, below
    2^15. More never gives less."""
    if amount <= 0:
        return np.uint64(0)
    return np.uint64((np.float64(amount).view(np.int64) >> 43) - (1022 << 9))


@inner
def brief_of(amounts: Any, row: int) -> np.uint64:
    """The brief of the amounts in a row, of the first resources."""
    word = np.uint64(0)
    for r in range(min(amounts.shape[1], BRIEF)):
        word |= part_of(amounts[row, r]) << (BITS * np.uint64(r))
    return word


@kernel
def briefs_of(amounts: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """The briefs of all rows."""
    words = np.empty(len(amounts), np.uint64)
    for row in range(len(amounts)):
        words[row] = brief_of(amounts, row)
    return words


@small
def may_hold(need: np.uint64, terms: np.uint64, room: np.uint64, lacking: np.uint64) -> bool:
    """Is no part of a brief more than that of the room, in which the signs are set, and none of
    these terms lacking? NO_ROOM is less than any need."""
    return (((room - need) & SIGNS) == SIGNS) & ((terms & lacking) == np.uint64(0))


@small
def too_wide(s: Any) -> bool:
    """Are there more resources or terms than briefs are about, so that rows are to be compared?"""
    return s.need.shape[1] > BRIEF or s.terms.shape[1] > 1


@inner
def abridge(s: Any, n: int) -> None:
    """After the rows of `need` or `terms` of node n changed: writes their brief and first word into
    its record."""
    s.node[n].brief = brief_of(s.need, n)
    s.node[n].word = s.terms[n, 0]
