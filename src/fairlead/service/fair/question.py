"""Reads the question for an adviser off a core."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.scheduling.core import Core
from fairlead.scheduling.kernels.state import Records
from fairlead.scheduling.scales import Classes, Scaler
from fairlead.scheduling.transitions import MachineState
from fairlead.service.fair.interface import Question
from fairlead.sharing.problem import Floats, Ints
from fairlead.simulation.exact_now import Snapshot, Tenants

NO_SCALE = "tsf"
"""What fifo is measured by, which has no scale of its own."""


def question(
    core: Core, number: int, *, guarantees: bool = False, advice: bool = False
) -> Question:
    """The present machines, tenants and jobs, on the scales that the core orders by."""
    ids, state = core.ids, core.state
    machines = machines_there(core)
    jobs = jobs_there(core)
    slots = tenant_slots(core)
    place = {slot: index for index, slot in enumerate(slots)}
    rows: Records = state.job[jobs]
    owner = np.array([place.get(int(t), -1) for t in rows["tenant"]], np.int64)
    parent = np.array([place.get(int(t), -1) for t in state.tenant["parent"][slots]], np.int64)
    fifo = bool(state.whole[0]["fifo"])
    return Question(
        number=number,
        time=core.now,
        policy=NO_SCALE if fifo else core.book.scaler.spec,
        resources=tuple(unit.name for unit in ids.units),
        machines=tuple(ids.machine_at[m].name for m in machines.tolist()),
        jobs=tuple(ids.job_at[j].name for j in jobs.tolist()),
        tenants=tuple(ids.tenant_at[t].name for t in slots),
        now=Snapshot(
            time=core.now,
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
            scale=_fifo_scale(core, machines, jobs) if fifo else rows["scale"].copy(),
        ),
        tree=Tenants(parent, state.tenant["weight"][slots].copy(), state.limit[slots]),
        up=state.machine["state"][machines] == MachineState.UP,
        guarantees=guarantees,
        advice=advice,
    )


def machines_there(core: Core) -> Ints:
    """The slots of the machines that are there, in the order in which they joined."""
    kind = core.state.machine["state"][: int(core.state.whole[0]["machines"])]
    return np.flatnonzero((kind == MachineState.UP) | (kind == MachineState.DRAINING))


def jobs_there(core: Core) -> Ints:
    """The slots of the jobs that have tasks which wait or are held, in the order of submission."""
    rows = core.state.job[: int(core.state.whole[0]["jobs"])]
    jobs = np.flatnonzero((rows["used"] == 1) & ((rows["waiting"] > 0) | (rows["held"] > 0)))
    ordered: Ints = jobs[np.argsort(rows["seq"][jobs], kind="stable")]
    return ordered


def tenant_slots(core: Core) -> list[int]:
    """The slots of the tenants that were declared, a parent before its children."""
    return sorted(core.ids.tenant_at, key=lambda t: int(core.state.tenant[t]["seq"]))


@dataclass(frozen=True)
class Standing:
    """What each present job has now, in the order of submission. `running` leaves out tasks that
    were told to stop; a cancelled job has nothing that counts."""

    jobs: tuple[str, ...]
    tenant: tuple[str | None, ...]
    waiting: Ints
    running: Ints


def standing(core: Core) -> Standing:
    """What is held at this moment."""
    state = core.state
    jobs = jobs_there(core)
    rows: Records = state.job[jobs]
    tasks = state.task[: int(state.whole[0]["tasks"])]
    stopping = np.bincount(tasks["job"][tasks["state"] == 3], minlength=len(state.job))
    there = rows["cancelled"] == 0
    names = {slot: tenant.name for slot, tenant in core.ids.tenant_at.items()}
    return Standing(
        jobs=tuple(core.ids.job_at[j].name for j in jobs.tolist()),
        tenant=tuple(names.get(int(t)) for t in rows["tenant"]),
        waiting=np.where(there, rows["waiting"], 0),
        running=np.where(there, rows["held"] - stopping[jobs], 0),
    )


def _fifo_scale(core: Core, machines: Ints, jobs: Ints) -> Floats:
    state = core.state
    scaler = Scaler(NO_SCALE, tuple(unit.name for unit in core.ids.units), state.unit)
    ones = np.ones(len(machines), np.int64)
    there = Classes(state.capacity[machines], state.satisfies[machines], ones, machines)
    spread = state.job["spread"][jobs] == 1
    return scaler.scales(state.demand[jobs], state.needs[jobs], spread, there).scale
