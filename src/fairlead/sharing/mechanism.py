"""What a mechanism is: an allocation that no scale describes, beside the policies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairlead.sharing.problem import Floats, Problem


@dataclass(frozen=True)
class Mechanism:
    """`allocate(problem, weight)` gives tasks (J, C). `weight` (T,) are the tenants' weights,
    those of pools computed with `alone` as the scale."""

    spec: str
    allocate: Callable[[Problem, Floats], Floats]
