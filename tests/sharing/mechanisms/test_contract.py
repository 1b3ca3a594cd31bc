"""The promises of every mechanism, whatever it divides by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from fairlead.model.machine import Cluster
from fairlead.sharing.filling.pool_weights import tenant_weights
from fairlead.sharing.problem.compile import compile_problem
from fairlead.sharing.problem.problem import Floats, Problem
from fairlead.sharing.rules.mechanism import Mechanism, Outcome
from fairlead.sharing.rules.registry import MECHANISMS, parse
from tests.reference.instances import Instance, instance
from tests.sharing.test_agreement_invariance import rebuilt
from tests.tolerances import EXACT, close

NAMES = tuple(MECHANISMS)
INSTANCES = 6


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
def test_jobs_that_are_alike_get_alike(name: str, cases: int) -> None:
    for cluster, jobs in some(cases, "equal"):
        if not jobs:
            continue
        if jobs[0].tenant is None and any(tenant.pool for tenant in cluster.tenants):
            continue
        twin = replace(jobs[0], name="twin")
        problem, _, outcome = allocated((cluster, (*jobs, twin)), name)
        got = by_name(problem, outcome)
        assert close(got["twin"], got[jobs[0].name], 1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_names_and_the_order_of_writing_change_nothing(name: str, cases: int) -> None:
    for cluster, jobs in some(cases, "renamed"):
        problem, _, outcome = allocated((cluster, jobs), name)
        new = {m.name: f"x{len(cluster.machines) - i}" for i, m in enumerate(cluster.machines)}
        new |= {job.name: f"y-{job.name}" for job in jobs}
        there, others = rebuilt((cluster, jobs), new)
        again, _, renamed = allocated(
            (Cluster(there.machines[::-1], there.tenants), others[::-1]), name
        )
        before, after = by_name(problem, outcome), by_name(again, renamed)
        assert all(close(before[j.name], after[f"y-{j.name}"], 1e-8) for j in jobs)
