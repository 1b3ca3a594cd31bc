"""The promises of every mechanism, whatever it divides by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import numpy as np
import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.sharing.filling.pool_weights import tenant_weights
from fairlead.sharing.problem.compile import compile_problem
from fairlead.sharing.problem.problem import Floats, Problem
from fairlead.sharing.rules.mechanism import Mechanism, Outcome
from fairlead.sharing.rules.registry import MECHANISMS, parse
from tests.reference.instances import Instance, instance
from tests.tolerances import EXACT, close

NAMES = tuple(MECHANISMS)
INSTANCES = 12


def allocated(found: Instance, name: str) -> tuple[Problem, Floats, Outcome]:
    cluster, jobs = found
    problem = compile_problem(cluster, jobs)
    weight = tenant_weights(problem, problem.alone).weight
    rule = parse(name)
    assert isinstance(rule, Mechanism)
    return problem, weight, rule.allocate(problem, weight)


def by_name(problem: Problem, outcome: Outcome) -> Mapping[str, float]:
    return dict(zip(problem.job_names, outcome.tasks.sum(axis=1).tolist(), strict=True))


def some(cases: int, seed: str) -> Sequence[Instance]:
    random = Random(seed)
    return [instance(random) for _ in range(INSTANCES * cases)]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_exceeded(name: str, cases: int) -> None:
    for found in some(cases, "feasible"):
        problem, _, outcome = allocated(found, name)
        tasks = outcome.tasks
        assert (tasks >= 0).all()
        assert (tasks[~problem.usable] == 0).all()
        for c, count in enumerate(problem.count):
            for r in range(len(problem.resources)):
                used = float(tasks[:, c] @ problem.demand[:, r])
                assert used <= count * problem.capacity[c, r] * (1 + EXACT)
            assert (tasks[problem.spread, c] <= count * (1 + EXACT)).all()
        assert (tasks.sum(axis=1) <= problem.tasks * (1 + EXACT)).all()
        below = held_below(problem, tasks)
        for limit in problem.tree.limits:
            assert below[limit.tenant, limit.resource] <= limit.amount * (1 + EXACT)


def held_below(problem: Problem, tasks: Floats) -> Floats:
    """(T, R) what all jobs of a tenant and of those below it hold."""
    held = np.zeros((len(problem.tree.names), len(problem.resources)))
    for job, node in enumerate(problem.tree.job_tenant):
        while node >= 0:
            held[node] += tasks[job].sum() * problem.demand[job]
            node = problem.tree.parent[node]
    return held


@pytest.mark.parametrize("name", NAMES)
def test_the_same_input_gives_the_same_bytes(name: str) -> None:
    for found in some(1, "deterministic")[:20]:
        first, second = allocated(found, name)[2], allocated(found, name)[2]
        assert first.tasks.tobytes() == second.tasks.tobytes()
        if first.prices is not None and second.prices is not None:
            assert first.prices.tobytes() == second.prices.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_job_that_can_run_nowhere_gets_nothing_and_takes_nothing_from_the_others(
    name: str,
) -> None:
    cluster = Cluster([Machine("m", {"cpu": 6})], [Tenant("t"), Tenant("u")])
    one, two = Job("a", {"cpu": 1}, tenant="t"), Job("b", {"cpu": 1}, tenant="u")
    lost = Job("c", {"cpu": 1}, tenant="t", where="gpu")
    problem, _, outcome = allocated((cluster, (one, two, lost)), name)
    assert by_name(problem, outcome) == pytest.approx({"a": 3, "b": 3, "c": 0})


@pytest.mark.parametrize("name", NAMES)
def test_jobs_that_are_alike_get_alike(name: str, cases: int) -> None:
    for cluster, jobs in some(cases, "equal"):
        if not jobs:
            continue
        twin = Job(
            "twin",
            jobs[0].demand,
            tenant=jobs[0].tenant,
            where=jobs[0].where,
            tasks=None if jobs[0].tasks is None else int(jobs[0].tasks),
            machines=jobs[0].machines,
            exclude=jobs[0].exclude,
            spread=jobs[0].spread,
        )
        if jobs[0].tenant is None and any(tenant.pool for tenant in cluster.tenants):
            continue
        problem, _, outcome = allocated((cluster, (*jobs, twin)), name)
        got = by_name(problem, outcome)
        assert close(got["twin"], got[jobs[0].name], 1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_names_and_the_order_of_writing_change_nothing(name: str, cases: int) -> None:
    for cluster, jobs in some(cases, "renamed"):
        problem, _, outcome = allocated((cluster, jobs), name)
        new = {
            machine.name: f"x{len(cluster.machines) - i}"
            for i, machine in enumerate(cluster.machines)
        }
        tenants = [
            Tenant(
                t.name,
                weight=t.weight,
                parent=t.parent,
                limit=t.limit,
                pool=None if t.pool is None else [new[m] for m in t.pool],
            )
            for t in cluster.tenants
        ]
        machines = [Machine(new[m.name], m.capacity, m.labels) for m in cluster.machines]
        others = [
            Job(
                f"y-{j.name}",
                j.demand,
                tenant=j.tenant,
                where=j.where,
                spread=j.spread,
                tasks=None if j.tasks is None else int(j.tasks),
                machines=None if j.machines is None else [new[m] for m in j.machines],
                exclude=[new[m] for m in j.exclude],
            )
            for j in jobs
        ]
        again, _, renamed = allocated((Cluster(machines[::-1], tenants), tuple(others[::-1])), name)
        before, after = by_name(problem, outcome), by_name(again, renamed)
        assert all(close(before[j.name], after[f"y-{j.name}"], 1e-8) for j in jobs)
