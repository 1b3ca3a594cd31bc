"""What a whole-task mechanism gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from fairlead.sharing.integral.counts import Counts
from fairlead.sharing.integral.lottery import Lottery
from fairlead.sharing.integral.point import Packing, Point


@dataclass(frozen=True)
class WholeOutcome:
    """`machines`: class, packing and on how many of its machines, whole numbers unless there is a
    lottery, of which they are the mean. `point`: the CDRF point that it starts from. `notes` are
    sentences for the reader."""

    machines: tuple[tuple[int, Packing, Fraction], ...]
    point: Point | None = None
    lottery: Lottery | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class WholeMechanism:
    """`allocate(counts)` gives the outcome."""

    spec: str
    allocate: Callable[[Counts], WholeOutcome]
