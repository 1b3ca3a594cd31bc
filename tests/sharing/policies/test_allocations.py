"""The contract of what comes out: of every registered policy and mechanism."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import linprog

import fairlead
from fairlead.model.allocation import Allocation
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.sharing.rules import registry
from tests.reference.scales import can_never_run
from tests.sharing.policies.claims import MECHANISMS, POLICIES, Claims
from tests.transcripts import ROOT

EVERY = [c for entries in (POLICIES | MECHANISMS).values() for c in entries]
everything = pytest.mark.parametrize("claims", EVERY, ids=lambda claims: claims.spec)
RESOURCES = ("r0", "r1", "r2")
TOLERANCE = 1e-7


@dataclass(frozen=True)
class Case:
    """A small cluster; the last job is the first one again, under another name."""

    cluster: Cluster
    jobs: tuple[Job, ...]

    def allocate(self, claims: Claims) -> Allocation:
        return fairlead.allocate(self.cluster, self.jobs, policy=claims.spec)


def random_cases(count: int) -> list[Case]:
    """Ties, constraints, finite and spread jobs; everybody demands all resources, so that every
    policy has a scale."""
    draw = random.Random(11)
    found = []
    for _ in range(count):
        machines = [
            Machine(f"m{i}", {r: draw.randint(1, 6) for r in RESOURCES})
            for i in range(draw.randint(1, 4))
        ]
        names = [machine.name for machine in machines]
        jobs = [
            Job(
                f"j{i}",
                {r: draw.randint(1, 4) for r in RESOURCES},
                tasks=draw.choice([None, None, 1, 3]),
                machines=draw.sample(names, draw.randint(1, len(names))),
                spread=draw.random() < 0.2,
            )
            for i in range(draw.randint(1, 4))
        ]
        found.append(Case(Cluster(machines), (*jobs, replace(jobs[0], name="twin"))))
    return found


def tasks(allocation: Allocation) -> list[float]:
    return [job.tasks for job in allocation.jobs]


def test_every_mechanism_has_its_claims() -> None:
    assert list(MECHANISMS) == list(registry.MECHANISMS), (
        "say what each promises, in the registry's order, in tests/sharing/policies/claims.py"
    )


def test_every_mechanism_can_be_asked_for() -> None:
    pages = {
        path.stem
        for path in (ROOT / "src/fairlead/sharing/mechanisms").glob("*.py")
        if "\n@mechanism(" in path.read_text(encoding="utf-8")
    }
    assert pages == {*registry.MECHANISMS.values()}, (
        "name each mechanism in MECHANISMS of src/fairlead/sharing/rules/registry.py"
    )


@everything
def test_the_allocation_names_the_policy_in_its_canonical_form(claims: Claims) -> None:
    (case,) = random_cases(1)
    assert case.allocate(claims).policy == claims.spec


@everything
def test_a_cluster_without_jobs_is_shared_among_nobody(claims: Claims) -> None:
    (case,) = random_cases(1)
    empty = replace(case, jobs=())
    if "r0" in claims.spec:  # a resource that no job demands is refused, whoever is there
        with pytest.raises(InputError, match="no job demands"):
            empty.allocate(claims)
    else:
        assert empty.allocate(claims).jobs == ()


@everything
def test_jobs_alike_get_the_same(claims: Claims, cases: int) -> None:
    for case in random_cases(2 * cases):
        found = tasks(case.allocate(claims))
        if claims.alike:
            assert found[-1] == pytest.approx(found[0], rel=1e-6, abs=1e-9)


@everything
def test_the_answer_is_the_same_every_time_and_in_any_order(claims: Claims, cases: int) -> None:
    for case in random_cases(2 * cases):
        found = case.allocate(claims)
        assert case.allocate(claims) == found
        turned = replace(case, jobs=case.jobs[::-1]).allocate(claims)
        if claims.alike:
            assert tasks(turned)[::-1] == pytest.approx(tasks(found), rel=1e-6, abs=1e-9)


@everything
def test_nothing_is_given_that_is_not_there(claims: Claims, cases: int) -> None:
    for case in random_cases(2 * cases):
        found = case.allocate(claims)
        for job, share in zip(case.jobs, found.jobs, strict=True):
            assert job.tasks is None or share.tasks <= float(job.tasks) * (1 + TOLERANCE)
        if not claims.places:
            assert all(share.placements is None for share in found.jobs)
            assert any("may not fit the real machines" in warning for warning in found.warnings)
            held = use(case, np.array(tasks(found))[:, None]).sum(axis=0)
            assert (held <= capacity(case).sum(axis=0) * (1 + TOLERANCE)).all()
            continue
        placed, counts = placements(case, found)
        assert placed.sum(axis=1) == pytest.approx(tasks(found))
        for c, members in enumerate(counts):
            there = capacity(case)[members].sum(axis=0)
            assert (use(case, placed[:, [c]]).sum(axis=0) <= there * (1 + TOLERANCE)).all()
            for j, job in enumerate(case.jobs):
                allowed = job.machines is None or case.cluster.machines[members[0]].name in (
                    job.machines
                )
                assert allowed or placed[j, c] == 0
                assert not job.spread or placed[j, c] <= len(members) * (1 + TOLERANCE)


@pytest.mark.parametrize("claims", [c for c in EVERY if c.pareto], ids=lambda claims: claims.spec)
def test_nobody_can_get_more_without_another_getting_less(claims: Claims, cases: int) -> None:
    for case in random_cases(2 * cases):
        found = tasks(case.allocate(claims))
        more = most_beyond(case, found, pooled=not claims.places)
        assert more <= 1e-5 * max(sum(found), 1)


def capacity(case: Case) -> np.ndarray:
    return np.array([[float(m.capacity[r]) for r in RESOURCES] for m in case.cluster.machines])


def use(case: Case, placed: np.ndarray) -> np.ndarray:
    """(J, R) what the jobs hold."""
    demand = np.array([[float(job.demand[r]) for r in RESOURCES] for job in case.jobs])
    held: np.ndarray = placed.sum(axis=1)[:, None] * demand
    return held


def placements(case: Case, found: Allocation) -> tuple[np.ndarray, list[list[int]]]:
    """(J, C) tasks by class, and the machines of each class."""
    names = [machine.name for machine in case.cluster.machines]
    counts = [[names.index(name) for name in each.machines] for each in found.classes]
    at = {each.index: c for c, each in enumerate(found.classes)}
    placed = np.zeros((len(case.jobs), len(counts)))
    for j, share in enumerate(found.jobs):
        for placement in share.placements or ():
            placed[j, at[placement.machine_class]] = placement.tasks
    return placed, counts


def most_beyond(case: Case, found: list[float], *, pooled: bool) -> float:
    """The tasks that are possible beside these while nobody has less, by a linear program of its
    own."""
    there = capacity(case)
    if pooled:
        there = there.sum(axis=0, keepdims=True)
    pairs = [
        (j, m)
        for j, job in enumerate(case.jobs)
        for m in range(len(there))
        if not can_never_run(case.cluster, job)
        and (pooled or job.machines is None or case.cluster.machines[m].name in job.machines)
    ]
    if not pairs:
        return 0.0
    rows, bounds = [], []
    for m in range(len(there)):
        for r, name in enumerate(RESOURCES):
            rows.append([float(case.jobs[j].demand[name]) * (k == m) for j, k in pairs])
            bounds.append(there[m, r])
    for j, job in enumerate(case.jobs):
        mine = [float(i == j) for i, _ in pairs]
        rows.append([-x for x in mine])
        bounds.append(-found[j] * (1 - 1e-9))
        limit = np.inf if job.tasks is None else float(job.tasks)
        if pooled and job.spread:
            limit = min(limit, len(case.cluster.machines))
        if np.isfinite(limit):
            rows.append(mine)
            bounds.append(limit)
    most = [(0, 1 if case.jobs[j].spread and not pooled else None) for j, _ in pairs]
    solved = linprog([-1.0] * len(pairs), A_ub=rows, b_ub=bounds, bounds=most)
    assert solved.status == 0
    return -float(solved.fun) - sum(found)
