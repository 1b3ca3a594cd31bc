"""Best fit: the machine on which least is left."""

from __future__ import annotations

from fairlead.scheduling.kernels.memory.state import Handle
from fairlead.scheduling.kernels.room.fits import left_over, left_sign

TIGHT = True


def best_fit(s: Handle, j: int, m: int) -> float:
    """The sum of the resources that the task would leave there, each in parts of the machine."""
    return left_over(s, j, m)


def compare(s: Handle, j: int, a: int, b: int) -> int:
    """The sign of the first machine's score less the second's, without rounding."""
    return left_sign(s, j, a, b, 0)
