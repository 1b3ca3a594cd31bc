"""Best fit: the machine on which least is left."""

from __future__ import annotations

from fairlead.scheduling.kernels.memory.state import Handle
from fairlead.scheduling.kernels.room.fits import left_sign

TIGHT = True


def best_fit(s: Handle, j: int, m: int) -> float:
    """What would be left of the resources that the task demands, each in parts of the machine's
    capacity, added up in the order of the resources."""
    left = 0.0
    for r in range(s.demand.shape[1]):
        need = s.demand[j, r]
        if need > 0:
            left += (s.free[m, r] - need) / s.capacity[m, r]
    return left


def compare(s: Handle, j: int, a: int, b: int) -> int:
    """The sign of the first machine's score less the second's, without rounding."""
    return left_sign(s, j, a, b, 0)
