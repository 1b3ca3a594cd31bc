"""How close two numbers must be, once for all tests."""

from __future__ import annotations

EXACT = 1e-9
"""Relative: anything in doubles that is the same by theory. Exact shares are compared exactly."""

SHOWN = 1e-11
"""Relative: an exact number against what is shown of it, which has 12 digits."""

CERTIFICATE = 1e-7
"""The largest feasibility or gap that a certificate may report."""


def close(ours: float, theirs: float, tolerance: float = EXACT) -> bool:
    """Whether two numbers agree, relative to the larger, or absolutely where both are small."""
    return abs(ours - theirs) <= tolerance * max(1.0, abs(ours), abs(theirs))
