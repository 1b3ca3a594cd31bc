"""Reads a moment of a run off the core's tables."""

from __future__ import annotations

import numpy as np

from fairlead.scheduling.kernels.memory.state import Ints, Records, State
from fairlead.scheduling.state.rows import jobs_present, machines_there, tasks_held
from fairlead.scheduling.state.terms import Term
from fairlead.scheduling.transitions import MachineState
from fairlead.simulation.measure.moment import Moment


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
    there, jobs = machines_there(state), jobs_present(state)
    rows = state.job
    place_of_machine = np.full(machines, -1)
    place_of_machine[there] = np.arange(len(there))
    place_of_job = np.full(len(rows), -1)
    place_of_job[jobs] = np.arange(len(jobs))
    tasks = state.task[tasks_held(state)]
    pair = place_of_job[tasks["job"]] * max(len(there), 1) + place_of_machine[tasks["machine"]]
    pairs, counts = np.unique(pair, return_counts=True)
    return Moment(
        time=time,
        machine=machine_index[there],
        capacity=state.capacity[there],
        free=state.free[there],
        satisfied=state.satisfies[there],
        open=state.machine["state"][there] == MachineState.UP,
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
