"""What a study costs: time by the clock, and processor time of all processes that worked on it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fairlead.simulation.report.words import duration
from fairlead.studies.study import Spread

_Part = TypeVar("_Part")
_Done = TypeVar("_Done")

HERE = os.urandom(8)
"""Tells this process from all others, on any machine."""


@dataclass(frozen=True)
class Cost:
    """Seconds by the clock, and seconds of processors: the latter say something on a busy machine,
    too."""

    clock: float
    processors: float

    @property
    def words(self) -> str:
        return f"{duration(self.clock)}, and {duration(self.processors)} of processors"

    def tree(self) -> dict[str, float]:
        """Both, as `study.json` has them."""
        return {"seconds": round(self.clock, 3), "processor_seconds": round(self.processors, 3)}

    @staticmethod
    def from_tree(tree: Mapping[str, float]) -> Cost:
        return Cost(tree["seconds"], tree["processor_seconds"])


NOTHING = Cost(0.0, 0.0)


class Meter:
    """Counts what is spent while a study runs."""

    def __init__(self) -> None:
        self._clock = time.perf_counter()
        self._here = processor_seconds()
        self._elsewhere = 0.0

    def counted(self, spread: Spread) -> Spread:
        """A spread whose parts count wherever they are done."""

        def everywhere(function: Callable[[_Part], _Done], parts: Sequence[_Part]) -> list[_Done]:
            done = []
            for where, seconds, one in spread(measured, [(function, part) for part in parts]):
                # What is done in this process counts with it.
                self._elsewhere += 0.0 if where == HERE else seconds
                done.append(one)
            return done

        return everywhere

    def cost(self) -> Cost:
        here = processor_seconds() - self._here
        return Cost(time.perf_counter() - self._clock, here + self._elsewhere)


def measured(
    work: tuple[Callable[[_Part], _Done], _Part],
) -> tuple[bytes, float, _Done]:
    """The process that did a part by its function, the processor time that it took, and what came
    out. A function of one argument at the top of a module: what Ray takes."""
    function, part = work
    begun = processor_seconds()
    done = function(part)
    return HERE, processor_seconds() - begun, done


def processor_seconds() -> float:
    """Processor time of this process and of those that it waited for."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system
