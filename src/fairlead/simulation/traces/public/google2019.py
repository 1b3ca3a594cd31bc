"""Google's cluster trace of May 2019: a sample of its instance_events."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fairlead.model.constraint import Operator, Requirement
from fairlead.model.errors import InputError
from fairlead.scheduling.state.terms import Term
from fairlead.simulation.traces.build import bits, no_machines, workload_of
from fairlead.simulation.traces.formats import Files, Format
from fairlead.simulation.traces.options import Option, Settings
from fairlead.simulation.traces.tables import (
    LARGEST,
    MISSING,
    Column,
    Kind,
    Layout,
    Vocabulary,
    read_rows,
)
from fairlead.simulation.workload import Bools, Ints, JobBatch, Resource, Workload, plain_batch

OPTIONS = (
    Option("missing-durations", "300s", "of every task: a sample of events has no durations"),
    Option("alloc-sets", "leave-out", "instances of alloc sets (reservations): or `keep`"),
    Option("lost-values", "leave-out", "a constraint whose value was lost; or the whole `task`"),
)

HEADER = (
    "row_id,time_us,event_type,collection_id,instance_index,collection_type,alloc_collection_id,"
    "machine_id,user,scheduling_class,priority,cpu_request,memory_request,start_time_us,"
    "end_time_us,constraint_attributes,constraint_relations,constraint_values"
)

UNIT = Fraction(1, 2**20)
"""The trace's requests are multiples of this part of the largest machine, written as doubles."""

_LAYOUT = Layout(
    (
        Column("time_us", Kind.WHOLE, clipped=True),
        Column("collection_id", Kind.WHOLE),
        Column("instance_index", Kind.WHOLE),
        Column("collection_type", Kind.WHOLE, most=1),
        Column("user", Kind.TEXT, required=False),
        Column("cpu_request", Kind.AMOUNT, required=False, unit=UNIT, binary=True),
        Column("memory_request", Kind.AMOUNT, required=False, unit=UNIT, binary=True),
        Column("constraint_attributes", Kind.TEXT, required=False),
        Column("constraint_relations", Kind.TEXT, required=False),
        Column("constraint_values", Kind.TEXT, required=False),
    )
)

_OPERATORS = {
    "0": Operator.EQUAL,
    "1": Operator.NOT_EQUAL,
    "2": Operator.LESS,
    "3": Operator.GREATER,
}
_LOST = "?"


def role(line: str) -> str | None:
    """Whether the header is that of the sample."""
    return "instance_events" if line == HEADER else None


def load(files: Files, options: Settings) -> Workload:
    """The workload: an instance is a task, those of a collection that are alike are a job."""
    duration = options.span("missing-durations")
    alloc_sets = options.choice("alloc-sets", ("leave-out", "keep"))
    lost = options.choice("lost-values", ("leave-out", "task"))
    texts = ("user", "constraint_attributes", "constraint_relations", "constraint_values")
    words = {name: Vocabulary() for name in texts}
    rows = read_rows(files["instance_events"], _LAYOUT, words)
    notes = [
        "this is a sample of events, not a workload: load and job sizes mean nothing in it",
        f"found {len(rows['time_us'])} events of {_collections(rows)} collections",
    ]
    rows = _instances(rows)
    notes.append(f"{len(rows['time_us'])} distinct instances; of each the first event counts")
    rows = _without(rows, rows["collection_type"] == 1, alloc_sets, "alloc-sets", "in them", notes)
    never = rows["time_us"] == LARGEST
    rows = _without(rows, never, "leave-out", "time", "that begin after the trace's end", notes)
    lacking = (rows["cpu_request"] == MISSING) | (rows["memory_request"] == MISSING)
    rows = _without(rows, lacking, "leave-out", "no demand", "without one", notes)
    terms, sets, of_set, lossy = _constraints(rows, words)
    notes.append(f"{int((rows['constraint_attributes'] != MISSING).sum())} have constraints")
    if lost == "task":
        kept = ~lossy
        of_set = of_set[kept]
        rows = {name: values[kept] for name, values in rows.items()}
    notes.append(
        f"lost-values={lost}: in {int(lossy.sum())} instances the sample lost a constraint's value;"
        f" {'the instance' if lost == 'task' else 'that constraint'} is left out"
    )
    jobs = _group_instances(rows, sets, of_set, len(terms), duration)
    notes += [
        f"missing-durations={options.values['missing-durations']}: assumed for every task",
        f"{int((rows['user'] == MISSING).sum())} instances have no user: their jobs are their own",
        "missing: machines and their attributes, so how restrictive a constraint is",
        (
            "not read: priorities, scheduling classes, what ended a task; times of 0 are from"
            " before the trace, and several cells are mixed"
        ),
    ]
    resources = (Resource("cpu", UNIT), Resource("memory", UNIT))
    users = words["user"].texts
    return workload_of(FORMAT.name, resources, no_machines(2), jobs, options, notes, users, terms)


def _collections(rows: dict[str, Ints]) -> int:
    return len(np.unique(rows["collection_id"]))


def _instances(rows: dict[str, Ints]) -> dict[str, Ints]:
    """The first event of each instance: the earliest, then the first in the file."""
    order = np.lexsort((rows["time_us"], rows["instance_index"], rows["collection_id"]))
    keys = np.stack((rows["collection_id"], rows["instance_index"]))[:, order]
    first = np.concatenate(([True], (keys[:, 1:] != keys[:, :-1]).any(axis=0)))
    return {name: values[order[first]] for name, values in rows.items()}


def _without(
    rows: dict[str, Ints],
    out: Bools,
    rule: str,
    name: str,
    what: str,
    notes: list[str],
) -> dict[str, Ints]:
    if rule == "keep" or not out.any():
        return rows
    notes.append(f"{name}={rule}: {int(out.sum())} instances {what} are left out")
    return {column: values[~out] for column, values in rows.items()}


def _constraints(
    rows: dict[str, Ints], words: dict[str, Vocabulary]
) -> tuple[
    tuple[Term, ...],
    list[list[int]],
    Ints,
    Bools,
]:
    """The terms; the distinct sets of them; each row's set; and which rows lost a value."""
    columns = [
        rows[name]
        for name in ("constraint_attributes", "constraint_relations", "constraint_values")
    ]
    distinct, which = np.unique(np.stack(columns), axis=1, return_inverse=True)
    tables = [words[name].texts for name in list(words)[1:]]
    terms: dict[Term, int] = {}
    sets: list[list[int]] = []
    lossy = []
    for codes in distinct.T.tolist():
        fields = [
            tables[place][code].split(";") if code != MISSING else []
            for place, code in enumerate(codes)
        ]
        if len({len(field) for field in fields}) > 1:
            raise InputError(
                f"a constraint has {len(fields[0])} attributes, {len(fields[1])} relations and"
                f" {len(fields[2])} values",
                "write as many of each",
            )
        found: dict[int, None] = {}
        for attribute, relation, value in zip(*fields, strict=True):
            if relation not in _OPERATORS:
                raise InputError(
                    f"{relation!r} is no relation of a constraint", "write 0, 1, 2 or 3"
                )
            if value != _LOST:
                term = Requirement(attribute, _OPERATORS[relation], (value,))
                found[terms.setdefault(term, len(terms))] = None
        sets.append(sorted(found))
        lossy.append(_LOST in fields[2])
    return tuple(terms), sets, which, np.array(lossy, dtype=np.bool_)[which]


def _group_instances(
    rows: dict[str, Ints], sets: list[list[int]], of_set: Ints, terms: int, duration: int
) -> JobBatch:
    """Instances of a collection with the same time, user, demand and constraint are one job."""
    # Sets that came from different texts may be equal.
    place: dict[tuple[int, ...], int] = {}
    same = np.array([place.setdefault(tuple(found), len(place)) for found in sets], dtype=np.int64)
    columns = ["time_us", "collection_id", "user", "cpu_request", "memory_request"]
    keys = np.stack([*(rows[name] for name in columns), same[of_set]])
    groups, tasks = np.unique(keys, axis=1, return_counts=True)
    return plain_batch(
        groups[0],
        groups[3:5].T.copy(),
        tasks.astype(np.int64),
        np.full(groups.shape[1], duration, dtype=np.int64),
        tenant=groups[2],
        needs=bits(list(place), terms)[groups[5]],
    )


FORMAT = Format(
    name="google-2019",
    title="a sample of the instance events of Google's cluster trace of May 2019",
    options=OPTIONS,
    role=role,
    load=load,
)
