"""First fit: the machine that joined first."""

from __future__ import annotations

from fairlead.scheduling.kernels.memory.state import Handle

PICKY = False


def first_fit(s: Handle, j: int, m: int) -> float:  # noqa: ARG001  all rules take the same
    """0 for every machine: ties go to the machine that joined first."""
    return 0.0
