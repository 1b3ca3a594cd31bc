"""The world of the engine in memory: machines, what runs on them, and when it ends.

It reads no clock: it is handed one, and everything in it is a function of that clock, of the calls,
and of what was planted. It outlives engine objects, as machines outlive the programs that drive
them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from fairlead.engines.interface import (
    MOST_OUTPUT,
    Assignment,
    Attempt,
    Cause,
    Ended,
    Health,
    Lost,
    Node,
)
from fairlead.model.machine import Machine
from fairlead.model.values import FrozenMap


@dataclass(frozen=True, slots=True)
class Fate:
    """The course of one attempt: times in microseconds, from when it is launched.

    `duration` None: it runs until it is stopped. `grace`: how long it goes on once it is told to
    stop. Without `launchable` it never runs and is reported as NOT_STARTED."""

    duration: int | None = 0
    cause: Cause = Cause.EXITED
    code: int = 0
    delay: int = 0
    grace: int = 0
    out: bytes = b""
    err: bytes = b""
    launchable: bool = True
    message: str = ""


Fates = Callable[[Assignment], Fate]
"""Asked once an attempt, when it is first launched."""


def lasting(duration: int | None) -> Fates:
    """Every attempt runs for so long and ends well."""
    fate = Fate(duration)
    return lambda _: fate


def random_fates(seed: int, mean: int, failing: float = 0.0, delay: int = 0) -> Fates:
    """Durations drawn from an exponential distribution with this mean, at least 1 microsecond; the
    given part of the attempts fails with exit code 1. Drawn in the order of the launches."""

    def numbers() -> Iterator[tuple[float, float]]:
        import numpy as np  # not by drivers, of which tests start many

        generator = np.random.Generator(np.random.PCG64(seed))
        while True:
            durations = generator.exponential(mean, size=1024)
            luck = generator.random(size=1024)
            yield from zip(durations.tolist(), luck.tolist(), strict=True)

    stream = numbers()

    def fate(_: Assignment) -> Fate:
        duration, luck = next(stream)
        return Fate(max(1, int(duration)), code=int(luck < failing), delay=delay)

    return fate


class Happening(Enum):
    """Changes of an attempt in the world."""

    STARTED = "started"
    ENDED = "ended"


@dataclass(slots=True)
class Task:
    """One attempt in the world."""

    assignment: Assignment
    fate: Fate
    order: int
    starts: int  # when it will start, or did
    running: bool = False
    ends: int | None = None
    stopping: bool = False
    over: Ended | Lost | None = None


class World:
    """Machines, what runs on them, and when it ends. Calls below are what a test does to it."""

    def __init__(
        self,
        machines: Iterable[Machine],
        clock: Callable[[], int],
        fates: Fates | None = None,
        record: bool = False,
    ) -> None:
        self.clock = clock
        self.fates = fates or lasting(0)
        self.record: list[tuple[int, Happening, Attempt]] | None = [] if record else None
        """Everything that happened, where asked for; else None, so that memory stays flat."""
        self.started = 0
        """Counts the attempts that ever started."""
        self.nodes = {machine.name: Node(machine) for machine in machines}
        self.tasks: dict[Attempt, Task] = {}
        self.owner = 0  # of the journal: the newest that was here
        self.identity = "world"  # of the engine that keeps what it knows of it
        """Every attempt whose end was not acknowledged."""
        self.outputs: dict[Attempt, tuple[bytes, bytes]] = {}
        self.news: list[tuple[Happening, Task]] = []
        """Starts and ends since the engine last looked."""
        self.engine: object = None
        """The engine object that is connected to it."""
        self.frozen: set[str] = set()
        self._heap: list[tuple[int, int, Task]] = []
        self._order = 0
        self._running: dict[str, dict[Attempt, Task]] = {}

    def join(self, machine: Machine) -> None:
        """A machine is there, from now on."""
        self.nodes[machine.name] = Node(machine)

    def leave(self, name: str) -> None:
        """A machine is gone for good, and all that ran on it is lost."""
        self.advance()
        self.nodes.pop(name, None)
        self.frozen.discard(name)
        for task in list(self._running.get(name, {}).values()):
            why = f"machine {name} is gone"
            self._end(task, Lost(task.assignment.attempt, True, why))
        for task in self.tasks.values():
            if task.over is None and task.assignment.machine == name:
                lost = Lost(task.assignment.attempt, False, f"machine {name} is gone")
                self._end(task, lost)

    def trouble(self, name: str, problem: str = "it does not answer") -> None:
        """A machine fails or does not answer; what runs on it goes on."""
        self.nodes[name] = replace(self.nodes[name], health=Health.TROUBLED, problem=problem)

    def mend(self, name: str) -> None:
        """A machine is well again."""
        self.nodes[name] = Node(self.nodes[name].machine)

    def freeze(self, name: str) -> None:
        """Nothing on this machine starts or ends any more, until it thaws or leaves."""
        self.advance()
        self.frozen.add(name)

    def thaw(self, name: str) -> None:
        """The machine goes on; what should have ended meanwhile ends now."""
        self.frozen.discard(name)
        for task in self.tasks.values():
            if task.over is None and task.assignment.machine == name:
                self._due(task)

    def lose(self, attempt: Attempt, why: str = "its process is gone") -> None:
        """All processes of this attempt are gone without a trace."""
        self.advance()
        task = self.tasks[attempt]
        if task.over is None:
            self._end(task, Lost(attempt, task.running, why, machine_at_fault=False))

    def running(self, name: str | None = None) -> list[Assignment]:
        """The tasks that run now, on one machine or on all, in the order of the launches."""
        self.advance()
        places = [self._running.get(name, {})] if name else self._running.values()
        tasks = sorted((t for place in places for t in place.values()), key=lambda t: t.order)
        return [task.assignment for task in tasks]

    def overloaded(self) -> list[str]:
        """A sentence for every resource of which more is taken than a machine has, and for every
        device piece that two hold."""
        found = []
        for name in sorted(self._running):
            tasks = self._running[name].values()
            node = self.nodes.get(name)
            taken: dict[str, Fraction] = {}
            pieces: dict[tuple[str, int], Attempt] = {}
            for task in tasks:
                for resource, amount in task.assignment.demand.items():
                    taken[resource] = taken.get(resource, Fraction(0)) + amount
                for piece in task.assignment.pieces:
                    other = pieces.setdefault(piece, task.assignment.attempt)
                    if (
                        other != task.assignment.attempt
                        and task.assignment.demand.get(piece[0], Fraction(1)) >= 1
                    ):
                        mine = task.assignment.attempt
                        found.append(f"{name}: {piece[0]} {piece[1]} is held by {other} and {mine}")
            for resource, amount in taken.items():
                has = node.machine.capacity.get(resource, Fraction(0)) if node else Fraction(0)
                if amount > has:
                    found.append(f"{name}: {amount} of {resource} is taken, it has {has}")
        return found

    def wake(self) -> int | None:
        """When the next thing happens by itself; None: nothing will."""
        while self._heap and self._heap[0][2].over is not None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def begin(self, assignment: Assignment) -> None:
        """An attempt is launched, unless it is known already."""
        if assignment.attempt in self.tasks:
            return
        self.outputs.pop(assignment.attempt, None)  # of another one that had its name
        now = self.clock()
        neither = assignment.command is None and assignment.call is None
        fate = Fate() if neither else self.fates(assignment)
        self._order += 1
        task = Task(assignment, fate, self._order, now + fate.delay)
        self.tasks[assignment.attempt] = task
        if assignment.machine not in self.nodes:
            why = f"machine {assignment.machine} is not there"
            self._end(task, Lost(assignment.attempt, False, why))
        elif not fate.launchable:
            message = fate.message or "it cannot be started"
            code = fate.code or 127
            ended = Ended(assignment.attempt, Cause.NOT_STARTED, code, now, None, message)
            self._end(task, ended)
        else:
            self._due(task)

    def stop(self, attempt: Attempt) -> None:
        """An attempt is told to stop; one that is not known never will start."""
        self.advance()
        task = self.tasks.get(attempt)
        if task is None or (task.over is None and not task.running):
            if task is None:
                self._order += 1
                task = Task(_nothing(attempt), Fate(), self._order, 0)
                self.tasks[attempt] = task
            why = "it was stopped before it started"
            self._end(task, Lost(attempt, False, why, machine_at_fault=False))
        elif task.over is None and not task.stopping:
            task.stopping = True
            end = self.clock() + task.fate.grace
            if task.ends is None or end <= task.ends:
                task.ends = end
                task.fate = replace(task.fate, cause=Cause.STOPPED, code=15, message="")
            self._due(task)

    def drop(self, attempt: Attempt) -> None:
        """An attempt that nobody expects ends at once and is not reported."""
        task = self.tasks.pop(attempt, None)
        if task is not None and task.over is None:
            self._end(task, Lost(attempt, task.running, "nobody expects it"))

    def advance(self) -> None:
        """Let everything happen that is due by the clock, in the order of its times."""
        now = self.clock()
        while self._heap and self._heap[0][0] <= now:
            _, _, task = heapq.heappop(self._heap)
            if task.over is not None or task.assignment.machine in self.frozen:
                continue
            if not task.running:
                self._start(task)
            elif task.ends is not None and task.ends <= now:
                self._finish(task)

    def _start(self, task: Task) -> None:
        attempt, machine = task.assignment.attempt, task.assignment.machine
        task.running = True
        self.started += 1
        self._running.setdefault(machine, {})[attempt] = task
        if task.fate.out or task.fate.err:
            most = task.assignment.most_output(MOST_OUTPUT)
            out = task.fate.out[:most]
            self.outputs[attempt] = (out, task.fate.err[: most - len(out)])
        if task.fate.duration is not None:
            task.ends = task.starts + task.fate.duration
        limit = task.assignment.time_limit
        if limit is not None:
            end = task.starts + int(limit * 1_000_000) + task.fate.grace
            if task.ends is None or end < task.ends:
                task.ends = end
                task.fate = replace(task.fate, cause=Cause.TIME_LIMIT, code=15)
        if self.record is not None:
            self.record.append((task.starts, Happening.STARTED, attempt))
        self.news.append((Happening.STARTED, task))
        self._due(task)

    def _finish(self, task: Task) -> None:
        assert task.ends is not None
        attempt, fate = task.assignment.attempt, task.fate
        ended = Ended(attempt, fate.cause, fate.code, task.ends, task.starts, fate.message)
        self._end(task, ended)

    def _end(self, task: Task, over: Ended | Lost) -> None:
        attempt, machine = task.assignment.attempt, task.assignment.machine
        task.over = replace(over, output=sum(map(len, self.outputs.get(attempt, ()))))
        self._running.get(machine, {}).pop(attempt, None)
        if self.record is not None:
            self.record.append((self.clock(), Happening.ENDED, attempt))
        self.news.append((Happening.ENDED, task))

    def _due(self, task: Task) -> None:
        """Have `advance` look at a task when it starts or ends; at once where that is now."""
        time = task.ends if task.running else task.starts
        if time is not None:
            heapq.heappush(self._heap, (time, task.order, task))


def _nothing(attempt: Attempt) -> Assignment:
    return Assignment(attempt, "", "", "", FrozenMap())
