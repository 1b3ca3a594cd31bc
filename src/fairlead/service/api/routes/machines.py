"""Machines: list, show, drain and back."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from fairlead.engines.interface import Health
from fairlead.model.constraint import Selector
from fairlead.model.machine import Machine
from fairlead.model.quantity import write_plain
from fairlead.model.selector_syntax import parse_selector
from fairlead.model.values import FrozenMap
from fairlead.service.api.entering import Enter
from fairlead.service.api.queries import (
    Filter,
    Limit,
    Name,
    Rank,
    RankCursor,
    page,
    ranked_page,
    read_rank,
)
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.service_view import ServiceView
from fairlead.service.api.visibility import as_seen
from fairlead.service.records.people import MachineRecord
from fairlead.service.records.people import Quarantine as Rest
from fairlead.service.requests import DrainMachine, DrainMachines
from fairlead.wire.errors import ErrorKind
from fairlead.wire.machines import (
    MachineDetail,
    MachineNames,
    MachineOrder,
    MachineRow,
    Machines,
    MachineState,
    Quarantine,
)

LONGEST_WHERE = 1000
"""Characters of the constraint by which machines are looked for."""


@dataclass(frozen=True, slots=True)
class Row:
    """A copy of a machine, made in the loop's thread. `held`: demands, with how many tasks."""

    machine: Machine
    state: MachineState
    drained: bool
    held: tuple[tuple[FrozenMap[Fraction], int], ...]
    quarantine: Rest | None
    problem: str


async def list_machines(
    context: Enter,
    prefix: Annotated[Filter, Query(description="names that begin so")] = None,
    state: MachineState | None = None,
    where: Annotated[
        str, Query(max_length=LONGEST_WHERE, description="a constraint, as a job's `where`")
    ] = "",
    order: Annotated[MachineOrder, Query(description="tasks: those that run most first")] = (
        MachineOrder.NAME
    ),
    cursor: RankCursor = None,
    limit: Limit = None,
) -> Response:
    """A page of machines."""
    most = page(limit, context.api.settings)
    wanted = _Filter(prefix or "", state, parse_selector(where), order)
    after = read_rank(cursor, ranked=order is not MachineOrder.NAME)
    rows, following = await context.read(lambda view: _rows(view, wanted, after, most))
    return context.answer(
        Machines(machines=[_to_wire(context, row) for row in rows], next=following)
    )


async def show_machine(context: Enter, machine: Name) -> Response:
    """One machine."""
    return await _show(context, machine)


async def drain_machine(context: Enter, machine: Name) -> Response:
    """Gives a machine nothing new."""
    await context.ask(DrainMachine(context.caller, machine))
    return await _show(context, machine)


async def undrain_machine(context: Enter, machine: Name) -> Response:
    """Lets a machine take tasks again."""
    await context.ask(DrainMachine(context.caller, machine, back=True))
    return await _show(context, machine)


async def drain_machines(context: Enter) -> Response:
    """Gives several machines nothing new."""
    return await _drain(context, back=False)


async def undrain_machines(context: Enter) -> Response:
    """Lets several machines take tasks again."""
    return await _drain(context, back=True)


async def _drain(context: Enter, *, back: bool) -> Response:
    asked = await context.read_body(MachineNames)
    names = tuple(dict.fromkeys(asked.machines))
    await context.ask(DrainMachines(context.caller, names, back))
    rows = await context.read(lambda view: _those(view, names))
    return context.answer(Machines(machines=[_to_wire(context, row) for row in rows]))


async def _show(context: Enter, name: str) -> Response:
    row = await context.read(lambda view: _one(view, name))
    return context.answer(MachineDetail(**_to_wire(context, row).model_dump()))


def _to_wire(context: Enter, row: Row) -> MachineRow:
    free = dict(row.machine.capacity)
    for demand, tasks in row.held:
        for resource, amount in demand.items():
            free[resource] = free.get(resource, Fraction(0)) - amount * tasks
    rest = row.quarantine
    return MachineRow(
        name=row.machine.name,
        state=row.state,
        drained=row.drained,
        capacity={name: write_plain(one) for name, one in row.machine.capacity.items()},
        free={name: write_plain(one) for name, one in free.items()},
        labels={name: str(value) for name, value in row.machine.labels.items()},
        tasks=sum(tasks for _, tasks in row.held),
        quarantine=None
        if rest is None
        else as_seen(
            Quarantine(until=rest.until, failures=rest.failures, why=rest.why), context.caller
        ),
        problem=row.problem,
    )


@dataclass(frozen=True, slots=True)
class _Filter:
    prefix: str
    state: MachineState | None
    where: Selector
    order: MachineOrder


def _rows(
    view: ServiceView, wanted: _Filter, after: Rank | None, most: int
) -> tuple[list[Row], str | None]:
    """Rows of machines that come after that one in their order, and where the next page begins."""
    by_tasks = wanted.order is MachineOrder.TASKS
    ranks = [
        Rank(-len(one.held) if by_tasks else 0, name)
        for name, one in view.records.machines.items()
        if one.machine is not None
        and name.startswith(wanted.prefix)
        and (wanted.state is None or _state(view, one) is wanted.state)
        and wanted.where.matches(one.machine.labels)
    ]
    shown, following = ranked_page(ranks, after, most)
    found = (view.records.machines[rank.name] for rank in shown)
    rows = [row for record in found if (row := _row(view, record)) is not None]
    return rows, None if following is None else following.to_cursor(ranked=by_tasks)


def _those(view: ServiceView, names: tuple[str, ...]) -> list[Row]:
    """The machines of these names that are there."""
    found = (view.records.machines.get(name) for name in names)
    rows = (_row(view, record) for record in found if record is not None)
    return [row for row in rows if row is not None]


def _one(view: ServiceView, name: str) -> Row:
    record = view.records.machines.get(name)
    row = None if record is None else _row(view, record)
    if row is None:
        what = f'there is no machine "{name}"'
        raise RefusalError(ErrorKind.NOT_FOUND, what, "the engine says which there are")
    return row


def _state(view: ServiceView, record: MachineRecord) -> MachineState:
    node = view.nodes.get(record.name)
    if node is not None and node.health is Health.TROUBLED:
        return MachineState.TROUBLED
    if record.quarantine is not None:
        return MachineState.QUARANTINED
    return MachineState.DRAINING if record.draining else MachineState.UP


def _row(view: ServiceView, record: MachineRecord) -> Row | None:
    if record.machine is None:
        return None
    node = view.nodes.get(record.name)
    tasks = Counter(job for job, _ in record.held)
    jobs = view.records.jobs
    return Row(
        record.machine,
        _state(view, record),
        record.drained,
        tuple((jobs[job].job.demand, count) for job, count in sorted(tasks.items())),
        record.quarantine,
        # Where the engine cannot be reached, nothing goes to any of them.
        view.trouble or ("" if node is None else node.problem),
    )
