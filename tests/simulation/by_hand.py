"""Small workloads written out in a test."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fairlead.model.constraint import Operator, Requirement
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.simulation.workload import JobBatch, MachineTable, Resource, Workload

SECOND = 1_000_000


def workload(
    capacity: list[list[int]],
    jobs: list[tuple[int, int, list[int], list[int]]],
    *,
    needs: list[int] | None = None,
    labels: list[dict[str, str]] | None = None,
    tenants: tuple[Tenant, ...] = (),
    tenant: list[int] | None = None,
) -> Workload:
    """Jobs are (submitted in seconds, tasks, demand, durations in seconds)."""
    machines = len(capacity)
    first = np.cumsum([0, *(len(times) for _, _, _, times in jobs)])
    batch = JobBatch(
        names=None,
        submit=np.array([at * SECOND for at, _, _, _ in jobs]),
        tenant=np.array(tenant or [-1] * len(jobs)),
        demand=np.array([demand for _, _, demand, _ in jobs]),
        tasks=np.array([tasks for _, tasks, _, _ in jobs]),
        needs=np.array(needs or [0] * len(jobs), np.uint64)[:, None],
        spread=np.zeros(len(jobs), np.bool_),
        gang=np.ones(len(jobs), np.int64),
        durations=np.array([t * SECOND for _, _, _, times in jobs for t in times]),
        first=first,
    )
    return Workload(
        name="by hand",
        resources=tuple(Resource(f"r{r}", Fraction(1)) for r in range(len(capacity[0]))),
        machines=MachineTable(
            names=tuple(f"m{m}" for m in range(machines)),
            labels=tuple(FrozenMap(label) for label in labels or [{}] * machines),
            time=np.zeros(machines, np.int64),
            machine=np.arange(machines),
            kind=np.zeros(machines, np.int64),
            capacity=np.array(capacity),
        ),
        tenants=tenants,
        terms=(Requirement("ssd", Operator.EXISTS),),
        batches=lambda: iter([batch]),
    )
