"""Reads a moment of a run off the core's tables."""

from __future__ import annotations

import numpy as np

from fairlead.scheduling.kernels.memory.state import Ints, Records, State
from fairlead.scheduling.state.terms import Term
from fairlead.scheduling.transitions import MachineState, TaskState
from fairlead.simulation.measure.moment import Moment

ON_A_MACHINE = [int(TaskState.LAUNCHED), int(TaskState.RUNNING), int(TaskState.STOPPING)]


def moment_of(
    state: State,
    job_side: Records,
    machine_index: Ints,
    tenant_slots: Ints,
    terms: tuple[Term, ...],
    time: int,
) -> Moment:
    """The present state. `machine_index[slot]` is the machine's place in the workload, and
    `tenant_slots` are the slots of the workload's tenants."""
    machines = int(state.header[0]["machines"])
    kind = state.machine["state"][:machines]
    there = np.flatnonzero((kind == MachineState.UP) | (kind == MachineState.DRAINING))
    rows = state.job[: int(state.header[0]["jobs"])]
    jobs = np.flatnonzero((rows["used"] == 1) & ((rows["waiting"] > 0) | (rows["held"] > 0)))
    jobs = jobs[np.argsort(rows["seq"][jobs], kind="stable")]
    place_of_machine = np.full(machines, -1)
    place_of_machine[there] = np.arange(len(there))
    place_of_job = np.full(len(rows), -1)
    place_of_job[jobs] = np.arange(len(jobs))
    tasks = state.task[: int(state.header[0]["tasks"])]
    tasks = tasks[np.isin(tasks["state"], ON_A_MACHINE)]
    pair = place_of_job[tasks["job"]] * max(len(there), 1) + place_of_machine[tasks["machine"]]
    pairs, counts = np.unique(pair, return_counts=True)
    return Moment(
        time=time,
        machine=machine_index[there],
        capacity=state.capacity[there],
        free=state.free[there],
        satisfied=state.satisfies[there],
        open=kind[there] == MachineState.UP,
        job=job_side["number"][jobs],
        tenant=job_side["tenant"][jobs],
        submitted=job_side["submitted"][jobs],
        demand=state.demand[jobs],
        needs=state.needs[jobs],
        spread=rows["spread"][jobs] == 1,
        gang=rows["gang"][jobs],
        waiting=rows["waiting"][jobs],
        held=rows["held"][jobs],
        scale=rows["scale"][jobs],
        pair_job=pairs // max(len(there), 1),
        pair_machine=pairs % max(len(there), 1),
        pair_tasks=counts.astype(np.int64),
        tenant_weight=state.tenant["weight"][tenant_slots],
        terms=terms,
    )
