"""How small a difference is none: the one tolerance of the auditor."""

from __future__ import annotations

TOLERANCE = 1e-6
"""Relative to the larger of the two numbers that are compared.

Allocations are certified to 1e-9 and shown with 12 digits. What is compared with them is computed
in doubles from up to 100,000 terms (1e-11) or by a linear program whose rows hold to 1e-9, and the
market of a thousand jobs is known to about 1e-7. A violation smaller than a millionth of what
somebody has is nothing that anyone would act on, and one that is none by definition (two tenants
who are alike) must not appear by rounding.
"""


def shortfall(promised: float, found: float) -> float:
    """By how much `found` is less than `promised`, relative to what is promised; 0 if it is not."""
    return (promised - found) / promised if promised > found else 0.0


def difference(one: float, other: float) -> float:
    """How far two amounts are apart, relative to the larger."""
    return abs(one - other) / max(one, other) if one != other else 0.0
