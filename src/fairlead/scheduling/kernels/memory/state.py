"""The state of the online core: its tables in one structured record, and how they grow.

A kernel never makes a table larger. It says which one it found full, and changed nothing then;
`State.grow` makes that one larger, and the kernel is called again.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from numba import types
from numba.experimental import structref

from fairlead.compiling import kernel
from fairlead.scheduling.kernels.memory.briefs import briefs_of
from fairlead.scheduling.kernels.memory.codes import Full
from fairlead.scheduling.kernels.memory.lines import CACHE_LINE
from fairlead.scheduling.kernels.memory.records import RecordType, define_boxing, fill, register
from fairlead.scheduling.kernels.memory.spots import pair, spot
from fairlead.scheduling.kernels.memory.tables import (
    BLOCK,
    FLOATS,
    GRADES,
    INTS,
    LISTS,
    NEVER,
    NONE,
    PIECES,
    RESOURCES,
    ROWS,
    SETS,
    TABLES,
    UPS,
    WORD,
    WORDS,
)
from fairlead.scheduling.transitions import HELD, MachineState

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
int64: Any = np.int64
"""To mypy, what it makes may stand where an int is wanted, as it may in a kernel."""
Records = Any
"""An array of records: the type checker does not see their fields."""


@register
class StateType(RecordType):
    """The type of the record that kernels get."""


class Proxy(structref.StructRefProxy):  # type: ignore[misc]  # Numba has no types
    """The record as Python holds it, which sees nothing of it."""


define_boxing(StateType, Proxy)

NODES = ("node", "need", "terms", "line", "front")
"""The arrays that have as many rows as there are nodes."""

Handle = Any
"""The record as kernels get it: its fields are known to Numba alone."""

THERE = (MachineState.UP, MachineState.DRAINING)
"""A machine in one of these states is there."""
FIELDS = (*TABLES, *INTS, *WORDS, *LISTS, *FLOATS, *SETS)
STATE = StateType(
    [(name, numba.from_dtype(dtype)[::1]) for name, dtype in TABLES.items()]
    + [(name, types.int64[:, ::1]) for name in INTS]
    + [(name, types.uint64[:, ::1]) for name in WORDS]
    + [(name, types.int64[::1]) for name in LISTS]
    + [(name, types.float64[::1]) for name in FLOATS]
    + [(name, types.uint64[:, :, ::1]) for name in SETS]
)


@kernel
def _handle(arrays: Any) -> Any:
    """A record of these arrays, in the order of `FIELDS`."""
    s: Any = structref.new(STATE)
    fill(s, arrays)
    return s


def _zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """An array of zeros that begins where a line of the processor's cache does: a node is one
    line, and what is read at random is read by lines."""
    size = prod(shape) * dtype.itemsize
    room = np.zeros(size + CACHE_LINE, np.uint8)
    first = -room.ctypes.data % CACHE_LINE
    return room[first : first + size].view(dtype).reshape(shape)


def _grade(amounts: Ints) -> Ints:
    """Of each amount what `places.grade` says of one."""
    grades = (amounts.astype(np.float64).view(np.int64) >> 50) - 4091
    return np.where(amounts > 0, grades, 0)


class State:
    """The tables as Python holds them: arrays as attributes, and `handle`, what kernels get.

    `units[r]` is how many units a piece of resource r has, 0 where it does not come in pieces.
    """

    handle: Handle

    def __init__(self, units: Sequence[int], *, rows: int = 64) -> None:
        resources, devices = len(units), sum(size > 0 for size in units)
        for name, dtype in TABLES.items():
            setattr(self, name, np.zeros(1 if name == "header" else rows, dtype))
        width = dict.fromkeys(INTS, resources) | {"rank": 1, "target": 1, "runs": 1, "spots": 2}
        width |= dict.fromkeys(WORDS, 1) | {"piece": PIECES if devices else 1}
        for name in INTS + WORDS:
            setattr(
                self, name, np.zeros((rows, width[name]), np.int64 if name in INTS else np.uint64)
            )
        for name in LISTS:
            setattr(self, name, np.zeros(rows, np.int64))
        for name in FLOATS:
            setattr(self, name, np.zeros(rows, np.float64))
        self.unit = np.array(units, np.int64)
        each = PIECES // max(devices, 1)
        self.column = np.cumsum([0, *(each * (size > 0) for size in units)])[:-1].astype(np.int64)
        self.most_pieces = each
        self.have = np.zeros(resources, np.int64)
        self.satisfied = np.zeros(64, np.int64)
        header = self.header[0]
        lists = ("free_job", "free_tenant", "free_task", "free_node", "free_stake", "gangs")
        for name in (*lists, "root", "first"):
            header[name] = NONE
        for name in ("reserve_after", "reserve_for", "lapse", "rest", "look_at"):
            header[name] = NEVER
        header["picky"] = header["leveled"] = 1
        self._resize_nodes(4 * rows)
        self._make_sets()
        self._count_spots()
        self._renew()

    header: Records
    machine: Records
    job: Records
    tenant: Records
    task: Records
    node: Records
    stake: Records
    out: Records
    alarm: Records
    line: Records
    front: Records
    capacity: Ints
    free: Ints
    room: Ints
    piece: Ints
    grades: Ints
    before: Ints
    demand: Ints
    limit: Ints
    owed: Ints
    ending: Ints
    used: Ints
    need: Ints
    rank: Ints
    target: Ints
    runs: Ints
    satisfies: Words
    needs: Words
    prefers: Words
    terms: Words
    dirty: Ints
    asides: Ints
    stints: Ints
    unset: Ints
    near: Ints
    near_room: Ints
    near_lacking: Ints
    asked: Ints
    fits: Ints
    scarcity: Ints
    have: Ints
    largest: Ints
    satisfied: Ints
    spots: Ints
    score: npt.NDArray[np.float64]
    sets: Words

    @property
    def resources(self) -> int:
        return len(self.unit)

    @property
    def words(self) -> int:
        """How many words of 64 terms each machine and job has."""
        return self.needs.shape[1]

    def grow(self, full: int, rows: int = 0) -> None:
        """Make the table larger that a kernel found full: twice as large, or `rows` if more."""
        table = Full(full).name.lower().rstrip("s")
        new = max(2 * len(getattr(self, table)), rows)
        for name in (table, *ROWS[table]):
            self._resize(name, new)
        if table == "machine":
            self._make_sets()
        if table == "task":
            self._count_spots()
        if table in ("job", "tenant"):
            # Each active job and each active tenant has a leaf, and a node above it.
            self._resize_nodes(2 * (len(self.job) + len(self.tenant)))
        self._renew()

    def widen(self, words: int) -> None:
        """Make room for 64 * `words` terms."""
        for name in WORDS:
            array = getattr(self, name)
            wider = np.zeros((len(array), words), np.uint64)
            wider[:, : array.shape[1]] = array
            setattr(self, name, wider)
        self.satisfied = np.concatenate(
            [self.satisfied, np.zeros(64 * words - len(self.satisfied), np.int64)]
        )
        self._make_sets()
        self._count_spots()
        self.node["word"] = self.terms[:, 0]
        self.node["brief"] = briefs_of(self.need)
        self.header[0]["changed"] = self.machine["changed"].sum()
        self._renew()

    def advise(self, groups: int) -> None:
        """Forget all advice, and make room for that on so many groups of machines."""
        for name in ("rank", "target", "runs"):
            setattr(self, name, np.zeros((len(self.job), max(groups, 1)), np.int64))
        self.header[0]["groups"] = groups
        self._renew()

    def set_term(self, term: int, holders: Bools) -> None:
        """From now on the machines in these slots (machines,), and no others, satisfy the term."""
        word, bit = term // 64, np.uint64(1) << np.uint64(term % 64)
        column = self.satisfies[: len(holders), word]
        column[...] = np.where(holders, column | bit, column & ~bit)
        state = self.machine["state"][: len(holders)]
        there = (state == THERE[0]) | (state == THERE[1])
        self.satisfied[term] = int((holders & there).sum())
        self._set_rows(RESOURCES + GRADES * self.resources + term, holders[None])

    def _resize(self, name: str, rows: int) -> None:
        array = getattr(self, name)
        larger = _zeros((rows, *array.shape[1:]), array.dtype)
        larger[: len(array)] = array
        setattr(self, name, larger)

    def _resize_nodes(self, nodes: int) -> None:
        for name in NODES:
            self._resize(name, nodes)
        # As many stakes: two of each active job and each active tenant. Few are in use.
        larger = _zeros((nodes,), self.stake.dtype)
        used = int(self.header[0]["stakes"])
        larger[:used] = self.stake[:used]
        self.stake = larger

    def _count_spots(self) -> None:
        """The held tasks of jobs that spread, counted anew."""
        self.spots = np.zeros((len(self.task) // 2, 2), np.int64)
        held = self.task[np.isin(self.task["state"], HELD)]
        held = held[self.job["spread"][held["job"]] == 1]
        at = spot(held["job"], held["machine"], len(self.spots))
        np.add.at(self.spots[:, 0], at, 1)
        np.bitwise_xor.at(self.spots[:, 1], at, pair(held["job"], held["machine"]))

    def _make_sets(self) -> None:
        """The sets of machines, anew."""
        machines = len(self.machine)
        rows = RESOURCES + GRADES * self.resources + WORD * self.words
        blocks = -(-machines // (BLOCK * WORD))
        self.sets = np.zeros((blocks, rows, BLOCK), np.uint64)
        self.asked = np.zeros(1 + self.resources + 2 * WORD * self.words, np.int64)
        self.largest = self.capacity.max(axis=0)
        up = self.machine["state"] == MachineState.UP
        self.grades = np.where(up[:, None], _grade(self.room), 0)
        self._set_rows(UPS, up[None])
        row = RESOURCES
        for r in range(self.resources):
            self._set_rows(row, np.arange(GRADES)[:, None] < self.grades[:, r])
            row += GRADES
        for i in range(self.words):
            bits = self.satisfies[:, i, None].view(np.uint8)  # (machines, 8)
            self._set_rows(row, np.unpackbits(bits, axis=1, bitorder="little").T == 1)
            row += WORD

    def _set_rows(self, row: int, there: Bools) -> None:
        """From this row on, the sets with these machines (sets, machines), and no others."""
        blocks, wide = len(self.sets), BLOCK * WORD
        bits = np.zeros((len(there), blocks * wide), np.bool_)
        bits[:, : there.shape[1]] = there
        words = np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64)
        self.sets[:, row : row + len(there)] = words.reshape(-1, blocks, BLOCK).swapaxes(0, 1)

    def _renew(self) -> None:
        """The handle, anew, of the arrays as they are now."""
        self.handle = _handle(tuple(getattr(self, name) for name in FIELDS))
