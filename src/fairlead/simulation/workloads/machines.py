"""Machines sampled from the configurations of Google's 2011 trace, or from a list of nodes."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import csv

from fairlead.model.constraint import Label
from fairlead.model.errors import InputError
from fairlead.model.values import FrozenMap
from fairlead.simulation.workload import Floats, Ints, MachineTable, Resource, Words, always_there
from fairlead.simulation.workloads.draws import Stream, numbers

UNIT = 10_000_000
"""Units of the largest machine: the trace's amounts have up to seven digits."""

RESOURCES = (Resource("cpu", Fraction(1, UNIT)), Resource("memory", Fraction(1, UNIT)))
"""In parts of the largest machine, as the trace has them."""


class Configuration(NamedTuple):
    """Machines that are alike."""

    platform: str
    cpu: float
    memory: float
    machines: int


# Counted from the machine_events of clusterdata-2011-2 (John Wilkes and Charles Reiss, Google,
# CC-BY 4.0): the 12,477 machines at time 0. The k-DF paper's Table 4 has nearly the same.
GOOGLE = (
    Configuration("B", 0.5, 0.4995, 6672),
    Configuration("B", 0.5, 0.2493, 3835),
    Configuration("B", 0.5, 0.749, 992),
    Configuration("C", 1.0, 1.0, 788),
    Configuration("A", 0.25, 0.2498, 123),
    Configuration("B", 0.5, 0.1241, 54),
    Configuration("B", 0.5, 0.03085, 5),
    Configuration("B", 0.5, 0.9678, 4),
    Configuration("C", 1.0, 0.5, 3),
    Configuration("B", 0.5, 0.06158, 1),
)

GOOGLE_NOTE = (
    "Machines are drawn from the ten configurations of the 12,477 machines at time 0 of "
    "clusterdata-2011-2 (J. Wilkes, C. Reiss, Google; CC-BY 4.0), with replacement."
)


class Sample(NamedTuple):
    """Machines as drawn: what each has of CPU and memory, and its platform."""

    capacity: Ints  # (M, 2) in units
    platforms: tuple[str, ...]
    note: str


def sample(machines: int, nodes: str, seed: int) -> Sample:
    """Draws that many machines, with replacement from a file of nodes, or from Google's."""
    if machines < 1:
        raise InputError(f"{machines} machines", "write at least 1")
    found = read_nodes(nodes) if nodes else GOOGLE
    counts = np.array([each.machines for each in found], np.float64)
    draw = numbers(seed, Stream.MACHINES)
    which = draw.choice(len(found), machines, p=counts / counts.sum())
    sizes: Floats = np.array([[each.cpu, each.memory] for each in found])
    units = np.rint(sizes * UNIT).astype(np.int64)
    note = f"Machines are drawn from the nodes of {Path(nodes).name}, with replacement, in parts "
    note += "of the largest CPU and the largest memory."
    return Sample(
        units[which],
        tuple(found[k].platform for k in which.tolist()),
        note if nodes else GOOGLE_NOTE,
    )


# By what a list of nodes may call them: our own word, then those of Alibaba's lists.
CPU = ("cpu", "cpu_milli", "cap_cpu")
MEMORY = ("memory", "memory_mib", "cap_mem")
COUNT = ("machines", "machines_at_time_0", "count")
PLATFORM = ("platform", "model", "gpu_type")


def read_nodes(path: str) -> tuple[Configuration, ...]:
    """The nodes of a CSV file with a header; CPU and memory as parts of the largest. Raises
    InputError."""
    if not Path(path).is_file():
        raise InputError(f"no such file: {path}", "name a CSV list of nodes")
    try:
        table = csv.read_csv(path)
    except pa.ArrowInvalid as error:
        sentence = str(error).partition("\n")[0]
        raise InputError(
            f"{path}: not a CSV file ({sentence})", "write a header and a line a node"
        ) from error
    if not table.num_rows:
        raise InputError(f"{path}: no nodes", "write a line a node")
    cpu, memory = _column(table, CPU, path), _column(table, MEMORY, path)
    machines = _column(table, COUNT, path) if _find_column(table, COUNT) else np.ones(len(cpu))
    platform = _find_column(table, PLATFORM)
    names = table[platform].to_pylist() if platform else [""] * len(cpu)
    for line, amounts in enumerate(zip(cpu, memory, machines, strict=True), 2):
        if not all(np.isfinite(amounts)) or min(amounts[0], amounts[1]) <= 0 or amounts[2] < 0:
            raise InputError(f"{path}:{line}: a node without CPU or memory", "write more than 0")
    if not machines.sum():
        raise InputError(f"{path}: no nodes", "write how many there are of each")
    return tuple(
        Configuration(str(name or ""), float(c), float(m), int(k))
        for name, c, m, k in zip(
            names, cpu / cpu.max(), memory / memory.max(), machines, strict=True
        )
    )


def _find_column(table: pa.Table, names: tuple[str, ...]) -> str:
    """The first of the names that is a column; empty where none is."""
    return next((name for name in names if name in table.column_names), "")


def _column(table: pa.Table, names: tuple[str, ...], path: str) -> Floats:
    found = _find_column(table, names)
    if not found:
        raise InputError(f"{path}:1: no column for {names[0]}", f"name it {' or '.join(names)}")
    kind = table[found].type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InputError(f"{path}:1: {found} is not all numbers", "write numbers")
    return np.asarray(table[found].to_numpy(), dtype=np.float64)


def table(
    capacity: Ints, attributes: Words, names: tuple[str, ...], platforms: tuple[str, ...]
) -> MachineTable:
    """Machines that are there from time 0 on, called m0, m1 … with as many digits as needed.

    A machine has a label `yes` for each of the named attributes whose bit is set, and its
    platform where it has one.
    """
    machines = len(capacity)
    digits = len(str(machines - 1))
    made: dict[tuple[int, str], FrozenMap[Label]] = {}
    labels = []
    for bits, platform in zip(attributes.tolist(), platforms, strict=True):
        if (bits, platform) not in made:
            has: dict[str, Label] = {name: "yes" for k, name in enumerate(names) if bits >> k & 1}
            if platform:
                has["platform"] = platform
            made[bits, platform] = FrozenMap(has)
        labels.append(made[bits, platform])
    named = tuple(f"m{number:0{digits}}" for number in range(machines))
    return always_there(named, tuple(labels), capacity)
