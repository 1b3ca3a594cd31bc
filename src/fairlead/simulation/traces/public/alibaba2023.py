"""Alibaba's heterogeneous GPU cluster of 2023 ("openb"): a node list and a pod list."""

from __future__ import annotations

import numpy as np

from fairlead.model.constraint import Operator, Requirement
from fairlead.model.errors import InputError
from fairlead.model.machine import label_values
from fairlead.scheduling.state.terms import Term
from fairlead.simulation.traces.build import (
    bits,
    jobs_of_one_task,
    machines_from_start,
    no_jobs,
    no_machines,
    workload_of,
)
from fairlead.simulation.traces.formats import Files, Format
from fairlead.simulation.traces.opening import first_line
from fairlead.simulation.traces.options import SECOND, Option, Settings
from fairlead.simulation.traces.public.machine_lists import CPU, GPU, GPU_MODEL, MEMORY
from fairlead.simulation.traces.tables import MISSING, Column, Kind, Layout, Vocabulary, read_rows
from fairlead.simulation.workload import Ints, JobBatch, MachineTable, Words, Workload

OPTIONS = (
    Option("arrivals", "recorded", "when pods come: `recorded`, or `backlog` (all at time 0)"),
    Option("speed", "1", "recorded arrivals come so many times as fast; durations stay"),
    Option(
        "durations",
        "run",
        "`run` is from scheduling to deletion, and for pods never scheduled from creation;"
        " `lifetime` is from creation to deletion for all",
    ),
    Option("missing-durations", "540s", "of pods in lists without times (the other lists' median)"),
    Option("tenants", "none", "`none`: each pod is its own; or so many, drawn evenly for each pod"),
    Option("seed", "0", "of the draws"),
)

NODES, PODS = "nodes", "pods"

RESOURCES = (CPU, MEMORY, GPU)

_NODE_LAYOUT = Layout(
    (
        Column("sn", Kind.TEXT),
        Column("cpu_milli", Kind.WHOLE),
        Column("memory_mib", Kind.WHOLE),
        Column("gpu", Kind.WHOLE, most=1000),
        Column("model", Kind.TEXT, required=False),
    )
)
_POD_COLUMNS = (
    Column("name", Kind.TEXT),
    Column("cpu_milli", Kind.WHOLE),
    Column("memory_mib", Kind.WHOLE),
    Column("num_gpu", Kind.WHOLE, most=1000),
    Column("gpu_milli", Kind.WHOLE, most=1000),
)
_TIMES = (
    Column("creation_time", Kind.WHOLE, most=2**40),
    Column("deletion_time", Kind.WHOLE, most=2**40),
    Column("scheduled_time", Kind.WHOLE, required=False, most=2**40),
)
_SPEC = Column("gpu_spec", Kind.TEXT, required=False)


def role(line: str) -> str | None:
    """The list that begins with this header; None if neither does."""
    names = line.split(",")
    if names == ["sn", "cpu_milli", "memory_mib", "gpu", "model"]:
        return NODES
    return (
        PODS if names[:5] == ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"] else None
    )


def load(files: Files, options: Settings) -> Workload:
    """The workload: a pod is a job of one task."""
    for name, what in ((NODES, "node list"), (PODS, "pod list")):
        if len(files.get(name, ())) > 1:
            raise InputError(
                f"{', '.join(files[name])} are {len(files[name])} {what}s of the same cluster",
                f"give one {what}",
            )
    notes: list[str] = []
    table = no_machines(len(RESOURCES))
    if NODES in files:
        table = _nodes(files[NODES][0])
        notes.append(f"found {len(table.names)} nodes")
    else:
        notes.append("no node list was given: there are no machines")
    jobs = no_jobs(len(RESOURCES))
    tenants: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()
    if PODS in files:
        jobs, tenants, terms = _pods(files[PODS][0], options, notes)
    else:
        notes.append("no pod list was given: there are no jobs")
    return workload_of(FORMAT.name, RESOURCES, table, jobs, options, notes, tenants, terms)


def _nodes(path: str) -> MachineTable:
    words = {"sn": Vocabulary(), "model": Vocabulary()}
    rows = read_rows([path], _NODE_LAYOUT, words)
    none = label_values({})
    models = [label_values({GPU_MODEL: text}) for text in words["model"].texts]
    names = [words["sn"].texts[code] for code in rows["sn"].tolist()]
    labels = [models[code] if code != MISSING else none for code in rows["model"].tolist()]
    gpu = rows["gpu"] * GPU.piece
    capacity = np.stack((rows["cpu_milli"], rows["memory_mib"], gpu), axis=1)
    return machines_from_start(names, labels, capacity)


def _pods(
    path: str, options: Settings, notes: list[str]
) -> tuple[JobBatch, tuple[str, ...], tuple[Term, ...]]:
    names = first_line(path).split(",")
    timed, specified = "creation_time" in names, "gpu_spec" in names
    layout = Layout(_POD_COLUMNS + (_SPEC,) * specified + _TIMES * timed)
    words = {"name": Vocabulary(), "gpu_spec": Vocabulary()}
    rows = read_rows([path], layout, words)
    count = len(rows["name"])
    notes.append(f"found {count} pods; each is a job of one task")
    submit = _arrivals(rows, timed, options, notes)
    durations = _durations(rows, timed, options, notes)
    # A pod with one GPU may ask for a part of it; one with more asks for whole ones.
    gpu = np.where(rows["num_gpu"] == 1, rows["gpu_milli"], rows["num_gpu"] * GPU.piece)
    demand = np.stack((rows["cpu_milli"], rows["memory_mib"], gpu), axis=1)
    terms: tuple[Term, ...] = ()
    needs: Words = np.zeros((count, 0), dtype=np.uint64)
    if specified:
        terms, needs = _terms(rows["gpu_spec"], words["gpu_spec"])
        constrained = int((rows["gpu_spec"] != MISSING).sum())
        notes.append(
            f"{constrained} pods name the GPU models that they take; the publishers assigned these"
            " constraints at the rate seen in production, they were not recorded for the pod"
        )
    else:
        notes.append("missing: this list has no GPU models that pods take")
    tenant, tenants = _tenants(count, options, notes)
    if len(set(words["name"].texts)) < count:
        raise InputError(f"{path} names a pod twice", "name each pod once")
    notes.append("not read: quality of service and the pod's last phase")
    texts = words["name"].texts
    named = tuple(texts[code] for code in rows["name"].tolist())
    return jobs_of_one_task(named, submit, demand, durations, tenant, needs), tenants, terms


def _terms(codes: Ints, words: Vocabulary) -> tuple[tuple[Term, ...], Words]:
    """A term for each set of models; strings may repeat a model or order them differently."""
    terms: dict[Term, int] = {}
    sets: list[list[int]] = [[]]
    for text in words.texts:
        models = sorted({model for model in text.split("|") if model})
        term = Requirement(GPU_MODEL, Operator.IN, models)
        sets.append([terms.setdefault(term, len(terms))])
    return tuple(terms), bits(sets, len(terms))[codes + 1]


def _arrivals(rows: dict[str, Ints], timed: bool, options: Settings, notes: list[str]) -> Ints:
    arrivals = options.choice("arrivals", ("recorded", "backlog"))
    speed = options.amount("speed")
    count = len(rows["name"])
    if not timed:
        notes.append("missing: this list has no times, so all pods come at time 0")
        return np.zeros(count, dtype=np.int64)
    if arrivals == "backlog":
        notes.append("arrivals=backlog: all pods come at time 0, not as recorded")
        return np.zeros(count, dtype=np.int64)
    notes.append(
        f"arrivals=recorded, speed={options.values['speed']}: on the recorded clock the published"
        " cluster is nearly idle; arrivals=backlog or a higher speed makes pods wait"
    )
    exact = rows["creation_time"] * SECOND * speed.denominator
    return exact // speed.numerator


def _durations(rows: dict[str, Ints], timed: bool, options: Settings, notes: list[str]) -> Ints:
    chosen = options.choice("durations", ("run", "lifetime"))
    missing = options.span("missing-durations")
    count = len(rows["name"])
    if not timed:
        notes.append(f"missing-durations={options.values['missing-durations']}: assumed for all")
        return np.full(count, missing, dtype=np.int64)
    begin = rows["creation_time"]
    if chosen == "run":
        never = rows["scheduled_time"] == MISSING
        begin = np.where(never, begin, rows["scheduled_time"])
        notes.append(
            f"durations=run: deletion minus scheduling; for {int(never.sum())} pods that were never"
            " scheduled, deletion minus creation"
        )
    else:
        notes.append("durations=lifetime: deletion minus creation, so with the time waited")
    durations = (rows["deletion_time"] - begin) * SECOND
    if (durations < 0).any():
        name = int(np.flatnonzero(durations < 0)[0]) + 2
        raise InputError(f"the pod in line {name} is deleted before it begins")
    return durations


def _tenants(count: int, options: Settings, notes: list[str]) -> tuple[Ints, tuple[str, ...]]:
    if options.values["tenants"] == "none":
        notes.append("tenants=none: the trace has no users, each pod is a tenant of its own")
        return np.full(count, -1, dtype=np.int64), ()
    many = options.whole("tenants", least=1)
    draw = np.random.Generator(np.random.PCG64(options.whole("seed")))
    notes.append(
        f"tenants={many}, seed={options.values['seed']}: the trace has no users; each pod was"
        " given one of so many tenants, drawn evenly"
    )
    return draw.integers(many, size=count), tuple(f"tenant-{k}" for k in range(many))


FORMAT = Format(
    name="alibaba-gpu-2023",
    title="Alibaba's GPU cluster of 2023: openb_node_list_*, openb_pod_list_*",
    options=OPTIONS,
    role=role,
    load=load,
)
