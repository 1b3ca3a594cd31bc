"""Scarce last: the machine of which all that it has is commonest; among equals best fit."""

from __future__ import annotations

from fairlead.scheduling.kernels.memory.state import Handle
from fairlead.scheduling.kernels.room.fits import left_over, left_sign, scarcity_part

TIGHT = SCARCE = (
    True  # scarcity is at least 0 and no launch changes it; what is left is added as it is
)


def scarce_last(s: Handle, j: int, m: int) -> float:
    """The scarcity of the machine (`fairlead.scheduling.state.labels`); among equals the best fit.

    It is a number of the machine, from what the machines that are there have, so that a GPU, or a
    label that few have, is free for whoever comes, before anybody asks for it. What the job needs
    itself is on every machine that it may use.

    TSF's paper, Table II: the job without constraints must leave nodes to those that can use no
    others. Choosy, section 6.2: a picky job waits long where anybody may sit on its machines.
    """
    score: float = scarcity_part(s, m) + left_over(s, j, m)
    return score


def compare(s: Handle, j: int, a: int, b: int) -> int:
    """The sign of the first machine's score less the second's, without rounding."""
    return left_sign(s, j, a, b, scarcity_part(s, a) - scarcity_part(s, b))
