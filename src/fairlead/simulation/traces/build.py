"""From arrays to workloads: batches of jobs, machines that are all there from the start."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from fairlead.model.constraint import Label
from fairlead.model.errors import InputError
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.scheduling.state.terms import Term
from fairlead.simulation.traces.options import Settings
from fairlead.simulation.workload import (
    Ints,
    JobBatch,
    MachineTable,
    Resource,
    Words,
    Workload,
    always_there,
    plain_batch,
)

BATCH = 16_384
"""Jobs in a batch."""


def in_batches(jobs: JobBatch, size: int = BATCH) -> Callable[[], Iterator[JobBatch]]:
    """A function that gives these jobs in batches, in their order, each time anew."""

    def batches() -> Iterator[JobBatch]:
        for start in range(0, len(jobs), size):
            yield part_of(jobs, start, min(start + size, len(jobs)))

    return batches


def part_of(jobs: JobBatch, start: int, stop: int) -> JobBatch:
    """The jobs from start to stop, in arrays that share memory with the whole."""
    here = slice(start, stop)
    first = jobs.first[start : stop + 1]
    of_jobs = {
        name: values[here]
        for name, values in vars(jobs).items()
        if values is not None and name not in ("durations", "first", "terms")
    }
    return replace(
        jobs,
        **of_jobs,
        durations=jobs.durations[first[0] : first[-1]],
        first=first - first[0],
        terms=jobs.terms if start == 0 else (),
    )


def jobs_of_one_task(
    names: tuple[str, ...] | None,
    submit: Ints,
    demand: Ints,
    durations: Ints,
    tenant: Ints | None = None,
    needs: Words | None = None,
) -> JobBatch:
    """Jobs that have one task each, sorted by submission; ties stay in their order."""
    order = np.argsort(submit, kind="stable")
    return plain_batch(
        submit[order],
        demand[order],
        np.ones(len(order), dtype=np.int64),
        durations[order],
        names=None if names is None else tuple(names[place] for place in order),
        tenant=None if tenant is None else tenant[order],
        needs=None if needs is None else needs[order],
    )


def workload_of(
    name: str,
    resources: tuple[Resource, ...],
    machines: MachineTable,
    jobs: JobBatch,
    options: Settings,
    notes: Sequence[str],
    tenants: Iterable[str] = (),
    terms: tuple[Term, ...] = (),
) -> Workload:
    """The workload of jobs that are all in memory, read with these options."""
    return Workload(
        name=name,
        resources=resources,
        machines=machines,
        tenants=tuple(map(Tenant, tenants)),
        terms=terms,
        batches=in_batches(jobs),
        notes=tuple(notes),
        jobs=len(jobs),
        tasks=int(jobs.tasks.sum()),
        options=options.values,
    )


def no_jobs(resources: int) -> JobBatch:
    """No job at all, where a demand would have so many resources."""
    nothing = np.zeros(0, dtype=np.int64)
    return jobs_of_one_task(None, nothing, np.zeros((0, resources), dtype=np.int64), nothing.copy())


def bits(sets: Sequence[Sequence[int]], terms: int) -> Words:
    """A row of bits for each set of terms, in as many words as so many terms take."""
    words = np.zeros((len(sets), -(-terms // 64)), dtype=np.uint64)
    for row, numbers in enumerate(sets):
        for number in numbers:
            words[row, number // 64] |= np.uint64(1 << (number % 64))
    return words


def machines_from_start(
    names: Sequence[str], labels: Sequence[FrozenMap[Label]], capacity: Ints
) -> MachineTable:
    """Machines that are there at time 0 and stay. Raises InputError where a name comes twice."""
    if len(set(names)) < len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]  # add() returns None, and so goes on
        raise InputError(f"the machine {twice!r} is listed twice", "list it once")
    return always_there(tuple(names), tuple(labels), capacity)


def no_machines(resources: int) -> MachineTable:
    return machines_from_start((), (), np.zeros((0, resources), dtype=np.int64))


def with_machines(workload: Workload, machines: Workload) -> Workload:
    """The jobs of one workload on the machines of another.

    Capacities are put into the workload's units; resources that only the machines have are left
    out. Raises InputError where the machines lack a resource of the workload, or where a capacity
    is no whole number of its units.
    """
    theirs = {resource.name: place for place, resource in enumerate(machines.resources)}
    columns = []
    for resource in workload.resources:
        if resource.name not in theirs:
            raise InputError(
                f"the machines of {machines.name} have no {resource.name}, which the jobs of"
                f" {workload.name} ask for",
                f"they have {', '.join(theirs) or 'nothing'}; give other machines",
            )
        place = theirs[resource.name]
        rate = machines.resources[place].unit / resource.unit
        column = machines.machines.capacity[:, place]
        if (column % rate.denominator).any():
            raise InputError(
                f"a capacity of {resource.name} is no multiple of {resource.unit}, the unit of"
                f" {workload.name}",
                "give machines whose capacities are",
            )
        columns.append(column // rate.denominator * rate.numerator)
    count = len(machines.machines.time)
    capacity = np.stack(columns, axis=1) if columns else np.zeros((count, 0), dtype=np.int64)
    mine = [resource.name for resource in workload.resources]
    unused = [name for name in theirs if name not in mine]
    notes = [f"the machines are those of {machines.name}"]
    if unused:
        notes.append(f"left out of the machines, since no job asks for it: {', '.join(unused)}")
    return replace(
        workload,
        machines=replace(machines.machines, capacity=capacity),
        notes=(*workload.notes, *(f"machines: {note}" for note in machines.notes), *notes),
        options=FrozenMap(
            {**workload.options, **{f"machines.{k}": v for k, v in machines.options.items()}}
        ),
    )


def every_nth_machine(workload: Workload, nth: int) -> Workload:
    """The workload on every so many-th of its machines of each capacity and labels."""
    table = workload.machines
    seen: dict[tuple[tuple[int, ...], FrozenMap[Label]], int] = {}
    keep = []
    for place, machine in enumerate(table.machine.tolist()):
        alike = (tuple(table.capacity[place].tolist()), table.labels[machine])
        keep.append(seen.get(alike, 0) % nth == 0)
        seen[alike] = seen.get(alike, 0) + 1
    kept = np.array(keep, bool)
    fewer = replace(
        table,
        time=table.time[kept],
        machine=table.machine[kept],
        kind=table.kind[kept],
        capacity=table.capacity[kept],
    )
    return replace(workload, machines=fewer)
