"""Worst fit: the machine on which most is left, which spreads the load."""

from __future__ import annotations

from fairlead.scheduling.kernels.memory.state import Handle
from fairlead.scheduling.kernels.room.fits import left_over, left_sign


def worst_fit(s: Handle, j: int, m: int) -> float:
    """The opposite of best fit: minus what would be left of the resources that the task demands."""
    return -left_over(s, j, m)


def compare(s: Handle, j: int, a: int, b: int) -> int:
    """The sign of the first machine's score less the second's, without rounding."""
    return -left_sign(s, j, a, b, 0)
