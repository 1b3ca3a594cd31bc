"""A benchmark consists of cases, each ours against a baseline, described in plain values.

A benchmark is a file in `benchmarks/suites/` whose first line says what it measures and that has
`cases(options) -> list[Case]`. Nothing else has to know about it. Such a file imports nothing slow
at its top: the runner loads it, and its own memory would count in every process that it starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Measured = Callable[[], Sequence[float] | Mapping[str, float] | None]
"""The function that is timed. It gives the numbers by which ours and the baseline are compared, or
named figures that are shown, or None."""


@dataclass(frozen=True)
class Call:
    """The way to get something to measure, in a fresh process.

    `prepare` is written `package.module:function`; called with the arguments (plain values), it
    gives a Measured. What it does itself (imports, instances, a warm-up) is not timed. `needs` are
    the modules of `requirements/benchmarks.txt` that it imports.
    """

    program: str  # as the table shows it
    prepare: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """A promise: at most so many seconds, or at least so many times faster."""

    seconds: float | None = None
    ratio: float | None = None


@dataclass(frozen=True)
class Case:
    """One row: its name (unique in the benchmark), its size, ours, the baseline, the target."""

    name: str
    size: Mapping[str, int | str]
    ours: Call
    baseline: Call | None = None
    target: Target = Target()


@dataclass(frozen=True)
class Options:
    """The options that every benchmark gets. `quick`: sizes that take seconds, to see that all
    works."""

    quick: bool = False
    seed: int = 1


@dataclass(frozen=True)
class Side:
    """One program's measurements. A time is the median of the runs in one process.

    `limit_reached`: it was stopped after the last of `seconds`, so that is a lower bound.
    `peak_memory` is in bytes, of the whole process, instance included. `error` says why there is
    no measurement. `figures` are what was found besides the time, by name.
    """

    program: str
    seconds: tuple[float, ...] = ()
    peak_memory: int = 0
    limit_reached: bool = False
    error: str | None = None
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def median(self) -> float | None:
        """The middle of the times (the lower one of two), None if there is none."""
        return sorted(self.seconds)[(len(self.seconds) - 1) // 2] if self.seconds else None


@dataclass(frozen=True)
class Row:
    """The measurements of a case. `difference` is the largest relative difference between the
    numbers that the two programs gave, None where there was nothing to compare."""

    case: Case
    ours: Side
    baseline: Side | None
    difference: float | None

    @property
    def ratio(self) -> float | None:
        """The ratio by which ours is faster; a lower bound where the baseline reached its limit."""
        if self.baseline is None or self.ours.limit_reached:
            return None
        mine, theirs = self.ours.median, self.baseline.median
        return theirs / mine if mine and theirs else None

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None where there is none or it cannot be told."""
        target, mine = self.case.target, self.ours.median
        if target.seconds is not None and mine is not None:
            return mine <= target.seconds and not self.ours.limit_reached
        if target.ratio is not None and self.ratio is not None:
            bound = self.baseline is not None and self.baseline.limit_reached
            return True if self.ratio >= target.ratio else (None if bound else False)
        return None
