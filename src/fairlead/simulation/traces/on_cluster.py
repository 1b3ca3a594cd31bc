"""The jobs of a trace on machines, and with tenants, that people describe in YAML or JSON."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from pathlib import Path

import numpy as np

from fairlead.files import ENDINGS, STANDARD_INPUT, held
from fairlead.files import load as read_files
from fairlead.model.errors import InputError
from fairlead.model.hints import Known
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.model.tree import parents_first
from fairlead.model.words import counted
from fairlead.scheduling.state.ids import LARGEST, Ids, Unit, most_pieces
from fairlead.simulation.workload import (
    Ints,
    JobBatch,
    MachineTable,
    Resource,
    Workload,
    always_there,
)

_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:[#{%]|---|[\"']?\w+[\"']?\s*:)")
"""How YAML and JSON begin, with a remark or a key: what comes by the standard input has no name."""

PARTS = "a task takes a part of one device, or whole ones"
"""What is wrong with a demand of one and a half devices."""


def is_described(word: str) -> bool:
    """Whether this is a file in which people describe machines and jobs, or a folder of such."""
    path = Path(word)
    if path.is_dir():
        names = [each.name for each in path.iterdir() if not each.name.startswith(".")]
        return "trace.json" not in names and any(name.endswith(ENDINGS) for name in names)
    if contents := held(word):
        first = next((line for line in io.BytesIO(contents[word]) if line.strip()), b"#")
        return _BEGINS.match(first) is not None
    return word == STANDARD_INPUT or (word.endswith(ENDINGS) and path.name != "trace.json")


def read_cluster(words: Sequence[str]) -> Cluster:
    """The machines and tenants of these files, which describe no jobs. Raises InputError."""
    cluster, jobs = read_files(*words)
    if jobs:
        raise InputError(
            f"{' '.join(words)}: it describes {counted(len(jobs), 'job')},"
            " and the jobs are the trace's",
            "give a file of machines and tenants alone, or leave the trace out",
        )
    return cluster


def on_cluster(workload: Workload, cluster: Cluster, called: str) -> Workload:
    """The workload's jobs on this cluster, which is called so, counted in units in which all
    amounts of both are whole. Raises InputError where a job has a tenant that the cluster does not
    declare though it declares some, as for jobs in YAML, and where an amount cannot be counted."""
    asked = {each.name: each.unit for each in workload.resources}
    units = units_of(cluster, [Job("all", asked)] if asked else [])
    place = {unit.name: r for r, unit in enumerate(units)}
    rates = [int(each.unit / units[place[each.name]].unit) for each in workload.resources]
    columns = [place[each.name] for each in workload.resources]
    tenants, theirs = _tenants(workload, cluster)
    for batch in workload.batches():
        _check(batch, units, columns, rates)

    notes = [f"the machines are those of {called}"]
    had = {name for machine in cluster.machines for name in machine.capacity}
    lacking = [name for name in asked if name not in had]
    if lacking:
        notes.append(f"no machine has what jobs ask for: {', '.join(lacking)}")

    def batches() -> Iterator[JobBatch]:
        for batch in workload.batches():
            demand = np.zeros((len(batch), len(units)), dtype=np.int64)
            demand[:, columns] = batch.demand * np.array(rates, dtype=np.int64)
            yield replace(batch, demand=demand, tenant=theirs[batch.tenant])

    return replace(
        workload,
        resources=tuple(Resource(unit.name, unit.unit, unit.piece) for unit in units),
        machines=machine_table(cluster, units),
        tenants=tenants,
        batches=batches,
        notes=(*workload.notes, *notes),
    )


def _tenants(workload: Workload, cluster: Cluster) -> tuple[tuple[Tenant, ...], Ints]:
    """The tenants, and for each index of the workload's the one that it is now; at the end -1."""
    if not cluster.tenants:
        return workload.tenants, np.array([*range(len(workload.tenants)), -1], dtype=np.int64)
    for tenant in workload.tenants:
        check_tenant(cluster, tenant.name)
    tenants = parents_first(cluster.tenants)
    declared = {tenant.name: index for index, tenant in enumerate(tenants)}
    known = [declared[tenant.name] for tenant in workload.tenants]
    return tenants, np.array([*known, -1], dtype=np.int64)


def check_tenant(cluster: Cluster, name: str) -> None:
    """Refuses a tenant that is not among those of the cluster, which declares some."""
    known = [tenant.name for tenant in cluster.tenants]
    if name not in known:
        right = "declare it as a tenant (or declare none: then jobs imply them)"
        raise InputError(f'there is no tenant "{name}"', Known(known).hint(name, right))


def _check(
    batch: JobBatch, units: Sequence[Unit], columns: Sequence[int], rates: Sequence[int]
) -> None:
    """Refuses demands that cannot be counted in these units."""
    for amounts, r, rate in zip(batch.demand.T, columns, rates, strict=True):
        if not len(amounts):
            continue
        if int(amounts.max()) * rate >= LARGEST:
            raise InputError(
                f"the amounts of {units[r].name} are too far apart: counted in"
                f" {units[r].unit}, one is 2^53 or more",
                "round them",
            )
        piece = units[r].piece
        if not piece:
            continue
        wrong = np.flatnonzero((amounts * rate > piece) & (amounts * rate % piece != 0))
        if len(wrong):
            job = batch.names[wrong[0]] if batch.names else str(wrong[0])
            raise InputError(PARTS, "round it", about=("job", job, "demand", units[r].name))


def machine_table(cluster: Cluster, units: Sequence[Unit]) -> MachineTable:
    """The cluster's machines, which are there from the beginning, in these units. Raises
    InputError."""
    ids, most = Ids(tuple(units)), most_pieces(tuple(units))
    capacity = [ids.capacity(only(machine, units), most) for machine in cluster.machines]
    return always_there(
        tuple(machine.name for machine in cluster.machines),
        tuple(machine.labels for machine in cluster.machines),
        np.array(capacity, np.int64).reshape(len(capacity), len(units)),
    )


def only(machine: Machine, units: Sequence[Unit]) -> Machine:
    """The machine with what is counted."""
    counted = {unit.name for unit in units}
    capacity = {name: amount for name, amount in machine.capacity.items() if name in counted}
    return Machine(machine.name, capacity, machine.labels)


def units_of(cluster: Cluster, jobs: Sequence[Job]) -> tuple[Unit, ...]:
    """The resources that jobs ask for, each in the largest unit in which all amounts are whole.
    What no job asks for is in nobody's way."""
    asked = dict.fromkeys(name for job in jobs for name in job.demand)
    asked |= dict.fromkeys(name for tenant in cluster.tenants for name in tenant.limit)
    found = []
    for name in asked:
        device = name in cluster.devices
        amounts = [
            *(machine.capacity[name] for machine in cluster.machines if name in machine.capacity),
            *(job.demand[name] for job in jobs if name in job.demand),
            *(tenant.limit[name] for tenant in cluster.tenants if name in tenant.limit),
        ]
        found.append(unit_of(name, amounts, device=device))
    return tuple(found)


def unit_of(name: str, amounts: Iterable[Fraction], *, device: bool) -> Unit:
    """The largest unit of a resource in which all these amounts are whole, and one device is."""
    first = Fraction(1) if device else Fraction(0)
    unit = reduce(_common, (amount for amount in amounts if amount), first) or Fraction(1)
    return Unit(name, unit, int(1 / unit) if device else 0)


def _common(one: Fraction, other: Fraction) -> Fraction:
    """The largest number of which both are whole multiples."""
    denominator = math.lcm(one.denominator, other.denominator)
    return Fraction(math.gcd(int(one * denominator), int(other * denominator)), denominator)
