"""How much memory tasks take, and which of them take more than they asked for."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from fairlead.engines.interface import Assignment, Attempt
from fairlead.engines.local.processes import Process, processes

INTERVAL = 1.0
"""Seconds between two looks, at least."""

PART = 20
"""A look may take one part in so many of the time."""

RESOURCE = "memory"
"""The resource whose amounts are bytes."""


class MemoryWatch:
    """Looks from time to time at what the processes of each task take."""

    def __init__(self, limit: bool) -> None:
        self._limit = limit
        self._next = 0.0
        self.sentence = (
            f"memory is looked at every {INTERVAL:g} s: a task that takes more than its demand is"
            " stopped"
            if limit
            else "memory is not limited"
        )

    def exceeded(self, running: Iterable[tuple[int, Assignment | None]]) -> list[Attempt]:
        """Those of the running attempts, given with the numbers of their shims, that take more
        memory than they asked for; none between two looks."""
        now = time.monotonic()
        if not self._limit or now < self._next:
            return []
        limits: dict[int, tuple[int, Attempt]] = {}
        for pid, assignment in running:
            limit = assignment.demand.get(RESOURCE) if assignment else None
            if limit and assignment:
                limits[pid] = (int(limit), assignment.attempt)
        found = []
        if limits:
            for pid, members in _members(limits).items():
                most, attempt = limits[pid]
                # Pages that processes share are counted in each of them at first, which is quick,
                # and in parts only where it matters.
                if (
                    sum(one.resident for one in members) > most
                    and sum(_proportional(one) for one in members) > most
                ):
                    found.append(attempt)
        end = time.monotonic()
        self._next = end + max(INTERVAL, PART * (end - now))
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
