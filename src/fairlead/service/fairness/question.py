"""Reads the question for an adviser off a core."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from fairlead.scheduling.core import Core
from fairlead.scheduling.kernels.memory.state import Records
from fairlead.scheduling.state.scales import Classes, Scaler
from fairlead.scheduling.transitions import MachineState
from fairlead.service.fairness.interface import Question
from fairlead.sharing.present import Snapshot, Tenants
from fairlead.sharing.problem.problem import Floats, Ints

_name = attrgetter("name")

NO_SCALE = "tsf"
"""What fifo is measured by, which has no scale of its own."""


def question(
    core: Core,
    number: int,
    time: int | None = None,
    *,
    guarantees: bool = False,
    advice: bool = False,
) -> Question:
    """The present machines, tenants and jobs, on the scales that the core orders by."""
    now = core.now if time is None else time
    ids, state = core.ids, core.state
    machines = machines_there(core)
    jobs = jobs_there(core)
    slots = tenant_slots(core)
    place = np.full(len(state.tenant) + 1, -1)  # the last is the place of none, whose slot is -1
    place[slots] = np.arange(len(slots))
    rows = columns(core, jobs)
    owner = place[rows["tenant"]]
    parent = place[state.tenant["parent"][slots]]
    fifo = bool(state.header[0]["fifo"])
    return Question(
        number=number,
        time=now,
        policy=NO_SCALE if fifo else core.book.scaler.spec,
        resources=tuple(unit.name for unit in ids.units),
        machines=tuple(ids.machine_at[m].name for m in machines.tolist()),
        jobs=tuple(map(_name, map(ids.job_at.__getitem__, jobs.tolist()))),
        tenants=tuple(ids.tenant_at[t].name for t in slots),
        now=Snapshot(
            time=now,
            capacity=state.capacity[machines],
            satisfies=state.satisfies[machines],
            job=np.arange(len(jobs)),
            tenant=owner,
            demand=state.demand[jobs],
            needs=state.needs[jobs],
            spread=rows["spread"] == 1,
            # A cancelled job wants nothing more: what it holds is on its way out.
            waiting=np.where(rows["cancelled"] == 1, 0, rows["waiting"]),
            held=np.where(rows["cancelled"] == 1, 0, rows["held"]),
            scale=_fifo_scale(core, machines, jobs) if fifo else rows["scale"],
        ),
        tree=Tenants(parent, state.tenant["weight"][slots].copy(), state.limit[slots]),
        up=state.machine["state"][machines] == MachineState.UP,
        slot=jobs,
        seq=rows["seq"],
        guarantees=guarantees,
        advice=advice,
    )


def machines_there(core: Core) -> Ints:
    """The slots of the machines that are there, in the order in which they joined."""
    kind = core.state.machine["state"][: int(core.state.header[0]["machines"])]
    return np.flatnonzero((kind == MachineState.UP) | (kind == MachineState.DRAINING))


def jobs_there(core: Core) -> Ints:
    """The slots of the jobs that have tasks which wait or are held, in the order of submission."""
    rows = core.state.job[: int(core.state.header[0]["jobs"])]
    jobs = np.flatnonzero((rows["used"] == 1) & ((rows["waiting"] > 0) | (rows["held"] > 0)))
    ordered: Ints = jobs[np.argsort(rows["seq"][jobs], kind="stable")]
    return ordered


class Columns:
    """Fields of some jobs by their names, each copied when it is asked for: a job has thirty, and
    to copy all of them for a hundred thousand jobs would take most of the time."""

    def __init__(self, table: Records, jobs: Ints) -> None:
        self._table, self._jobs = table, jobs

    def __getitem__(self, name: str) -> Any:
        return self._table[name][self._jobs]


def columns(core: Core, jobs: Ints) -> Columns:
    """The fields of jobs in these slots."""
    return Columns(core.state.job, jobs)


def tenant_slots(core: Core) -> list[int]:
    """The slots of the tenants that were declared, a parent before its children."""
    return sorted(core.ids.tenant_at, key=lambda t: int(core.state.tenant[t]["seq"]))


def _fifo_scale(core: Core, machines: Ints, jobs: Ints) -> Floats:
    state = core.state
    scaler = Scaler(NO_SCALE, tuple(unit.name for unit in core.ids.units), state.unit)
    ones = np.ones(len(machines), np.int64)
    there = Classes(state.capacity[machines], state.satisfies[machines], ones, machines)
    spread = state.job["spread"][jobs] == 1
    return scaler.scales(state.demand[jobs], state.needs[jobs], spread, there).scale
