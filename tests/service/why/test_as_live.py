"""What-if of the present and live shares are one rule: the same fair numbers in drawn worlds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.service.requests import Caller, PutTenant, SubmitJobs
from fairlead.service.settings import Settings
from fairlead.service.why.whatif import answer_what_if, live_input_of, take_present
from tests.service.fairness.live import Live
from tests.tolerances import EXACT

POLICIES = ("tsf", "cdrf", "drfh", "drf", "asset", "cmmf(cpu)", "kdf(k=1, gpu=2)")
NO_CHANGE = {"set_limit": ["idle:cpu=1000"]}
"""A limit of a tenant that has no job: whatever is told of before is told of after."""


def drawn_machines(random: Random) -> list[Machine]:
    """Machines that tasks do not fill without a rest."""
    machines = []
    for number in range(random.randint(2, 5)):
        has: dict[str, Any] = {
            "cpu": random.choice([3, 4, 5, 7, "2.5"]),
            "memory": random.choice([5, 8, 11]),
        }
        if random.random() < 0.5:
            has["gpu"] = random.choice([1, 2, 3])
        machines.append(Machine(f"m{number}", has, {"zone": random.choice(["a", "b"])}))
    return machines


def drawn_tenants(random: Random, names: list[str]) -> list[Tenant]:
    """Tenants with pools, or with weights and parents, some of them with limits."""
    pools = random.random() < 0.3
    tenants: list[Tenant] = []
    for number in range(random.randint(1, 3)):
        more: dict[str, Any] = {}
        if pools:
            more["pool"] = random.sample(names, random.randint(1, len(names)))
        elif random.random() < 0.5:
            more["weight"] = random.choice([2, "0.5", 3])
        if tenants and not pools and random.random() < 0.3:
            more["parent"] = random.choice(tenants).name
        if random.random() < 0.4:
            more["limit"] = {random.choice(["cpu", "memory", "gpu"]): random.choice([1, 2, 6])}
        tenants.append(Tenant(f"t{number}", **more))
    idle: dict[str, Any] = {"pool": names[:1]} if pools else {}
    return [*tenants, Tenant("idle", **idle)]


def drawn_job(random: Random, number: int, names: list[str], tenants: list[Tenant]) -> Job:
    """A job with some kind of constraint, gang and demand; some can never run."""
    demand: dict[str, Any] = {"cpu": random.choice([1, 2, 3, "1.5", "0.5", 5])}
    if random.random() < 0.8:
        demand["memory"] = random.choice([1, 2, 3, 4, 7])
    if random.random() < 0.4:
        demand["gpu"] = random.choice([1, 2, 3, "0.5", "0.3", "0.7"])
    gang = random.choice([1, 1, 1, 2, 3, 5])
    more: dict[str, Any] = {}
    if random.random() < 0.25:
        more["where"] = random.choice(["zone = a", "zone = b", "zone = c"])
    if random.random() < 0.2:
        more["machines"] = random.sample(names, random.randint(1, len(names)))
    if random.random() < 0.15:
        more["exclude"] = random.sample(names, 1)
    owners: list[str | None] = [tenant.name for tenant in tenants if tenant.name != "idle"]
    if tenants[0].pool is None:
        owners.append(None)
    return Job(
        f"j{number}",
        demand,
        tenant=random.choice(owners),
        gang=gang,
        tasks=gang * random.randint(1, 8),
        spread=random.random() < 0.15,
        command=["true"],
        **more,
    )


def drawn_world(seed: int) -> tuple[Live, str]:
    """A service in which some tasks run and some wait, machines drain and machines are lost."""
    random = Random(seed)
    machines = drawn_machines(random)
    names = [machine.name for machine in machines]
    tenants = drawn_tenants(random, names)
    policy = random.choice(POLICIES)
    live = Live(machines, (), settings=Settings(tenants=tuple(tenants), policy=policy))
    for number in range(random.randint(1, 6)):
        job = drawn_job(random, number, names, tenants)
        # A policy may refuse the job.
        live.service.step(live.now, (SubmitJobs(Caller(), (job,)),))
        live.step()
    for name in random.sample(names[1:], min(len(names) - 1, random.choice([0, 0, 1, 2]))):
        if random.random() < 0.5:
            live.drain(name)
        else:
            live.world.leave(name)
    live.step(seconds=30)
    live.step(seconds=30)
    return live, policy


@pytest.mark.parametrize("seed", range(20))
def test_fair_numbers_of_shares_and_of_what_if_are_the_same(seed: int) -> None:
    live, policy = drawn_world(seed)
    core = live.service.core
    assert core is not None
    told = live.stand().shares(jobs=True)
    if not told.jobs:  # the policy refused all of them
        with pytest.raises(InputError, match="no job is present"):
            live_input_of(take_present(core))
        return
    found = answer_what_if(live.now, live_input_of(take_present(core)), NO_CHANGE, policy)
    jobs = {row["job"]: row["before"] for row in found.whatif["jobs"]}
    assert jobs == {job.name: pytest.approx(job.fair_tasks, rel=EXACT) for job in told.jobs}
    tenants = {row["tenant"]: row["before"] for row in found.whatif["tenants"]}
    for tenant in told.tenants:
        assert tenants[tenant.name] == pytest.approx(tenant.fair, rel=EXACT), tenant.name
    assert {row["verdict"] for row in found.whatif["jobs"]} <= {"same"}


def made(live: Live, kind: str, tenant: Tenant, machine: Machine, name: str) -> None:
    """The change comes, in the service or in its world."""
    if kind == "weight":
        live.step(PutTenant(Caller(), replace(tenant, weight=Fraction(3))))
    elif kind == "set_limit":
        limit = FrozenMap({**tenant.limit, "cpu": Fraction(5)})
        live.step(PutTenant(Caller(), replace(tenant, limit=limit)))
    elif kind == "add":
        live.world.join(Machine(name, machine.capacity, machine.labels))
    else:
        live.world.leave(machine.name)
    live.step(seconds=30)
    live.step(seconds=90)


@pytest.mark.parametrize("seed", range(20))
def test_what_if_says_what_is_fair_once_the_change_is_made(seed: int) -> None:
    live, policy = drawn_world(seed)
    random = Random(seed)
    core = live.service.core
    assert core is not None
    present = take_present(core)
    if not present.jobs:  # the policy refused all of them
        return
    machine = random.choice([m for m, up in zip(present.machines, present.up, strict=True) if up])
    tenant = present.tenants[0]
    kinds = {"set_limit": f"{tenant.name}:cpu=5"}
    if tenant.pool is None:
        kinds["weight"] = f"{tenant.name}=3"
    there = {each.name for each in present.machines} - {machine.name}
    if sum(present.up) > 1 and all(there & set(each.pool or there) for each in present.tenants):
        kinds["remove"] = machine.name
    if not any(machine.name in (*(job.machines or ()), *job.exclude) for job in present.jobs):
        kinds["add"] = f"1 x {machine.name}"  # on nobody's list, where the new one would be, too
    kind = random.choice(sorted(kinds))
    asked = {kind: [kinds[kind]]}
    found = answer_what_if(live.now, live_input_of(present), asked, policy)
    made(live, kind, tenant, machine, next(iter(found.whatif["added"]), ""))
    told = live.stand().shares(jobs=True)
    after = {row["job"]: row["after"] for row in found.whatif["jobs"]}
    for job in told.jobs:
        # One that was bound to the machine that went is none any more.
        assert (after[job.name] or 0) == pytest.approx(job.fair_tasks, rel=EXACT), (kind, job.name)
    shares = {row["tenant"]: row["after"] for row in found.whatif["tenants"]}
    for each in told.tenants:
        assert (shares[each.name] or 0) == pytest.approx(each.fair, rel=EXACT), (kind, each.name)
