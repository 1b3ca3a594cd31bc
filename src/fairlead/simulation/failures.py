"""Machine events that a run adds to those of its workload: random failures and repairs."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from fairlead.model.errors import InputError, Mistake
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
            raise InputError(Mistake("the times of failures must be longer than 0", RIGHT))

    @classmethod
    def read(cls, text: str) -> Failures:
        """From `mtbf=240h,repair=1h`. Raises InputError."""
        found: dict[str, int] = {}
        for part in text.split(","):
            key, _, value = part.partition("=")
            span = microseconds(value.strip())
            if key.strip() not in ("mtbf", "repair") or key.strip() in found or span is None:
                raise InputError(Mistake(f"failures cannot be {part.strip()!r}", RIGHT))
            found[key.strip()] = span
        if len(found) < 2:
            raise InputError(Mistake(f"failures need both times, not only {text!r}", RIGHT))
        return cls(found["mtbf"], found["repair"])


class Broken:
    """When machines fail and come back. The draws of a machine depend on the seed and on its
    index alone, so two policies see the same failures."""

    def __init__(self, failures: Failures, seed: int) -> None:
        self._failures = failures
        self._seed = seed
        self._draws: dict[int, np.random.Generator] = {}
        self._next: list[tuple[int, int, bool, int]] = []  # time, machine, fails, its joining
        self._joining: dict[int, int] = {}
        self.repairs = 0  # machines that are away and will come back

    def joined(self, machine: int, time: int) -> None:
        """A machine of the workload is there: it will fail."""
        self._joining[machine] = self._joining.get(machine, 0) + 1
        self._push(machine, time, fails=True)

    def left(self, machine: int) -> None:
        """A machine of the workload is gone: what was to happen to it does not."""
        joining = self._joining.get(machine, 0)
        gone = [e for e in self._next if e[1] == machine and e[3] == joining]
        self.repairs -= sum(not fails for _, _, fails, _ in gone)
        self._joining[machine] = joining + 1

    def due(self) -> int | None:
        """The time of the next failure or repair."""
        while self._next and self._next[0][3] != self._joining[self._next[0][1]]:
            heapq.heappop(self._next)
        return self._next[0][0] if self._next else None

    def take(self) -> tuple[int, int, bool]:
        """The next one: its time, the machine, and whether it fails (or is back)."""
        self.due()
        time, machine, fails, _ = heapq.heappop(self._next)
        self.repairs += 1 if fails else -1
        self._push(machine, time, fails=not fails)
        return time, machine, fails

    def _push(self, machine: int, time: int, *, fails: bool) -> None:
        draw = self._draws.get(machine)
        if draw is None:
            draw = np.random.Generator(np.random.PCG64([self._seed, machine]))
            self._draws[machine] = draw
        mean = self._failures.mtbf if fails else self._failures.repair
        after = max(1, round(draw.exponential(mean)))
        heapq.heappush(self._next, (time + after, machine, fails, self._joining[machine]))
