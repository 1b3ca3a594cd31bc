"""Random failures and evictions: what a run adds to the machine events of its workload."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.model.errors import InputError
from fairlead.simulation.traces.options import microseconds

RIGHT = "write for instance mtbf=240h,repair=1h"


@dataclass(frozen=True)
class Failures:
    """Each machine fails after a time drawn from an exponential distribution of mean `mtbf`, and
    is back, empty, after one of mean `repair`. Microseconds."""

    mtbf: int
    repair: int

    def __post_init__(self) -> None:
        if self.mtbf <= 0 or self.repair <= 0:
            raise InputError("the times of failures must be longer than 0", RIGHT)


def read_failures(text: str) -> Failures:
    """From `mtbf=240h,repair=1h`. Raises InputError."""
    found: dict[str, int] = {}
    for part in text.split(","):
        key, _, value = part.strip().partition("=")
        span = microseconds(value.strip())
        if key not in ("mtbf", "repair") or key in found or span is None:
            raise InputError(f"failures cannot be {part.strip()!r}", RIGHT)
        found[key] = span
    if len(found) < 2:
        raise InputError(f"failures need both times, not only {text!r}", RIGHT)
    return Failures(found["mtbf"], found["repair"])
