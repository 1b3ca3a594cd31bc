"""Copies of a core, to try changes on."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fairlead.scheduling.core import Core
from fairlead.scheduling.dump import SCRATCH
from fairlead.scheduling.kernels.memory.codes import Full
from fairlead.scheduling.kernels.memory.state import FIELDS
from fairlead.scheduling.preemption.adapter import Stopping
from fairlead.scheduling.preemption.rule import Memory

_USED = {
    name: table
    for table, names in {
        "jobs": ("job", "demand", "needs", "prefers", "rank", "target", "runs"),
        "tenants": ("tenant", "limit", "used", "owed", "ending", "asides", "stints"),
        "tasks": ("task",),
        "nodes": ("node", "need", "terms"),
        "stakes": ("stake",),
    }.items()
    for name in names
}
"""Large arrays, and what counts how many of their rows were ever used."""

MOST_KEPT = 64 * 2**20
"""Bytes of a copy that is kept to be written over."""


@dataclass(frozen=True, eq=False)
class FrozenCore:
    """A core as it was at a moment. Freezing one costs little more than copying its arrays; `core`
    is built from them when it is first read, in any thread. `shared`: several read it."""

    _core: Core
    _memory: tuple[tuple[tuple[int, int], ...], Memory] | None
    shared: bool = False

    @property
    def size(self) -> int:
        """Bytes of its arrays."""
        return sum(getattr(self._core.state, name).nbytes for name in FIELDS)

    def has(self, job: str) -> bool:
        return job in self._core.ids.jobs

    @property
    def places(self) -> bool:
        """Whether it says itself where tasks start."""
        return self._core.placement.places

    @cached_property
    def core(self) -> Core:
        """A core that decides from now on what that one would."""
        core = self._core
        state, ids = core.state, core.ids
        state.grow(Full.OUT)  # makes the handle of the arrays as they are now
        ids.find_tasks(state)
        if self._memory is not None:
            assert core.options.preempt_after is not None  # it remembers for that
            core.stopping = Stopping(core.options.preempt_after)
            core.stopping.remember(*self._memory)
        return core


class Spares:
    """Copies that nobody needs any more, to be written over by the next ones. From any thread."""

    def __init__(self, most: int = 2) -> None:
        self._kept: deque[FrozenCore] = deque(maxlen=most)

    def pop(self) -> FrozenCore | None:
        """One that is nobody's now, if there is any."""
        with suppress(IndexError):
            return self._kept.pop()
        return None

    def put(self, copy: FrozenCore | None) -> None:
        """Who had it needs it no more."""
        if copy is not None and not copy.shared and copy.size <= MOST_KEPT:
            self._kept.append(copy)


def freeze(core: Core, into: FrozenCore | None = None, *, shared: bool = False) -> FrozenCore:
    """Freezes the core as it is now, between two of its decisions. `into`: a copy that nobody needs
    any more; its arrays are written over, as new ones cost several times as much, page by page.
    Those in which a decision works say nothing between two of them, and are not copied.
    `shared`: several will read it."""
    other, book, state = copy(core), copy(core.book), copy(core.state)
    mine = core.state.header[0]
    old = None if into is None else into._core.state  # noqa: SLF001  a copy of its own kind
    theirs = None if old is None else old.header[0].copy()  # it is written over too
    for name in FIELDS:
        array = getattr(core.state, name)
        rows = _used(name, mine, array)
        new = None if old is None else getattr(old, name)
        if new is None or new.shape != array.shape:
            new = np.zeros(array.shape, array.dtype)  # costs nothing where nothing is written
        else:
            # What decisions worked in is marked by their number, which may be that of one to come.
            _bytes(new[0 if name in SCRATCH else rows : _used(name, theirs, new)])[...] = 0
        if name not in SCRATCH:
            _bytes(new[:rows])[...] = _bytes(array[:rows])
        elif name == "line":
            new["search"][:rows] = 0  # no search of this core was there yet
        setattr(state, name, new)
    book.ids = core.ids.copy()
    book.state, book.rejected = state, list(core.book.rejected)
    book.labels = core.book.labels.copy()
    book.forget_sums()
    other.book, other.pending, other.checked = book, list(core.pending), False
    memory = None if core.stopping is None else core.stopping.memory()
    return FrozenCore(other, memory, shared)


def _used(name: str, header: Any, array: npt.NDArray[Any]) -> int:
    """How many rows of an array were ever used."""
    return int(header[_USED[name]]) if name in _USED else len(array)


def _bytes(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The rows as bytes, which are copied at once; records are copied field by field."""
    return rows.view(np.uint8) if rows.dtype.names else rows


def copy_core(core: Core) -> Core:
    """A core that decides from now on what this one would, and shares nothing with it that either
    changes."""
    return freeze(core).core
