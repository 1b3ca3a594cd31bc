"""The engine of a cluster of Slurm that is only observed: a thread reads it again and again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Event, Lock, Thread

from fairlead.engines.interface import (
    Assignment,
    Attempt,
    EngineError,
    Node,
    Output,
    Report,
    Stream,
)
from fairlead.engines.observing import Priority, View
from fairlead.engines.slurm.reading.commands import AwayError, ask, setting
from fairlead.engines.slurm.reading.priority import priority_of
from fairlead.engines.slurm.reading.reader import Ask, Reader, pause, processor_time
from fairlead.engines.slurm.reading.values import Picture
from fairlead.engines.slurm.viewing import SECOND, Viewer
from fairlead.model.errors import FairleadError, InputError
from fairlead.model.words import timespan


class Observer:
    """Reads the cluster each `every` microseconds, in a thread of its own, and launches nothing.
    The first reading is made at once: raises EngineError and InputError where it cannot be. Where
    slurmctld is only away it is waited for, and until then the cluster is that of this `identity`.
    """

    name = "slurm"

    def __init__(
        self,
        every: int,
        asked: Ask = ask,
        cluster: Callable[[], str] = lambda: "",
        identity: str | None = None,
        viewer: Viewer | None = None,
    ) -> None:
        self._every, self._reader, self._cluster = every / SECOND, Reader(asked), cluster
        self._viewer = viewer or Viewer()
        self._lock = Lock()
        self._todo, self._closed = Event(), False
        self._wake: Callable[[], None] = lambda: None
        self._noted: set[str] = set()
        self._faults: list[str] = []
        self._failure: FairleadError | None = None
        self.identity, self._fresh = identity or "", False
        self._view: View | None = None
        self._nodes: Sequence[Node] = ()
        try:
            self.identity = self._meet()
            self._take(self._read())
        except AwayError as error:
            self._failure = error
        self._thread = Thread(target=self._go_on, name="slurm", daemon=True)
        self._thread.start()

    def view(self) -> View | None:
        with self._lock:
            if self._failure is not None and self._view is not None:
                age = timespan(max(0.0, time.time() - self._view.time / SECOND))
                raise EngineError(f"{self._failure}; what is shown is {age} old")
            self._check_met()
            if not self._fresh or self._view is None:
                return None
            self._fresh = False
            self._nodes = self._view.nodes
            return self._view

    def nodes(self) -> Sequence[Node]:
        with self._lock:
            self._check_met()
            return self._nodes

    def listen(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def take_faults(self) -> Sequence[str]:
        with self._lock:
            faults, self._faults = self._faults, []
        return faults

    def knows(self, identity: str | None) -> bool:
        return identity == self.identity

    def reconcile(self, expected: Sequence[Assignment], owner: int = 0) -> Sequence[Attempt]:  # noqa: ARG002  nothing was launched
        return ()

    def poll(self) -> Sequence[Report]:
        return ()

    def launch(self, batch: Sequence[Assignment]) -> None:
        raise EngineError(f"{len(batch)} tasks were to be launched on a cluster that is observed")

    def acknowledge(self, reports: Sequence[Report]) -> None:
        pass

    def cancel(self, batch: Sequence[Attempt]) -> None:
        pass

    def output(self, attempt: Attempt, stream: Stream, offset: int, most: int) -> Output:  # noqa: ARG002  Slurm has it
        return Output(b"", 0, 0, over=True)

    def priority(self, job: str) -> Priority:
        return priority_of(job)

    def forget(self, attempts: Sequence[Attempt]) -> None:
        pass

    def close(self) -> None:
        self._closed = True
        self._todo.set()
        self._thread.join()

    def _meet(self) -> str:
        """Finds out what is to be known before the first reading; the cluster's identity. Raises
        EngineError and InputError."""
        return f"slurm:{self._cluster()}"

    def _check(self, picture: Picture) -> None:
        """Raises InputError where the first picture is of no cluster that this can be done on."""

    def _meet_late(self) -> None:
        """The same, where slurmctld was away at first and the cluster was taken for another's."""
        found = self._meet()
        if self.identity not in ("", found):
            raise InputError(
                f"the journal is of {self.identity!r}, and this is {found!r}",
                "name another state folder with --state, or that cluster with SLURM_CONF",
            )
        self.identity = found

    def _check_met(self) -> None:
        if self._view is None and self._failure is not None:
            raise EngineError(str(self._failure))

    def _take(self, view: View) -> None:
        if self._view is None:
            self._nodes = view.nodes
        self._view, self._fresh = view, True

    def _read(self) -> View:
        """Raises EngineError and InputError."""
        picture = self._reader.read()
        if self._view is None:
            self._check(picture)
        view = self._viewer.view(picture, int(time.time() * SECOND))
        news = [note for note in view.notes if note not in self._noted]
        self._noted = set(view.notes)
        with self._lock:
            self._faults += news
        return view

    def _go_on(self) -> None:
        due = time.monotonic() + self._every
        while not self._closed:
            if self._todo.wait(max(0.0, due - time.monotonic())):
                self._todo.clear()
                self._act()
                continue
            began = processor_time()
            view, failure = None, None
            try:
                if self._view is None:
                    self._meet_late()
                view = self._read()
            except FairleadError as error:
                failure = error
            due = time.monotonic() + pause(self._every, processor_time() - began)
            with self._lock:
                self._failure = failure
                if view is not None:
                    self._take(view)
            self._wake()

    def _act(self) -> None:
        """Does what there is to do between two readings: nothing, where it only observes."""


def cluster_name() -> str:
    """The name of the cluster. Raises EngineError and InputError."""
    return setting("ClusterName")
