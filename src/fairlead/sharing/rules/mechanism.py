"""A mechanism is an allocation that no scale describes, beside the policies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairlead.sharing.problem.problem import Floats, Problem


@dataclass(frozen=True)
class Outcome:
    """A mechanism's answer: tasks of each job on all machines of each class together.

    `prices` are what one unit of each resource on each class costs, where the mechanism is a
    market; a job's budget is its effective weight.
    """

    tasks: Floats  # (J, C)
    prices: Floats | None = None  # (C, R)


@dataclass(frozen=True)
class Mechanism:
    """`allocate(problem, weight)` gives the outcome. `weight` (T,) are the tenants' weights,
    those of pools computed with `alone` as the scale."""

    spec: str
    allocate: Callable[[Problem, Floats], Outcome]
