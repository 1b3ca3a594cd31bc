"""Finds tasks that take more memory than they asked for."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

from fairlead.engines.interface import Assignment, Attempt
from fairlead.engines.local.processes import Process, processes

INTERVAL = 1.0
"""Seconds between two looks, at least."""

PART = 20
"""A look may take one part in so many of a processor's time."""

RESOURCE = "memory"
"""The resource whose amounts are bytes."""

Limits = Mapping[int, tuple[int, Attempt]]
"""Bytes that each attempt may take, by the number of its shim."""


def limit_of(assignment: Assignment | None) -> int | None:
    """Bytes that a task may take; None: it asked for none, and none are counted."""
    amount = assignment.demand.get(RESOURCE) if assignment else None
    return int(amount) if amount else None


class MemoryWatch:
    """Looks from time to time at what the processes of each task take, in a thread of its own: with
    ten thousand tasks a look takes longer than anything else may wait. `wake` is called once it
    found something, and once it wants to know again what to look at."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[Limits | None] = SimpleQueue()
        self._found: SimpleQueue[tuple[Attempt, int]] = SimpleQueue()
        self._thread: Thread | None = None
        self._due = True
        self.wake: Callable[[], None] = lambda: None

    def due(self) -> bool:
        """Whether it wants to know again what to look at."""
        return self._due

    def look(self, limits: Limits) -> None:
        self._due = False
        if self._thread is None:
            self._thread = Thread(target=self._work, name="fairlead-memory", daemon=True)
            self._thread.start()
        self._asked.put(limits)

    def take_exceeding(self) -> Iterator[tuple[Attempt, int]]:
        """The attempts that were seen to take more memory than they asked for, and the bytes that
        they took."""
        with contextlib.suppress(Empty):
            while True:
                yield self._found.get_nowait()

    def close(self) -> None:
        if self._thread is not None:
            self._asked.put(None)
            self._thread.join()
            self._thread, self._due = None, True

    def _work(self) -> None:
        while (limits := self._asked.get()) is not None:
            begin = time.thread_time()
            found = above(limits)
            for one in found:
                self._found.put(one)
            if found:
                self.wake()
            took = time.thread_time() - begin
            try:
                if self._asked.get(timeout=max(INTERVAL, PART * took)) is None:
                    return
            except Empty:  # until it is due only `close` asks for something
                self._due = True
                self.wake()


def above(limits: Limits) -> list[tuple[Attempt, int]]:
    """Those that take more memory than their limits now, and the bytes that they take."""
    found = []
    for shim, members in _members(limits).items():
        most, attempt = limits[shim]
        # Pages that processes share are counted in each of them at first, which is quick, and in
        # parts only where it matters.
        if sum(one.resident for one in members) > most:
            used = sum(_proportional(one) for one in members)
            if used > most:
                found.append((attempt, used))
    return found


def _members(shims: Iterable[int]) -> dict[int, list[Process]]:
    """The processes of each of these shims: of its session, or below one of these."""
    found = {one.pid: one for one in processes() if not one.zombie}
    owners: dict[int, int | None] = dict.fromkeys(shims)
    members: dict[int, list[Process]] = {shim: [] for shim in owners}
    owners.update({shim: shim for shim in members})
    for one in found.values():
        path = []
        here: Process | None = one
        while here is not None and here.pid not in owners and here.session not in members:
            path.append(here.pid)
            here = found.get(here.parent)
        if here is None:
            shim = None
        elif here.pid in owners:
            shim = owners[here.pid]
        else:
            shim = here.session
        owners.update(dict.fromkeys(path, shim))
        if shim is not None:
            members[shim].append(one)
    return members


def _proportional(one: Process) -> int:
    """Bytes of a process, of what it shares its part; what is resident where that is not shown."""
    try:
        text = Path(f"/proc/{one.pid}/smaps_rollup").read_text()
    except ProcessLookupError:
        return 0  # it has ended
    except OSError:
        return one.resident
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return one.resident
