"""The CDRF lottery: the papers' numbers, and against everything that small inputs allow."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from fairlead.cli.main import main
from fairlead.model.check import check, with_implied_tenants
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.sharing.allocate import allocate
from fairlead.sharing.filling.rates import rates
from fairlead.sharing.solvers.whole import packing
from fairlead.sharing.solvers.whole.packing import Work
from fairlead.sharing.whole_tasks.approximations import cdrf_lottery
from fairlead.sharing.whole_tasks.counts import Counts
from fairlead.sharing.whole_tasks.lottery import draw, expected
from fairlead.sharing.whole_tasks.pool_weights import with_pools
from fairlead.sharing.whole_tasks.registry import whole_names
from tests.sharing.whole_tasks.small import Draw, counted, drawn, feasible

FIGURE_3 = (
    Cluster([Machine("m1", {"cpu": 4, "ram": 6}), Machine("m2", {"cpu": 4, "ram": 4})], [], []),
    (Job("a", {"cpu": 1, "ram": 3}), Job("b", {"cpu": 2, "ram": 1})),
)


def max_min(points: np.ndarray, counts: Counts) -> np.ndarray:
    """(J,) the max-min of tasks / stand-alone tasks over the convex hull of the points, by one
    linear program for each job in each round."""
    scale, parts = counts.usable.astype(float), len(points)
    weight = np.array([float(each) for each in counts.weight])
    has, active = np.zeros(points.shape[1]), scale > 0
    while active.any():
        rate = rates(counts.problem.tree, weight, active) * scale
        best = linprog(
            np.append(np.zeros(parts), -1.0),
            A_ub=np.column_stack([-points.T, rate]),
            b_ub=1e-9 - has,
            A_eq=[np.append(np.ones(parts), 0.0)],
            b_eq=[1.0],
            bounds=[(0, None)] * (parts + 1),
        )
        has = has + rate * -best.fun
        stuck = np.zeros_like(active)
        for j in np.flatnonzero(active):
            more = linprog(
                -points[:, j], A_ub=-points.T, b_ub=1e-9 - has, A_eq=[np.ones(parts)], b_eq=[1.0]
            )
            stuck[j] = -more.fun <= has[j] + 1e-6
        assert stuck.any()
        active &= ~stuck
    return has


def test_figure_3_is_two_allocations_with_two_and_five_sevenths() -> None:
    answer = allocate(*FIGURE_3, "cdrf-lottery")
    assert answer.whole is not None
    chances = {chance.jobs: chance.probability for chance in answer.whole.lottery}
    assert chances == {
        (("a", 2), ("b", 2)): Fraction(5, 7),
        (("a", 1), ("b", 3)): Fraction(2, 7),
    }
    assert [job.tasks for job in answer.jobs] == pytest.approx([12 / 7, 16 / 7], rel=1e-11)
    assert answer.certificate is not None
    assert answer.certificate.gap == pytest.approx(0, abs=1e-9)


def test_section_3_2_gives_ten_and_ten_with_certainty() -> None:
    machines = [Machine("m1", {"a": 100, "b": 10}), Machine("m2", {"a": 10, "b": 100})]
    jobs = (Job("one", {"a": 10, "b": 1}), Job("two", {"a": 1, "b": 10}))
    answer = allocate(Cluster(machines, [], []), jobs, "cdrf-lottery")
    assert answer.whole is not None
    (chance,) = answer.whole.lottery
    assert chance.probability == 1
    assert chance.jobs == (("one", 10), ("two", 10))


EACH = {
    "plain": Draw(),
    "weights": Draw(weights=True),
    "finite": Draw(finite=True, weights=True),
    "limits": Draw(limits=True),
    "pools": Draw(pools=True, finite=True, limits=True),
    "tree": Draw(tree=True, weights=True),
    "all": Draw(tree=True, weights=True, finite=True, limits=True),
    "tree of pools": Draw(tree=True, pools=True, finite=True, limits=True),
}


def given(seed: int, what: Draw) -> Counts | None:
    """A small problem with the weights of its pools; None where a pool is refused."""
    cluster, jobs = drawn(seed, what)
    try:
        check(with_implied_tenants(cluster, jobs), jobs)
        return with_pools(counted(cluster, jobs))
    except InputError:
        return None


@pytest.mark.parametrize("what", EACH.values(), ids=EACH.keys())
def test_the_point_is_the_max_min_of_the_hull_and_the_lottery_gives_it(
    what: Draw, cases: int
) -> None:
    tried = 0
    for seed in range(15 * cases):
        counts = given(seed, what)
        if counts is None:
            continue
        tried += 1
        points = feasible(counts)
        outcome = cdrf_lottery(counts)
        point, found = outcome.point, outcome.lottery
        assert point is not None
        assert found is not None
        assert [float(each) for each in point.tasks] == pytest.approx(
            max_min(points, counts), abs=1e-5
        ), seed
        jobs = len(counts.demand)
        assert sum(one.probability for one in found.allocations) == 1
        assert expected(found, jobs) == point.tasks
        assert len(found.allocations) <= max(jobs, 1), seed
        everything = set(map(tuple, points.tolist()))
        for one in found.allocations:
            tasks = one.tasks(jobs)
            assert tasks in everything, seed
            better = (points >= tasks).all(axis=1) & (points > tasks).any(axis=1)
            assert not better.any(), seed
    assert tried > 5


def test_a_pool_promises_in_expectation_what_it_holds(cases: int) -> None:
    """Theorem 1 of the TSF paper, in whole tasks: one job a tenant, each with a pool."""
    for seed in range(15 * cases):
        what = Draw(pools=True, finite=seed % 2 == 0, limits=seed % 3 == 0)
        counts = given(seed, what)
        if counts is None:
            continue
        tree = counts.problem.tree
        tasks = cdrf_lottery(counts).point
        assert tasks is not None
        for j, tenant in enumerate(tree.job_tenant.tolist()):
            own = counts.most[j] @ tree.pool_count[tenant]
            own = min(int(own), int(counts.tasks[j]))
            for cap in counts.limits:
                if cap.use[j]:
                    own = min(own, cap.amount // int(cap.use[j]))
            assert tasks.tasks[j] >= own, seed


def test_names_and_the_order_of_writing_change_nothing() -> None:
    for seed in range(20):
        cluster, jobs = drawn(seed)
        there = allocate(cluster, jobs, "cdrf-lottery").whole
        back = allocate(
            Cluster(cluster.machines[::-1], cluster.tenants, []), jobs[::-1], "cdrf-lottery"
        ).whole
        assert there is not None
        assert back is not None
        # Jobs that are alike in everything may change places.
        one, other = (
            sorted((each.probability, sorted(t for _, t in each.jobs)) for each in whole.lottery)
            for whole in (there, back)
        )
        assert one == other, seed


def test_many_machines_keep_their_packings_and_only_the_rest_is_drawn() -> None:
    cluster = Cluster([Machine(f"m{i}", {"cpu": 7, "ram": 9}) for i in range(999)], [], [])
    jobs = (
        Job("a", {"cpu": 2, "ram": 1}),
        Job("b", {"cpu": 1, "ram": 2}),
        Job("c", {"cpu": 3, "ram": 3}),
    )
    whole = allocate(cluster, jobs, "cdrf-lottery").whole
    assert whole is not None
    tasks = [dict(chance.jobs) for chance in whole.lottery]
    for name in "abc":
        each = [one[name] for one in tasks]
        assert max(each) - min(each) <= 7


def test_a_draw_depends_on_the_seed_alone_and_has_the_probabilities() -> None:
    chances = [Fraction(2, 7), Fraction(5, 7)]
    found = [draw(chances, seed) for seed in range(2000)]
    assert found == [draw(chances, seed) for seed in range(2000)]
    assert found.count(0) == pytest.approx(2000 * 2 / 7, abs=80)


def test_a_job_that_has_four_tasks_never_draws_six() -> None:
    """The mean of (6, 1) and (3, 2) keeps four tasks, and no such draw does: (4, 5/3) is out of
    reach, and the max-min is between (4, 1) and (3, 2)."""
    cluster = Cluster([Machine(f"m{i}", {"cpu": 3}) for i in (1, 2, 3)], [], [])
    jobs = (Job("a", {"cpu": 1}, tasks=4), Job("b", {"cpu": 3}))
    answer = allocate(cluster, jobs, "cdrf-lottery")
    assert answer.whole is not None
    assert {chance.jobs: chance.probability for chance in answer.whole.lottery} == {
        (("a", 4), ("b", 1)): Fraction(3, 4),
        (("a", 3), ("b", 2)): Fraction(1, 4),
    }
    assert [job.tasks for job in answer.jobs] == [3.75, 1.25]


@pytest.mark.parametrize("spec", whole_names())
def test_no_jobs_get_nothing(spec: str) -> None:
    answer = allocate(FIGURE_3[0], (), spec)
    assert answer.jobs == ()


def test_what_is_too_hard_to_search_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "QUICK", 3)
    monkeypatch.setattr(packing, "LOOKS", 3)
    draw = np.random.default_rng(3)
    resources = ("a", "b", "c")
    cluster = Cluster([Machine("m", dict.fromkeys(resources, 5000))], [], [])
    jobs = tuple(
        Job(f"j{j}", dict(zip(resources, draw.integers(500, 2000, 3).tolist(), strict=True)))
        for j in range(8)
    )
    monkeypatch.setattr(Work.__init__, "__defaults__", (3,))
    with pytest.raises(InputError, match="too hard to search here"):
        allocate(cluster, jobs, "cdrf-lottery")


def test_the_command_refuses_a_lottery_of_divisible_tasks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("machines: [{name: m, capacity: {a: 1}}]\njobs: [{name: j, demand: {a: 1}}]\n")
    asked = ["allocate", str(file), "--policy", "cdrf-lottery", "--tasks"]
    assert main([*asked, "divisible"]) == 2
    shown = capsys.readouterr()
    assert "cdrf-lottery shares whole tasks alone" in shown.err
    assert not shown.out
    assert main([*asked, "whole"]) == 0


@pytest.mark.parametrize("name", whole_names())
def test_every_answer_is_json_also_where_limits_cut_packings(name: str) -> None:
    machines = [Machine("m0", {"cpu": 5, "mem": 5}), Machine("m1", {"cpu": 5, "mem": 4})]
    cluster = Cluster(machines, [Tenant("t0", limit={"cpu": 3}), Tenant("t1")])
    jobs = [
        Job("j0", {"cpu": 1}, tenant="t0", machines=["m0"]),
        Job("j1", {"cpu": 1, "mem": 3}, tenant="t1"),
    ]
    answer = allocate(cluster, jobs, policy=name)
    tree = json.loads(answer.to_json())
    assert [job["tasks"] for job in tree["jobs"]] == [job.tasks for job in answer.jobs]
