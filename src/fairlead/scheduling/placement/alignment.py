"""Alignment: the machine whose free resources point where the task's demand does."""

from __future__ import annotations

from fairlead.scheduling.kernels.memory.state import Handle
from fairlead.scheduling.kernels.room.fits import product_sign


def alignment(s: Handle, j: int, m: int) -> float:
    """Minus the dot product of the demand and what is free, both in parts of the machine.

    Grandl, Ananthanarayanan, Kandula, Rao, Akella: Multi-resource packing for cluster schedulers
    (SIGCOMM 2014), section 3 (Tetris): of the tasks that fit the one of the largest such product
    is taken. Here fairness has chosen the job, and the product chooses its machine. A machine that
    is emptier, and on which the task is larger, comes first; what is short there and what the
    task needs most of are thereby kept apart.
    """
    product = 0.0
    for r in range(s.demand.shape[1]):
        need = s.demand[j, r]
        if need > 0:
            all_of_it = s.capacity[m, r]
            product += (need / all_of_it) * (s.free[m, r] / all_of_it)
    return -product


def compare(s: Handle, j: int, a: int, b: int) -> int:
    """The sign of the first machine's score less the second's, without rounding."""
    return -product_sign(s, j, a, b)
