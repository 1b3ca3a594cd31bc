"""The engine that runs tasks as jobs of Slurm, each on the node that was chosen for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Lock, RLock, Thread

from fairlead.engines.interface import (
    Assignment,
    Attempt,
    Cause,
    Ended,
    EngineError,
    Lost,
    Node,
    Output,
    Report,
    Started,
    Stream,
    disk_trouble,
)
from fairlead.engines.observing import View
from fairlead.engines.slurm.placing.controller import Controller
from fairlead.engines.slurm.placing.folder import Folder
from fairlead.engines.slurm.placing.nodes import check_partition, nodes_of
from fairlead.engines.slurm.placing.rounds import Allowance, Rounds
from fairlead.engines.slurm.placing.tasks import Phase, Task
from fairlead.engines.slurm.reading.commands import AwayError
from fairlead.engines.slurm.reading.reader import pause
from fairlead.model.errors import FairleadError, InputError

SECOND = 1_000_000


class Placer:
    """Tasks are jobs in one `partition`, where users' own wait beside them (`Adopts`). A thread
    makes a round each `every` microseconds: it submits, releases, cancels, and reads how Slurm's
    jobs are; without `threaded`, who drives it calls `go_round`. `state`: the service's folder,
    which the nodes must see by the same path. `allowance`: asked for before the first reading.
    That one is made at once: raises EngineError, and InputError where there is no such partition.
    Where slurmctld is only away, the thread waits for it."""

    name = "slurm"

    def __init__(
        self,
        state: Path,
        partition: str,
        every: int,
        controller: Controller,
        allowance: Callable[[], Allowance],
        threaded: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._every, self._controller, self._partition = every / SECOND, controller, partition
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        with disk_trouble():  # the folder that users pass is beside the one that is closed to them
            self._folder = Folder(state / "slurm", state.with_name(f"{state.name}.slurm"))
        self.identity, self._kept = f"slurm:{self._folder.identity}", not self._folder.new
        self._lock, self._rounds_lock = RLock(), Lock()
        self._rounds = Rounds(self._folder, controller, partition, self._lock, clock)
        self._tasks, self._rounds.gone = self._rounds.tasks, self._take_behind
        self._allowance, self._begun = allowance, False
        self._ready, self._owner = False, 0
        self._failure: EngineError | None = None
        self._wake: Callable[[], None] = lambda: None
        self._todo, self._closed = Event(), False
        try:
            self._begin()
        except AwayError as error:
            self._failure = error
        self._thread = Thread(target=self._go_on, name="slurm", daemon=True) if threaded else None
        if self._thread is not None:
            self._thread.start()

    def knows(self, identity: str | None) -> bool:
        return self._kept if identity is None else identity == self.identity

    def nodes(self) -> Sequence[Node]:
        with self._lock:
            self._check_begun()
            return nodes_of(self._rounds.picture, self._partition, self._rounds.ours())

    def adopted(self) -> View | None:
        with self._lock:
            return self._rounds.adopted.view() if self._ready else None

    def listen(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def take_faults(self) -> Sequence[str]:
        with self._lock:
            return self._rounds.take_faults()

    def launch(self, batch: Sequence[Assignment]) -> None:
        self._check_ready()
        with self._lock, disk_trouble():
            self._folder.check(self._owner)
            there = self._machines()
            self._rounds.adopted.give([each for each in batch if each.part is not None])
            for assignment in (each for each in batch if each.part is None):
                known = self._tasks.known.get(assignment.attempt)
                if known is None:
                    self._take(assignment, there)
                elif known.silent:
                    self._tasks.behind.setdefault(assignment.attempt, assignment)
        self._todo.set()

    def _machines(self) -> set[str]:
        return {node.machine.name for node in self.nodes()}

    def _take(self, assignment: Assignment, there: set[str] | None = None) -> None:
        attempt, now = assignment.attempt, time.time_ns() // 1000
        if self._folder.started(attempt) is not None:  # of a journal that is gone
            self._folder.clear(attempt)
        task = self._tasks.known[attempt] = Task(attempt, assignment)
        if assignment.machine not in (there if there is not None else self._machines()):
            why = f'there is no node "{assignment.machine}" in partition {self._partition}'
            return self._tasks.finish(task, Lost(attempt, False, why))
        if assignment.call is not None:
            why = "jobs of Slurm are commands: a call needs the engine of the library that made it"
            return self._tasks.finish(task, Ended(attempt, Cause.NOT_STARTED, 1, now, None, why))
        if assignment.command is None:
            self._tasks.finish(task, Ended(attempt, Cause.EXITED, 0, now, now))
        return None

    def _take_behind(self, attempt: Attempt) -> None:
        """Nothing is left of what nobody expected: what has its name now is taken in."""
        if attempt not in self._tasks.behind:
            return self._folder.remove(attempt)
        assignment = self._tasks.behind.pop(attempt)
        self._folder.clear(attempt)
        if assignment is not None:
            return self._take(assignment)
        task = self._tasks.known[attempt] = Task(attempt, None)
        return self._rounds.never(task)

    def poll(self) -> Sequence[Report]:
        self._check_ready()
        with self._lock:
            if self._failure is not None:
                self._ready = False
                raise self._failure
            return tuple(self._tasks.reports.values())

    def acknowledge(self, reports: Sequence[Report]) -> None:
        self._check_ready()
        with self._lock, disk_trouble():
            for report in reports:
                task = self._tasks.known.get(report.attempt)
                if isinstance(report, Started):
                    self._tasks.reports.pop((report.attempt, False), None)
                elif task is not None and task.over == report:
                    self._rounds.keep_over(task)
                    del self._tasks.known[report.attempt]
                    self._tasks.reports.pop((report.attempt, True), None)

    def cancel(self, batch: Sequence[Attempt]) -> None:
        self._check_ready()
        with self._lock, disk_trouble():
            self._rounds.adopted.withdraw(batch)
            for attempt in batch:
                task = self._tasks.known.setdefault(attempt, Task(attempt, None))
                if task.silent:
                    self._tasks.behind[attempt] = None
                elif task.phase is Phase.QUEUED:
                    self._rounds.never(task)
                elif task.phase is Phase.GIVEN:
                    self._rounds.stop(task, Cause.STOPPED)
        self._todo.set()

    def reconcile(self, expected: Sequence[Assignment], owner: int = 0) -> Sequence[Attempt]:
        self._ready = False
        self._check_begun()
        with self._lock:
            if self._failure is not None:  # whoever calls is not to wait for what is away
                raise EngineError(str(self._failure))
        with self._rounds_lock, self._lock, disk_trouble():
            self._owner = max(owner, self._owner)
            self._folder.take(self._owner)
            never = self._rounds.find(expected)
            self._ready = True
        self._todo.set()
        return never

    def output(self, attempt: Attempt, stream: Stream, offset: int, most: int) -> Output:
        # First whether it is over: what is read after that is all that there will be.
        with self._lock:
            task = self._tasks.known.get(attempt)
            over = task is None or task.over is not None
        try:
            return self._folder.output(attempt, stream, offset, most, over)
        except OSError as error:
            raise EngineError(f"the output of {attempt} cannot be read: {error}") from error

    def forget(self, attempts: Sequence[Attempt]) -> None:
        self._check_ready()
        with self._lock, disk_trouble():
            for attempt in attempts:
                self._folder.remove(attempt)

    def close(self) -> None:
        self._ready, self._closed = False, True
        self._todo.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()

    def go_round(self, reading: bool = True) -> None:
        """Makes a round. Where it fails, `poll` raises what it was, and so does `reconcile`, until
        Slurm has been read again."""
        with self._rounds_lock:
            if not self._ready:
                return self._look_again()
            try:
                with disk_trouble():
                    self._folder.check(self._owner)
                    self._rounds.go_round(reading)
            except EngineError as error:
                self._failure = error
        return None

    def _look_again(self) -> None:
        """Looks whether Slurm answers again, where it did not."""
        if self._failure is None:
            return
        failure = None
        try:
            self._controller.read()
        except EngineError as error:
            failure = error
        with self._lock:
            self._failure = failure

    def _go_on(self) -> None:
        due = time.monotonic()
        while True:
            self._todo.wait(max(0.0, min(due, self._rounds.due()) - time.monotonic()))
            self._todo.clear()
            if self._closed:
                return
            if not self._begun:
                self._begin_late()
                due = time.monotonic() + self._every
                continue
            reading = time.monotonic() >= min(due, self._rounds.due())
            self.go_round(reading)
            if reading:
                due = time.monotonic() + pause(self._every, self._rounds.took)
            self._wake()

    def _check_ready(self) -> None:
        if not self._ready:
            raise EngineError("reconcile comes first")

    def _check_begun(self) -> None:
        if not self._begun:
            raise EngineError(str(self._failure))

    def _begin_late(self) -> None:
        """Reads for the first time, where slurmctld was away before."""
        try:
            self._begin()
            failure = None
        except FairleadError as error:
            failure = error if isinstance(error, EngineError) else EngineError(str(error))
        with self._lock:
            self._failure = failure
        self._wake()

    def _begin(self) -> None:
        """Reads for the first time. Raises EngineError, and InputError where there is no such
        partition."""
        allowed = self._rounds.allowance = self._allowance()
        self._every = max(self._every, allowed.requests.pause)
        picture = self._rounds.picture = self._controller.read()
        check_partition(picture, self._partition)
        if elder := self._rounds.adopted.elder(picture):
            raise InputError(
                elder, "stop one of the two; marks of one that is gone are taken off by hand"
            )
        self._begun = True
