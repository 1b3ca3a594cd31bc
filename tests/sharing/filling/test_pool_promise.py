"""Theorem 1 of the TSF paper: with weights from pools nobody is below what its pool could run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

import pytest

import fairlead
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from tests.reference.scales import can_never_run

# For linear scales; those below need a demand of every resource that they look at.
WITH_ZEROS = ["tsf", "cdrf", "drfh", "drf", "asset", "asset(pooled=true)", "kdf(k=1)"]
WITHOUT_ZEROS = ["2df", "kdf(k=2, memory=3, pooled=true)", "cmmf(cpu)", "cmmf(memory)"]


def in_pool(job: Job, pool: list[Machine], limit: Fraction | None) -> Fraction:
    """k: the tasks that the pool alone could run."""
    fits = Fraction(0)
    for machine in pool:
        if machine.name in (job.machines or ()):
            most = min(machine.capacity[r] / need for r, need in job.demand.items() if need)
            fits += min(most, Fraction(1)) if job.spread else most
    if job.tasks is not None:
        fits = min(fits, job.tasks)
    need = job.demand.get("cpu", Fraction(0))
    return min(fits, limit / need) if limit is not None and need else fits


def cases_of(seed: int, *, zeros: bool) -> tuple[Cluster, list[Job], list[Fraction]] | None:
    """One-job tenants on one level, each with its own machines; None where a pool is of no use."""
    draw = random.Random(seed)
    machines: list[Machine] = []
    tenants: list[Tenant] = []
    pools: list[list[Machine]] = []
    for i in range(draw.randint(2, 4)):
        pools.append(
            [
                Machine(f"m{i}{k}", {"cpu": draw.randint(1, 6), "memory": draw.randint(1, 6)})
                for k in range(draw.randint(1, 2))
            ]
        )
        machines += pools[-1]
        limit = {"cpu": draw.randint(1, 6)} if draw.random() < 0.3 else {}
        tenants.append(Tenant(f"t{i}", pool=[m.name for m in pools[-1]], limit=limit))
    names = [machine.name for machine in machines]
    jobs = []
    for tenant in tenants:
        cpu, memory = draw.randint(1, 4), draw.randint(1, 4)
        if zeros and draw.random() < 0.4:
            cpu, memory = draw.choice([(0, memory), (cpu, 0)])
        jobs.append(
            Job(
                f"j{tenant.name}",
                {"cpu": cpu, "memory": memory},
                tenant=tenant.name,
                tasks=draw.choice([None, 1, 3]),
                machines=draw.sample(names, draw.randint(1, len(names))),
                spread=draw.random() < 0.2,
            )
        )
    promised = [
        in_pool(job, pool, tenant.limit.get("cpu"))
        for job, pool, tenant in zip(jobs, pools, tenants, strict=True)
    ]
    cluster = Cluster(machines, tenants)
    able = all(promised) and not any(can_never_run(cluster, job) for job in jobs)
    return (cluster, jobs, promised) if able else None


def some(count: int, *, zeros: bool) -> Iterator[tuple[Cluster, list[Job], list[Fraction]]]:
    seed = 0
    while count:
        case = cases_of(seed, zeros=zeros)
        seed += 1
        if case is not None:
            count -= 1
            yield case


@pytest.mark.parametrize("policy", WITH_ZEROS + WITHOUT_ZEROS)
def test_nobody_is_below_its_pool_under_any_linear_scale(policy: str, cases: int) -> None:
    for cluster, jobs, promised in some(3 * cases, zeros=policy in WITH_ZEROS):
        found = fairlead.allocate(cluster, jobs, policy=policy)
        for share, k in zip(found.jobs, promised, strict=True):
            assert share.tasks >= float(k) * (1 - 1e-9)


def test_shares_are_tasks_over_those_in_the_pool_whatever_the_linear_scale(cases: int) -> None:
    """With one job each the share is n / k, so the policies of one view agree."""
    for cluster, jobs, promised in some(3 * cases, zeros=False):
        by_tsf = fairlead.allocate(cluster, jobs, policy="tsf")
        for share, tenant, k in zip(by_tsf.jobs, by_tsf.tenants, promised, strict=True):
            assert tenant.share == pytest.approx(share.tasks / float(k), rel=1e-9)
        for policy in ("cdrf", "drfh", "2df", "cmmf(cpu)", "asset"):
            found = fairlead.allocate(cluster, jobs, policy=policy)
            assert [job.tasks for job in found.jobs] == pytest.approx(
                [job.tasks for job in by_tsf.jobs], rel=1e-7
            )
