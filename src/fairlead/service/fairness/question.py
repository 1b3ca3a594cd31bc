"""Reads the question for an adviser off a core."""

from __future__ import annotations

import numpy as np

from fairlead.scheduling.core import Core
from fairlead.scheduling.reading.present import Jobs, Machines, Tenants, measuring_policy
from fairlead.service.fairness.interface import Question
from fairlead.sharing.present import Snapshot
from fairlead.sharing.present import Tenants as TenantTree


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
    machines, tenants, jobs = Machines(core), Tenants(core), Jobs(core)
    return Question(
        number=number,
        time=now,
        policy=measuring_policy(core),
        resources=tuple(unit.name for unit in core.ids.units),
        machines=tuple(machine.name for machine in machines.values),
        jobs=jobs.names,
        tenants=tuple(tenant.name for tenant in tenants.values),
        now=Snapshot(
            time=now,
            capacity=machines.capacity,
            satisfies=machines.satisfies,
            job=np.arange(len(jobs.slot)),
            tenant=tenants.owners(jobs),
            demand=jobs.demand,
            needs=jobs.needs,
            spread=jobs.spread,
            waiting=jobs.waiting,
            held=jobs.held,
            scale=jobs.measuring_scale(machines),
            gang=jobs.gang,
            piece=np.array([unit.piece for unit in core.ids.units], np.int64),
        ),
        tree=TenantTree(tenants.parent, tenants.weight, tenants.limit),
        up=machines.up,
        slot=jobs.slot,
        seq=jobs.seq,
        guarantees=guarantees,
        advice=advice,
    )
