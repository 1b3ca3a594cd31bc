"""Envy and the sharing incentive against their definitions, taken literally, machine by machine."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from fractions import Fraction

import pytest

from fairlead.audit.finding import Finding, Input
from fairlead.audit.outcome import Outcome, solve
from fairlead.audit.properties.registry import PROPERTIES
from fairlead.model.eligibility import may_use
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.studies.cases import placed
from tests.audit.build import OPTIONS
from tests.papers.cases import machines

RULES = ("tsf", "cdrf", "2df", "drfh", "per-machine-drf", "most-tasks")
WRONG = 1e-6


def drawn(seed: int, spread: float = 0.3) -> Input:
    """Tenants with one job each: weights, zeros, lists of machines, finite tasks, spread."""
    draw = random.Random(seed)
    where = machines(*((draw.randint(0, 3), draw.randint(1, 3)) for _ in range(3)))
    jobs, tenants = [], []
    for i in range(draw.randint(2, 4)):
        demand = draw.choice([(1, 0), (1, 1), (0, 1), (2, 1), (1, 3)])
        jobs.append(
            Job(
                f"j{i}",
                {"a": Fraction(demand[0], 3), "b": Fraction(demand[1], 3)},
                tenant=f"t{i}",
                machines=draw.choice([None, ["m1"], ["m2", "m3"], ["m1", "m2"]]),
                tasks=draw.choice([None, 3, 6]),
                spread=draw.random() < spread,
            )
        )
        tenants.append(Tenant(f"t{i}", weight=draw.choice([1, 2, 3])))
    return Input(Cluster(where, tenants), tuple(jobs))


def would_run(
    job: Job, bundle: Mapping[str, Mapping[str, float]], where: tuple[Machine, ...]
) -> float:
    """The tasks that the job would run with these resources on each machine."""
    total = 0.0
    for machine in where:
        there = bundle.get(machine.name)
        if there is not None and may_use(job, machine):
            tasks = min(there.get(r, 0.0) / float(d) for r, d in job.demand.items() if d)
            total += min(tasks, 1.0) if job.spread else tasks
    return total if job.tasks is None else min(total, float(job.tasks))


def outcomes(seed: int) -> Iterator[Outcome]:
    for rule in RULES:
        try:
            yield solve(drawn(seed), rule)
        except InputError:  # 2-DF has no scale for a job that demands one resource
            continue


def concerned(finding: Finding, name: str) -> int:
    return dict(finding.counts).get(name, 0)


def envious(outcome: Outcome) -> int:
    given, on = outcome.input, placed(outcome.allocation)
    where = given.cluster.machines
    weight = {tenant.name: float(tenant.weight or 1) for tenant in given.cluster.tenants}
    found = 0
    for me in given.jobs:
        mine = sum(on[me.name].get(machine.name, 0.0) for machine in where)
        for other in given.jobs:
            times = weight[me.tenant or ""] / weight[other.tenant or ""]
            bundle = {
                machine.name: {
                    r: float(d) * times * on[other.name].get(machine.name, 0.0)
                    for r, d in other.demand.items()
                }
                for machine in where
            }
            could = would_run(me, bundle, where)
            found += other is not me and mine < could * (1 - WRONG)
    return found


def below_their_part(outcome: Outcome) -> int:
    given, on = outcome.input, placed(outcome.allocation)
    where = given.cluster.machines
    weight = {tenant.name: float(tenant.weight or 1) for tenant in given.cluster.tenants}
    all_of_it = {m.name: {r: float(a) for r, a in m.capacity.items()} for m in where}
    runs = [job for job in given.jobs if would_run(job, all_of_it, where) > 0]
    whole = sum(weight[job.tenant or ""] for job in runs)
    found = 0
    for job in runs:
        part = weight[job.tenant or ""] / whole
        bundle = {name: {r: a * part for r, a in has.items()} for name, has in all_of_it.items()}
        mine = sum(on[job.name].get(machine.name, 0.0) for machine in where)
        found += mine < would_run(job, bundle, where) * (1 - WRONG)
    return found


def test_envy_is_what_the_definition_says(cases: int) -> None:
    seen = 0
    for seed in range(4 * cases):
        for outcome in outcomes(seed):
            finding = PROPERTIES["envy-freeness"].check(outcome, OPTIONS)
            literal = envious(outcome)
            assert concerned(finding, "envious") == literal, (seed, outcome.rule.spec)
            seen += literal > 0
    assert seen >= 5


def test_the_sharing_incentive_is_what_the_definition_says(cases: int) -> None:
    seen = 0
    for seed in range(4 * cases):
        for outcome in outcomes(seed):
            finding = PROPERTIES["sharing-incentive"].check(outcome, OPTIONS)
            literal = below_their_part(outcome)
            assert concerned(finding, "below") == literal, (seed, outcome.rule.spec)
            seen += literal > 0
    assert seen >= 10


@pytest.mark.parametrize("rule", ["tsf", "drfh"])
def test_one_job_tenants_that_do_not_spread_never_envy_under_tsf_and_drfh(
    rule: str, cases: int
) -> None:
    for seed in range(4 * cases):
        finding = PROPERTIES["envy-freeness"].check(solve(drawn(seed, 0.0), rule), OPTIONS)
        assert concerned(finding, "envious") == 0, seed


def test_a_job_that_spreads_may_envy_under_tsf() -> None:
    # At most one task a machine: what it could run alone is no longer linear in the machines, and
    # the theorem says nothing of it.
    what = Input(
        Cluster([Machine("m", {"a": 3})]),
        (Job("u", {"a": 1}, spread=True), Job("v", {"a": 1})),
    )
    finding = PROPERTIES["envy-freeness"].check(solve(what, "tsf"), OPTIONS)
    assert finding.witness is not None
    assert (finding.witness.before, finding.witness.after) == pytest.approx((1, 3 / 4))
