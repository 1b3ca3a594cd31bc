"""The project's own trace format, fairlead.trace/1: its tables, and how fields are written."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.model.constraint import Requirement
from fairlead.model.errors import InputError, Mistake
from fairlead.model.selector_syntax import kept_selector
from fairlead.scheduling.state.terms import Listed, NotListed, Term
from fairlead.simulation.traces.tables import Column, Kind
from fairlead.simulation.workload import Ints, MachineEvent, Resource, Words

SCHEMA = "fairlead.trace/1"
DESCRIPTION = "trace.json"
"""The file that makes a directory a trace: resources, tenants, notes, options."""


class Form(Enum):
    """Forms of tables. The values are the endings of their names."""

    PARQUET = "parquet"
    CSV = "csv"


class TermKind(Enum):
    """Kinds of a term's text: a requirement on labels, a white list, a black list."""

    WHERE = "where"
    MACHINES = "machines"
    EXCLUDE = "exclude"


EVENTS = {"add": MachineEvent.ADD, "remove": MachineEvent.REMOVE, "update": MachineEvent.UPDATE}

MACHINES = (Column("machine", Kind.TEXT), Column("labels", Kind.TEXT))
TERMS = (
    Column("term", Kind.WHOLE),
    Column("kind", Kind.TEXT),
    Column("text", Kind.TEXT, required=False),  # an empty list of machines is an empty text
)
TASKS = (Column("job", Kind.WHOLE), Column("duration_us", Kind.WHOLE))


def machine_events(resources: Sequence[Resource]) -> tuple[Column, ...]:
    return (
        Column("time_us", Kind.WHOLE),
        Column("machine", Kind.TEXT),
        Column("event", Kind.TEXT),
        *(Column(f"capacity_{resource.name}", Kind.WHOLE) for resource in resources),
    )


def jobs(resources: Sequence[Resource]) -> tuple[Column, ...]:
    return (
        Column("name", Kind.TEXT, required=False),
        Column("submit_us", Kind.WHOLE),
        Column("tenant", Kind.TEXT, required=False),
        Column("tasks", Kind.WHOLE),
        *(Column(f"demand_{resource.name}", Kind.WHOLE) for resource in resources),
        Column("needs", Kind.TEXT, required=False),
        Column("prefers", Kind.TEXT, required=False),
        Column("patience_us", Kind.WHOLE, required=False),
        Column("spread", Kind.FLAG),
        Column("gang", Kind.WHOLE),
        Column("expected_us", Kind.WHOLE, required=False),
    )


ARROW = {Kind.WHOLE: pa.int64(), Kind.TEXT: pa.string(), Kind.FLAG: pa.bool_()}


def table_path(directory: Path, table: str, form: Form) -> Path:
    return directory / f"{table}.{form.value}"


def term_fields(term: Term) -> tuple[TermKind, str]:
    match term:
        case Listed(machines):
            return TermKind.MACHINES, ", ".join(sorted(machines))
        case NotListed(machines):
            return TermKind.EXCLUDE, ", ".join(sorted(machines))
        case _:
            return TermKind.WHERE, str(term)


def term_of(kind: str, text: str) -> Term:
    """The term that a row of the table means. Raises InputError."""
    if kind == TermKind.WHERE.value:
        found: tuple[Requirement, ...] = kept_selector(text).requirements
        if len(found) != 1:
            raise InputError(f"{text!r} holds {len(found)} requirements", "write one in each row")
        return found[0]
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    if kind == TermKind.MACHINES.value:
        return Listed(names)
    if kind == TermKind.EXCLUDE.value:
        return NotListed(names)
    known = ", ".join(kind.value for kind in TermKind)
    raise InputError(f"{kind!r} is no kind of term", f"write one of {known}")


def numbers_to_text(words: Words) -> pa.Array:
    """For each row of bits, the numbers of those that are set, as in `0 3 17`; null for none."""
    count = len(words)
    if not words.size:
        return pa.nulls(count, pa.string())
    octets = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
    row, number = np.nonzero(np.unpackbits(octets, axis=1, bitorder="little"))
    counts = np.bincount(row, minlength=count)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    lists = pa.ListArray.from_arrays(offsets, pc.cast(pa.array(number), pa.string()))
    joined = pc.binary_join(lists, " ")
    return pc.if_else(pa.array(counts > 0), joined, pa.scalar(None, pa.string()))


def numbers_from_text(texts: Sequence[str], codes: Ints, terms: int, name: str) -> Words:
    """The inverse of `numbers_written`: `codes` say which text a row has, -1: none. Raises
    InputError where a number is not that of a term."""
    width = -(-terms // 64)
    distinct = np.zeros((len(texts) + 1, width), dtype=np.uint64)  # the last: none
    if texts:
        lists = pc.split_pattern(pa.array(texts, pa.string()), " ")
        try:
            flat = np.asarray(pc.cast(lists.flatten(), pa.int64()))
        except pa.ArrowInvalid as error:
            raise InputError(_no_term(name, " ".join(str(error).split()), terms)) from error
        if len(flat) and (flat.min() < 0 or flat.max() >= terms):
            worst = int(flat.max()) if flat.max() >= terms else int(flat.min())
            raise InputError(_no_term(name, str(worst), terms))
        row = np.repeat(np.arange(len(texts)), np.diff(np.asarray(lists.offsets)))
        bit = np.left_shift(np.uint64(1), (flat % 64).astype(np.uint64))
        np.bitwise_or.at(distinct, (row, flat // 64), bit)
    return distinct[codes]


def _no_term(name: str, what: str, terms: int) -> Mistake:
    return Mistake(
        f"{name} names a term that is not there: {what}",
        f"the terms are numbered from 0 to {terms - 1}, and parted by one space",
    )


def null_where(values: Ints, missing: int) -> pa.Array:
    """The numbers, with null for those that mean nothing."""
    return pa.array(values, mask=values == missing)


def texts_of_codes(codes: Ints, texts: Sequence[str]) -> pa.Array:
    """The texts that the codes stand for; null for -1."""
    indices = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(texts, pa.string())).cast(pa.string())
