"""Changes to machines in a run: the workload's events, random failures, and evictions."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

from fairlead.model.errors import InputError
from fairlead.simulation.engine.options import Options
from fairlead.simulation.workload import Ints, MachineEvent, Workload

# Enums are slow where machines come by the thousand.
ADD, REMOVE = int(MachineEvent.ADD), int(MachineEvent.REMOVE)


class Kind(Enum):
    JOIN = "join"
    LEAVE = "leave"
    UPDATE = "update"
    EVICT = "evict"  # the newest task of a machine, if there is one


@dataclass(frozen=True)
class Change:
    """A change to a machine, by its index in the workload. `capacity` where it is told."""

    kind: Kind
    machine: int
    capacity: Ints | None = None


class Drawn(Enum):
    """The random draws for a machine."""

    FAILURE = 0
    REPAIR = 1
    EVICTION = 2


class Changes:
    """All changes of a run in order of time; at one moment the workload's first.

    What is drawn for a machine depends on the seed and on its index alone: all policies see the
    same failures.
    """

    def __init__(self, workload: Workload, options: Options, seed: int) -> None:
        self._table = table = workload.machines
        # Lists, as they are looked at one by one.
        self._events = list(
            zip(table.time.tolist(), table.machine.tolist(), table.kind.tolist(), strict=True)
        )
        self._options = options
        self._seed = seed
        self._at = 0  # next event of the workload
        self._there: set[int] = set()  # as the workload has it, repairs or not
        self._broken: set[int] = set()
        self._capacity: dict[int, Ints] = {}
        self._joined: dict[int, int] = {}  # how often, so that what was drawn before is void
        self._draws: dict[tuple[int, Drawn], np.random.Generator] = {}
        self._drawn: list[tuple[int, int, int, int]] = []  # time, machine, what, joined

    def due(self) -> int | None:
        """The time of the next change; None: there is none."""
        while self._drawn and self._joined[self._drawn[0][1]] != self._drawn[0][3]:
            heapq.heappop(self._drawn)
        times = [self._drawn[0][0]] if self._drawn else []
        if self._at < len(self._events):
            times.append(self._events[self._at][0])
        return min(times, default=None)

    def may_help(self) -> bool:
        """Will a machine come, or change, for which a task may wait? Failures do not help."""
        return self._at < len(self._events) or bool(self._broken)

    def take(self, time: int, *, failing: bool) -> Iterator[Change]:
        """The changes of this moment, in order. Not `failing`: failures that are due are put off,
        so that a time comes when no machine is broken."""
        while self._at < len(self._events) and self._events[self._at][0] <= time:
            change = self._of_workload(self._at, time)
            self._at += 1
            if change is not None:
                yield change
        while self._drawn and self._drawn[0][0] <= time:
            _, machine, what, joined = heapq.heappop(self._drawn)
            if self._joined[machine] == joined:
                yield from self._of_draw(machine, Drawn(what), time, failing)

    def _of_workload(self, row: int, time: int) -> Change | None:
        """The change that an event of the workload makes; None where its machine is broken."""
        _, machine, kind = self._events[row]
        capacity = self._table.capacity[row]
        if (kind == ADD) == (machine in self._there):
            there = "is there already" if machine in self._there else "is not there"
            raise InputError(
                f"machine {self._table.names[machine]!r} {there} at {time} µs",
                "a machine joins once before it changes or leaves",
            )
        if kind == REMOVE:
            self._there.discard(machine)
            self._joined[machine] += 1
            if machine in self._broken:
                self._broken.discard(machine)
                return None
            return Change(Kind.LEAVE, machine)
        self._capacity[machine] = capacity
        if kind == ADD:
            self._there.add(machine)
            self._joined[machine] = self._joined.get(machine, 0) + 1
            self._draw(machine, Drawn.FAILURE, time)
            self._draw(machine, Drawn.EVICTION, time)
            return Change(Kind.JOIN, machine, capacity)
        if machine in self._broken:
            return None
        return Change(Kind.UPDATE, machine, capacity)

    def _of_draw(self, machine: int, what: Drawn, time: int, failing: bool) -> Iterator[Change]:
        if what == Drawn.FAILURE and not failing:
            self._draw(machine, Drawn.FAILURE, time)
        elif what == Drawn.FAILURE:
            self._broken.add(machine)
            self._draw(machine, Drawn.REPAIR, time)
            yield Change(Kind.LEAVE, machine)
        elif what == Drawn.REPAIR:
            self._broken.discard(machine)
            self._draw(machine, Drawn.FAILURE, time)
            yield Change(Kind.JOIN, machine, self._capacity[machine])
        else:
            self._draw(machine, Drawn.EVICTION, time)
            if machine not in self._broken:
                yield Change(Kind.EVICT, machine)

    def _draw(self, machine: int, what: Drawn, time: int) -> None:
        failures = self._options.failures
        if what == Drawn.EVICTION:
            mean = self._options.evictions
        elif failures is not None:
            mean = failures.mtbf if what == Drawn.FAILURE else failures.repair
        else:
            mean = None
        if mean is None:
            return
        # Each machine's evictions have a stream of their own: failures do not shift them.
        stream = (machine, Drawn.EVICTION if what == Drawn.EVICTION else Drawn.FAILURE)
        if stream not in self._draws:
            key = [self._seed, machine, stream[1].value]
            self._draws[stream] = np.random.Generator(np.random.PCG64(key))
        after = max(1, round(self._draws[stream].exponential(mean)))
        heapq.heappush(self._drawn, (time + after, machine, what.value, self._joined[machine]))
