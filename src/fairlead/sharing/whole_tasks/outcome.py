"""The outcome of a whole-task mechanism."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from fairlead.sharing.whole_tasks.counts import Counts
from fairlead.sharing.whole_tasks.lottery import Drawn, Lottery
from fairlead.sharing.whole_tasks.point import Packing, Point


@dataclass(frozen=True)
class WholeOutcome:
    """`machines`: class, packing and on how many of its machines, whole numbers unless there is a
    lottery, of which they are the mean. `point`: the CDRF point that it starts from. `notes` are
    sentences for the reader."""

    machines: tuple[tuple[int, Packing, Fraction], ...]
    point: Point | None = None
    lottery: Lottery | None = None
    notes: tuple[str, ...] = ()

    def on(self, classes: Sequence[int]) -> WholeOutcome:
        """The same with the machines of class k in `classes[k]`."""
        lottery = self.lottery
        if lottery is not None:
            lottery = Lottery(
                tuple(
                    Drawn(
                        one.probability,
                        tuple((classes[k], row, number) for k, row, number in one.machines),
                    )
                    for one in lottery.allocations
                )
            )
        machines = tuple((classes[k], row, number) for k, row, number in self.machines)
        return replace(self, machines=machines, lottery=lottery)


@dataclass(frozen=True)
class WholeMechanism:
    """`allocate(counts)` gives the outcome."""

    spec: str
    allocate: Callable[[Counts], WholeOutcome]
