"""Machines: list, show, drain and back."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from fairlead.engines.interface import Health
from fairlead.model.errors import Mistake
from fairlead.model.machine import Machine
from fairlead.model.quantity import written_plain
from fairlead.model.values import FrozenMap
from fairlead.service.api.live import ServiceView
from fairlead.service.api.queries import Filter, Limit, Name, NameCursor, page
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.visit import Enter
from fairlead.service.records.people import MachineRecord
from fairlead.service.records.people import Quarantine as Rest
from fairlead.service.requests import DrainMachine
from fairlead.wire.errors import ErrorKind
from fairlead.wire.machines import MachineDetail, MachineRow, Machines, MachineState, Quarantine


@dataclass(frozen=True, slots=True)
class Row:
    """What is copied of a machine in the loop's thread. `held`: demands, with how many tasks."""

    machine: Machine
    state: MachineState
    drained: bool
    held: tuple[tuple[FrozenMap[Fraction], int], ...]
    quarantine: Rest | None
    problem: str


async def list_machines(
    visit: Enter,
    prefix: Annotated[Filter, Query(description="names that begin so")] = None,
    cursor: NameCursor = None,
    limit: Limit = None,
) -> Response:
    """A page of machines by name."""
    most = page(limit, visit.api.settings)
    rows, following = await visit.read(lambda live: _rows(live, prefix or "", cursor, most))
    return visit.answer(Machines(machines=[_told(row) for row in rows], next=following))


async def show_machine(visit: Enter, machine: Name) -> Response:
    """One machine."""
    return await _shown(visit, machine)


async def drain_machine(visit: Enter, machine: Name) -> Response:
    """Gives a machine nothing new."""
    await visit.ask(DrainMachine(visit.caller, machine))
    return await _shown(visit, machine)


async def undrain_machine(visit: Enter, machine: Name) -> Response:
    """Lets a machine take tasks again."""
    await visit.ask(DrainMachine(visit.caller, machine, back=True))
    return await _shown(visit, machine)


async def _shown(visit: Enter, name: str) -> Response:
    row = await visit.read(lambda live: _one(live, name))
    return visit.answer(MachineDetail(**_told(row).model_dump()))


def _told(row: Row) -> MachineRow:
    free = dict(row.machine.capacity)
    for demand, tasks in row.held:
        for resource, amount in demand.items():
            free[resource] = free.get(resource, Fraction(0)) - amount * tasks
    rest = row.quarantine
    return MachineRow(
        name=row.machine.name,
        state=row.state,
        drained=row.drained,
        capacity={name: written_plain(one) for name, one in row.machine.capacity.items()},
        free={name: written_plain(one) for name, one in free.items()},
        labels={name: str(value) for name, value in row.machine.labels.items()},
        tasks=sum(tasks for _, tasks in row.held),
        quarantine=None
        if rest is None
        else Quarantine(until=rest.until, failures=rest.failures, why=rest.why),
        problem=row.problem,
    )


def _rows(
    live: ServiceView, prefix: str, after: str | None, most: int
) -> tuple[list[Row], str | None]:
    machines = live.records.machines
    names = sorted(
        name
        for name, one in machines.items()
        if one.machine is not None and name.startswith(prefix)
    )
    first = 0 if after is None else bisect_right(names, after)
    shown = names[first : first + most]
    rows = [row for name in shown if (row := _row(live, machines[name])) is not None]
    return rows, shown[-1] if first + most < len(names) else None


def _one(live: ServiceView, name: str) -> Row:
    record = live.records.machines.get(name)
    row = None if record is None else _row(live, record)
    if row is None:
        raise RefusalError(
            ErrorKind.NOT_FOUND,
            mistakes=[Mistake(f'there is no machine "{name}"', "the engine says which there are")],
        )
    return row


def _row(live: ServiceView, record: MachineRecord) -> Row | None:
    if record.machine is None:
        return None
    node = live.nodes.get(record.name)
    tasks = Counter(job for job, _ in record.held)
    jobs = live.records.jobs
    if node is not None and node.health is Health.TROUBLED:
        state = MachineState.TROUBLED
    elif record.quarantine is not None:
        state = MachineState.QUARANTINED
    else:
        state = MachineState.DRAINING if record.draining else MachineState.UP
    return Row(
        record.machine,
        state,
        record.drained,
        tuple((jobs[job].job.demand, count) for job, count in sorted(tasks.items())),
        record.quarantine,
        # Where the engine cannot be reached, nothing goes to any of them.
        live.trouble or ("" if node is None else node.problem),
    )
