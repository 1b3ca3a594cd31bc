"""Reads a moment of a run off the core's tables."""

from __future__ import annotations

from fairlead.scheduling.kernels.memory.state import Ints, Records, State
from fairlead.scheduling.state.rows import jobs_present, machines_there
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
    there, jobs = machines_there(state), jobs_present(state)
    rows = state.job
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
        tenant_weight=state.tenant["weight"][tenant_slots],
        terms=terms,
    )
