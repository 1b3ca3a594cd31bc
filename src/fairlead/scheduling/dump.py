"""A core as bytes, and back: the same digest, and the same decisions from then on.

The bytes say what they hold: arrays by name with their types and shapes, all else as JSON. Reading
them runs nothing of what they say. A dump of an older version that lacks an array or a field gets
what a new core has there; what older versions had and this one has not is passed over by its name,
and a dump that has more than is known is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from fairlead.model.alike import jobs_of, plain_jobs
from fairlead.model.constraint import Operator, Requirement
from fairlead.model.errors import InputError
from fairlead.model.json_parts import json_parts
from fairlead.model.plain import kept_job_of, machine_of, plain_machine, plain_tenant, tenant_of
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Decision, Launch, Reject, Stop
from fairlead.scheduling.kernels.change.counts import plant
from fairlead.scheduling.kernels.change.limits import ease_all
from fairlead.scheduling.kernels.memory.state import FIELDS, State
from fairlead.scheduling.kernels.memory.tables import NONE, ROWS, TABLES
from fairlead.scheduling.options import Options
from fairlead.scheduling.preemption.rule import Memory
from fairlead.scheduling.state.ids import Ids, Unit
from fairlead.scheduling.state.rows import are_reserved
from fairlead.scheduling.state.terms import Listed, NotListed, Term
from fairlead.sharing.rules.spec import read

VERSION = 2

READ = (1, VERSION)
"""Versions that are read. Of 1, each job is written by itself."""

START = b"fairlead core\n"
DTYPES = ("|i1", "<i4", "<i8", "<u8", "<f8")

SCRATCH = {
    "line": "node",
    "front": "node",
    "near": "machine",
    "near_room": "machine",
    "near_lacking": "machine",
    "fits": "machine",
    "score": "machine",
}
"""Arrays in which a decision works, each with the one that is as long. They say nothing between two
decisions, so they are not written, and are made anew."""

REMADE = ("sets", "grades", "asked", "largest", "spots", "scarcity")
"""Arrays that follow from others, or are as long as these: `State.widen` makes them anew, and the
book what follows from labels."""

LEFT_OUT = (*SCRATCH, *REMADE)
"""Arrays that are not written."""

WRITTEN = {"header": "whole"}
"""Tables that dumps have under another name."""

RETIRED = (
    *("heap", "best", "stamp", "key", "tree_room", "tree_terms", "near_terms", "brief", "lacking"),
    "stack",
    *("whole.mark", "machine.mark", "tenant.effective", "tenant.offset", "tenant.rate", "node.seq"),
    *("whole.floors", "tenant.floor", "tenant.least"),
    *("tenant.past", "tenant.past_bound", "tenant.past_bounded", "eased"),
)
"""Arrays and fields that older versions wrote and nothing reads any more."""

Array = npt.NDArray[Any]
Tree = dict[str, Any]


@dataclass(frozen=True)
class Dump:
    """A core as it was at one moment; what happens to the core later does not change it.

    Taking one costs little more than copying the arrays; `written` costs more, and may run in
    another thread."""

    arrays: Mapping[str, Array]
    ids: Ids
    plain: Tree

    def encode(self) -> bytes:
        """The bytes: the same of equal cores that were told the same."""
        columns = [
            (name, column) for table in self.arrays for name, column in _columns(table, self.arrays)
        ]
        kept = [_without_zeros(column) for _, column in columns]
        ids = self.ids
        kinds, works = plain_jobs(ids.job_at.values())
        header = {
            "version": VERSION,
            "arrays": [
                [name, column.dtype.newbyteorder("<").str, list(column.shape), len(rows)]
                for (name, column), rows in zip(columns, kept, strict=True)
            ],
            "machines": [[m, plain_machine(each)] for m, each in ids.machine_at.items()],
            "kinds": kinds,
            "jobs": [[j, *work] for j, work in zip(ids.job_at, works, strict=True)],
            "tenants": [[t, plain_tenant(each)] for t, each in ids.tenant_at.items()],
            "terms": [
                [_plain_term(term), bit, ids.term_users[term]] for term, bit in ids.terms.items()
            ],
            "free_terms": ids.free_terms,
            **self.plain,
        }
        text = json_parts(header, sort_keys=True)
        blobs = [np.ascontiguousarray(rows, _little(rows)).tobytes() for rows in kept]
        return b"".join([START, len(text).to_bytes(8, "little"), text, *blobs])


def take(core: Core) -> Dump:
    """The core as it is now, between two of its decisions."""
    book, stopping = core.book, None
    if core.stopping is not None:
        slots, memory = core.stopping.memory()
        stopping = {name: getattr(memory, name) for name in Memory.__dataclass_fields__}
        stopping["slots"] = slots
    return Dump(
        {name: getattr(core.state, name).copy() for name in FIELDS if name not in LEFT_OUT},
        core.ids.copy(),
        {
            "policy": book.scaler.spec,
            "placement": core.placement.name,
            "options": core.options.plain(),
            "units": [[unit.name, str(unit.unit), unit.piece] for unit in core.ids.units],
            "stopping": stopping,
            "pending": [_plain_decision(each) for each in core.pending],
            "rejected": [list(each) for each in book.rejected],
            "stale": book.stale,
            "pools_changed": book.pools_changed,
        },
    )


def dump(core: Core) -> bytes:
    return take(core).encode()


def load(data: bytes, core: Core | None = None) -> Core:
    """The core of these bytes. Raises InputError where they are no dump, or one that this version
    does not know.

    `core`: a new one, made as the one that was dumped was, which is filled. It is needed where the
    policy or the rule is one's own, in a file: such files are run, and a dump never makes them."""
    header, columns = _read(data)
    try:
        if core is None:
            core = _build_core(header)
        _same_kind(header, core)
        state = core.state
        _fill_state(state, columns)
        _fill_ids(core.ids, header, state)
        core.pending[:] = [_decision(each) for each in header["pending"]]
        book = core.book
        book.rejected[:] = [(str(name), str(reason)) for name, reason in header["rejected"]]
        book.stale, book.pools_changed = header["stale"], header["pools_changed"]
        stopping = header["stopping"]
        if core.stopping is not None:
            slots = [(seq, j) for seq, j in stopping.pop("slots")]
            pairs: Tree = {
                name: value if name == "now" else tuple(map(tuple, value))
                for name, value in stopping.items()
            }
            core.stopping.remember(slots, Memory(**pairs))
        state.scarcity = np.zeros(len(state.machine), np.int64)
        known = range(len(state.machine))
        for m, machine in core.ids.machine_at.items():
            book.labels.put(known[m], machine.labels)
        book.find_scarcity()
        state.widen(state.words)  # makes what follows from the arrays; kernels see them as they are
        if "job.turn" not in columns:
            state.job["turn"] = state.job["seq"]
            state.header["turns"] = state.header["job_seq"]
        if "machine.wanted" not in columns:
            state.machine["wanted"] = are_reserved(state)  # whole machines, before
        if "tenant.aside" not in columns:
            state.tenant["aside"] = NONE
        if "owed" not in columns:
            ease_all(state.handle)
        if "job.gang_next" not in columns:
            _list_gangs(state)
        if "stake.lower" not in columns:
            plant(state.handle)  # an older version had one trie of all tenants, or other stakes
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise _refused(f"it does not fit together ({type(error).__name__}: {error})") from error
    return core


# Arrays


def _columns(table: str, arrays: Mapping[str, Array]) -> list[tuple[str, Array]]:
    """An array of records as one array a field, any other as it is."""
    array = arrays[table]
    if array.dtype.names is None:
        return [(table, array)]
    written = WRITTEN.get(table, table)
    return [(f"{written}.{name}", array[name]) for name in array.dtype.names]


def _little(array: Array) -> np.dtype[Any]:
    return array.dtype.newbyteorder("<")


def _without_zeros(array: Array) -> Array:
    """The array without the rows at its end that are all zero."""
    rows = array.reshape(len(array), -1).any(axis=1) if array.ndim > 1 and array.size else array
    some = np.flatnonzero(rows)
    return array[: int(some[-1]) + 1 if some.size else 0]


def _read(data: bytes) -> tuple[Tree, dict[str, Array]]:
    if not data.startswith(START):
        raise _refused("it does not begin as one")
    place = len(START) + 8
    length = int.from_bytes(data[len(START) : place], "little")
    try:
        header = json.loads(data[place : place + length])
        version = header["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise _refused("what it says of itself cannot be read") from error
    if version not in READ:
        raise _refused(f"its version is {version}, known is {VERSION}", "use the newer Fairlead")
    place += length
    columns: dict[str, Array] = {}
    try:
        for name, dtype, shape, rows in header["arrays"]:
            if dtype not in DTYPES or any(type(n) is not int or n < 0 for n in (*shape, rows)):
                raise _refused(f"it has an array {name} of {dtype} {shape}")
            kept = (rows, *shape[1:])
            array = np.frombuffer(data, dtype, count=prod(kept), offset=place)
            place += array.nbytes
            if rows < shape[0]:
                full = np.zeros(shape, dtype)
                full[:rows] = array.reshape(kept)
                columns[name] = full
            else:
                columns[name] = array.reshape(kept)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise _refused("its arrays are not those that it says") from error
    if place != len(data):
        raise _refused("it has not the length that it says")
    return header, columns


def _fill_state(state: State, columns: Mapping[str, Array]) -> None:
    tables = {table: WRITTEN.get(table, table) for table in TABLES if table not in LEFT_OUT}
    known = {f"{tables[table]}.{name}" for table in tables for name in TABLES[table].names or ()}
    known |= {name for name in FIELDS if name not in TABLES and name not in LEFT_OUT}
    old = {name for name in columns if name in RETIRED or name.partition(".")[0] in SCRATCH}
    strange = next((name for name in columns if name not in known | old), None)
    if strange is not None:
        raise _refused(f"it has {strange}, which is not known", "use the newer Fairlead")
    first = {table: f"{tables[table]}.{TABLES[table].names[0]}" for table in tables}  # type: ignore[index]  # records have names
    if first["stake"] not in columns:
        first["stake"] = first["node"]  # an older version: there are as many as nodes
    rows = {table: len(columns[name]) for table, name in first.items()}
    parent = {name: table for table, names in ROWS.items() for name in names}
    for table, count in rows.items():
        fresh = getattr(state, table)
        array = np.zeros(count, fresh.dtype)
        if table == "header":
            array[:] = fresh  # a new field begins as it does in a new core
        for name in fresh.dtype.names:
            column = columns.get(f"{tables[table]}.{name}")
            if column is not None:
                array[name] = column
        setattr(state, table, array)
    for name in FIELDS:
        if name in TABLES or name in LEFT_OUT:
            continue
        fresh = getattr(state, name)
        column = columns.get(name)
        if column is None:
            count = rows[parent[name]] if name in parent else len(fresh)
            column = np.zeros((count, *fresh.shape[1:]), fresh.dtype)
        if column.ndim != fresh.ndim:
            raise _refused(f"its array {name} has {column.ndim} dimensions")
        if name in ("unit", "column") and not np.array_equal(column, fresh):
            raise _refused(f"its {name} is that of other resources")
        setattr(state, name, np.array(column, fresh.dtype, order="C"))
    for name, like in SCRATCH.items():
        fresh = getattr(state, name)
        setattr(state, name, np.zeros((len(getattr(state, like)), *fresh.shape[1:]), fresh.dtype))


def _list_gangs(state: State) -> None:
    """An older version had no list of the active gangs."""
    job = state.job
    active = np.flatnonzero((job["used"] == 1) & (job["active"] == 1) & (job["gang"] > 1))
    job["gang_next"] = job["gang_before"] = NONE
    job["gang_next"][active[:-1]] = active[1:]
    job["gang_before"][active[1:]] = active[:-1]
    state.header["gangs"] = active[0] if len(active) else NONE


# Names


def _fill_ids(ids: Ids, header: Tree, state: State) -> None:
    ids.machine_at.update((m, machine_of(tree)) for m, tree in header["machines"])
    if header["version"] == 1:
        ids.job_at.update((j, kept_job_of(tree)) for j, tree in header["jobs"])
    else:
        jobs = jobs_of(header["kinds"], [work for _, *work in header["jobs"]])
        ids.job_at.update(zip((j for j, *_ in header["jobs"]), jobs, strict=True))
    for t, tree in header["tenants"]:
        ids.add_tenant(t, tenant_of(tree))
    ids.machines.update((each.name, m) for m, each in ids.machine_at.items())
    ids.jobs.update((each.name, j) for j, each in ids.job_at.items())
    for tree, bit, users in header["terms"]:
        term = _term(tree)
        ids.terms[term] = bit
        ids.term_users[term] = users
    ids.free_terms += header["free_terms"]
    ids.find_tasks(state)


def _plain_term(term: Term) -> Tree:
    match term:
        case Listed(machines):
            return {"listed": sorted(machines)}
        case NotListed(machines):
            return {"not_listed": sorted(machines)}
        case _:
            return {"key": term.key, "operator": term.operator.value, "values": list(term.values)}


def _term(tree: Tree) -> Term:
    if "listed" in tree:
        return Listed(frozenset(tree["listed"]))
    if "not_listed" in tree:
        return NotListed(frozenset(tree["not_listed"]))
    return Requirement(tree["key"], Operator(tree["operator"]), tree["values"])


# What the core was made with, and what it is about to say


def _build_core(header: Tree) -> Core:
    """A new core, of the kind that was dumped."""
    policy, placement = header["policy"], header["placement"]
    if ":" in placement or (policy != "fifo" and read(policy).file):
        raise _refused(
            f"its policy is {policy} and its placement rule {placement}, of a file",
            "make a core with them, and load into that",
        )
    units = [Unit(name, Fraction(unit), piece) for name, unit, piece in header["units"]]
    return Core(units, policy, placement, Options.of(header["options"]))


def _same_kind(header: Tree, core: Core) -> None:
    mine = take(core).plain
    said = header | {"options": Options.of(header["options"]).plain()}
    for name in ("policy", "placement", "options", "units"):
        if mine[name] != said[name]:
            raise _refused(
                f"its {name} is {said[name]}, and this core's is {mine[name]}",
                "make the core as it was made",
            )
    if core.now or core.ids.machine_at or core.ids.tenant_at or core.ids.job_at:
        raise _refused("the core to load into is not a new one", "make a new one")


def _plain_decision(decision: Decision) -> list[object]:
    match decision:
        case Launch(job, task, machine, attempt, pieces):
            return ["launch", job, task, machine, attempt, [list(each) for each in pieces]]
        case Stop(job, task, machine, attempt):
            return ["stop", job, task, machine, attempt]
        case Reject(job, reason):
            return ["reject", job, reason]


def _decision(tree: Sequence[Any]) -> Decision:
    match tree:
        case ["launch", job, task, machine, attempt, pieces]:
            return Launch(job, task, machine, attempt, tuple((name, i) for name, i in pieces))
        case ["stop", job, task, machine, attempt]:
            return Stop(job, task, machine, attempt)
        case ["reject", job, reason]:
            return Reject(job, reason)
        case _:
            raise ValueError(f"{tree} is no decision")


def _refused(what: str, right: str = "take one that Fairlead wrote") -> InputError:
    return InputError(f"this is no dump of a core that can be read: {what}", right)
