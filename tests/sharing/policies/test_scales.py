"""The contract of every registered policy's scale."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.sharing.allocate import allocate
from fairlead.sharing.policy import Policy, View
from fairlead.sharing.problem.problem import Floats, Problem, tasks_that_fit
from fairlead.sharing.rules import registry
from fairlead.sharing.rules.registry import parse
from fairlead.sharing.rules.views import one_class, pool_machines
from tests.sharing.build import build
from tests.sharing.policies.claims import POLICIES, Claims

EVERY = [claims for entries in POLICIES.values() for claims in entries]
every_policy = pytest.mark.parametrize("claims", EVERY, ids=lambda claims: claims.spec)
REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "policies.md"
PAGES = Path(__file__).parents[3] / "src" / "fairlead" / "sharing" / "policies"


def policy_of(claims: Claims) -> Policy:
    found = parse(claims.spec)
    assert isinstance(found, Policy)
    return found


def scales(policy: Policy, problem: Problem) -> list[Floats]:
    """The scale as the policy is asked for it: once, or for each class of machines."""
    if policy.view is View.POOLED:
        return [policy.scale(pool_machines(problem))]
    if policy.view is View.EACH_MACHINE:
        return [policy.scale(one_class(problem, c)) for c in range(len(problem.count))]
    return [policy.scale(problem)]


def random_problems(cases: int, *, zeros: bool = False) -> list[Problem]:
    """Small ones with constraints; with `zeros`, resources that machines lack and jobs that can
    run nowhere. Every job that can run somewhere demands all three resources, so that every
    policy has a scale."""
    rng = np.random.default_rng(7)
    found = []
    for _ in range(20 * cases):
        jobs, classes = rng.integers(1, 5, size=2)
        capacity = rng.integers(0 if zeros else 1, 6, size=(classes, 3))
        eligible = rng.random((jobs, classes)) < 0.6
        if not zeros:
            eligible[np.arange(jobs), rng.integers(0, classes, size=jobs)] = True
        found.append(
            build(
                rng.integers(1, 5, size=(jobs, 3)).tolist(),
                capacity.tolist(),
                count=rng.integers(1, 4, size=classes).tolist(),
                eligible=eligible.tolist(),
            )
        )
    return found


def with_demand(problem: Problem, demand: Floats) -> Problem:
    holds = tasks_that_fit(demand, problem.capacity, problem.spread)
    return replace(problem, demand=demand, holds=holds, usable=problem.eligible & (holds > 0))


def test_every_policy_has_its_claims() -> None:
    assert list(POLICIES) == list(registry.POLICIES), (
        "say what each promises, in the registry's order, in tests/sharing/policies/claims.py"
    )


def test_every_page_is_a_policy_that_can_be_asked_for() -> None:
    pages = {page.stem for page in PAGES.glob("*.py")} - {"__init__"}
    assert pages == {*registry.POLICIES.values()}, (
        "name each page in POLICIES of src/fairlead/sharing/rules/registry.py"
    )


@pytest.mark.parametrize("name", registry.POLICIES)
def test_every_policy_has_its_place_in_the_reference(name: str) -> None:
    page = REFERENCE.read_text()
    there = re.search(rf"^## `{re.escape(name)}[`(]", page, re.MULTILINE)
    assert there, f"write a section on {name} into docs/reference/policies.md"
    row = re.search(rf"^\|[^|]*`{re.escape(name)}`[^|]*\| .* \| .* \|.*\|$", page, re.MULTILINE)
    assert row, f"write a row for {name} into `What they have in common` there"


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.py")), ids=lambda page: page.name)
def test_every_policy_fits_on_a_page(page: Path) -> None:
    assert len(page.read_text().splitlines()) <= 60


@every_policy
def test_scale_is_positive_and_finite_where_a_job_can_run_and_zero_elsewhere(
    claims: Claims, cases: int
) -> None:
    policy = policy_of(claims)
    seen = set()
    for problem in random_problems(cases, zeros=True):
        if claims.spec == "cmmf(r0)" and problem.total[0] == 0:
            continue  # no machine has any of the resource, so the policy refuses it
        parts = [problem.usable.any(axis=1)]
        if policy.view is View.EACH_MACHINE:
            parts = [problem.usable[:, c] for c in range(len(problem.count))]
        for scale, where in zip(scales(policy, problem), parts, strict=True):
            assert np.isfinite(scale).all()
            assert (scale > 0).tolist() == where.tolist()
            seen |= set(np.asarray(where).tolist())
    assert seen == {True, False}


@every_policy
def test_scale_does_not_depend_on_the_units_of_resources(claims: Claims, cases: int) -> None:
    policy = policy_of(claims)
    units = np.array([1024.0, 1 / 3, 1e9])
    for problem in random_problems(cases):
        other = replace(problem, capacity=problem.capacity * units)
        other = with_demand(other, problem.demand * units)
        for one, two in zip(scales(policy, problem), scales(policy, other), strict=True):
            assert two == pytest.approx(one, rel=1e-12)


@every_policy
def test_scale_has_its_degree_in_the_demand(claims: Claims, cases: int) -> None:
    policy = policy_of(claims)
    for problem in random_problems(cases):
        demand = problem.demand.copy()
        demand[0] *= 2.5
        other = with_demand(problem, demand)
        for one, two in zip(scales(policy, problem), scales(policy, other), strict=True):
            assert two[0] == pytest.approx(one[0] * 2.5**claims.degree, rel=1e-12)
            assert two[1:].tolist() == one[1:].tolist()


@pytest.mark.parametrize("claims", [c for c in EVERY if c.falls], ids=lambda claims: claims.spec)
def test_scale_never_rises_with_a_demand(claims: Claims, cases: int) -> None:
    policy = policy_of(claims)
    for problem in random_problems(cases):
        for r in range(3):
            demand = problem.demand.copy()
            demand[0, r] *= 1.5
            other = with_demand(problem, demand)
            for one, two in zip(scales(policy, problem), scales(policy, other), strict=True):
                assert two[0] <= one[0] * (1 + 1e-12)


@every_policy
def test_scale_depends_on_constraints_only_where_it_says_so(claims: Claims, cases: int) -> None:
    policy = policy_of(claims)
    changed = False
    for problem in random_problems(cases):
        opened = replace(problem, eligible=np.ones_like(problem.eligible))
        opened = with_demand(opened, problem.demand)
        for one, two in zip(scales(policy, problem), scales(policy, opened), strict=True):
            runs = one > 0  # on this one machine, where each machine is looked at alone
            changed |= not np.allclose(one[runs], two[runs], rtol=1e-12, atol=0)
    assert changed == claims.constraints_matter


@every_policy
def test_jobs_alike_have_the_same_scale(claims: Claims) -> None:
    twins = build([[1, 2, 3], [3, 1, 2], [1, 2, 3]], [[4, 5, 6], [7, 3, 2]])
    for scale in scales(policy_of(claims), twins):
        assert scale[0] == scale[2]


def test_tsf_counts_one_task_a_machine_where_a_job_spreads() -> None:
    problem = build([[1.0], [1.0]], [[8], [0.5]], count=[3, 2], spread=[True, False])
    assert scales(policy_of(Claims("tsf")), problem)[0].tolist() == [4, 25]


def test_two_df_counts_equal_shares_as_often_as_they_occur() -> None:
    problem = build([[40, 40, 8], [8, 5, 0]], [[200, 200, 200]])
    assert scales(policy_of(Claims("2df")), problem)[0] == pytest.approx([25, 1000])


def test_kdf_of_equal_shares_takes_the_larger_weight_first() -> None:
    # 0.1 + 0.2 of 0.3 and 1 of 1 are the same share, whatever the last bit of the quotient says.
    problem = build([[0.1 + 0.2, 1, 0.5]], [[0.3 * 3, 3, 3]])
    assert scales(policy_of(Claims("kdf(k=1, r0=2)")), problem)[0] == pytest.approx([1.5])
    assert scales(policy_of(Claims("kdf(k=1, r1=2)")), problem)[0] == pytest.approx([1.5])
    assert scales(policy_of(Claims("kdf(k=1, r2=2)")), problem)[0] == pytest.approx([3])


def test_kdf_weights_the_k_largest_shares_as_they_are() -> None:
    problem = build([[3, 2, 1]], [[6, 6, 6]])
    scale = scales(policy_of(Claims("kdf(k=2, r1=6, r2=100)")), problem)[0]
    assert scale == pytest.approx([1 / (1 / 2 * 6 * 1 / 3)])


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("cmmf(r2)", 'job "j1", demand: it demands no r2, so it has no share under cmmf(r2)'),
        ("cmmf(r9)", "no job demands any `r9`; jobs demand r0, r1, r2"),
        ("kdf(k=3)", 'job "j1", demand: it demands fewer than 3 resources'),
        ("kdf(k=0)", "k-DF with k = 0; k must be 1 or more"),
        ("kdf(k=2, r9=2)", "no job demands any `r9`; jobs demand r0, r1, r2"),
        ("kdf(k=2, r0=-2)", "weight r0=-2; a weight must be a positive finite number"),
    ],
)
def test_a_scale_that_does_not_exist_is_refused_in_a_sentence(spec: str, sentence: str) -> None:
    problem = build([[1, 1, 1], [1, 1, 0]], [[4, 4, 4]])
    with pytest.raises(InputError) as refusal:
        scales(policy_of(Claims(spec)), problem)
    assert sentence in str(refusal.value)


def test_a_resource_that_no_machine_has_is_refused_by_cmmf() -> None:
    problem = build([[1, 0], [0, 1]], [[4, 0]])
    with pytest.raises(InputError, match="no machine has any `r1`"):
        scales(policy_of(Claims("cmmf(r1)")), problem)


@pytest.mark.parametrize("spec", ["cmmf(r1)", "2df"])
def test_a_job_that_can_run_nowhere_is_no_reason_to_refuse(spec: str) -> None:
    problem = build([[1, 1], [1, 0]], [[4, 4]], eligible=[[1], [0]])
    scale = scales(policy_of(Claims(spec)), problem)[0]
    assert scale[0] > 0
    assert scale[1] == 0


def test_every_refused_job_is_named() -> None:
    problem = build([[1, 0], [0, 1], [2, 0]], [[4, 4]])
    with pytest.raises(InputError) as refusal:
        scales(policy_of(Claims("cmmf(r1)")), problem)
    assert [mistake.about[1] for mistake in refusal.value.mistakes] == ["j0", "j2"]


@pytest.mark.parametrize(
    ("count", "named", "rest"), [(11, 11, []), (12, 10, ["and 2 more jobs"])], ids=str
)
def test_refused_jobs_are_named_as_written_and_past_a_few_counted(
    count: int, named: int, rest: list[str]
) -> None:
    cluster = Cluster([Machine("m", {"cpu": 8, "gpu": 1})])
    # Their demands would put them in another order.
    jobs = [Job(f"j{index}", {"cpu": 1 + 7 * index % 5}) for index in range(count)]
    with pytest.raises(InputError) as refusal:
        allocate(cluster, [Job("g", {"gpu": 1}), *jobs], "cmmf(gpu)")
    found = refusal.value.mistakes
    assert [each.about[1] for each in found[:named]] == [job.name for job in jobs[:named]]
    assert [each.what for each in found[named:]] == rest
