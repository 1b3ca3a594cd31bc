"""Advice: reduced costs of every level, compared; who belongs where by the exact allocation."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from scipy.optimize import linprog

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.quantity import Amount
from fairlead.scheduling.advice.ranking import MILLION, ranks, reduced_costs
from fairlead.sharing.policy import Policy, View
from fairlead.sharing.present import Filled
from fairlead.sharing.problem.problem import Problem
from fairlead.sharing.solvers.support import support
from tests.reference.instances import Kind, instance
from tests.scheduling.exact_shares import advice_of, advise, exact_shares, in_whole_tasks
from tests.tolerances import CERTIFICATE

KIND = Kind(pools=False, zeros=False)
LARGER = Kind(pools=False, nowhere=False, machines=8, jobs=8)


def nodes(*ranges: tuple[int, int]) -> list[str]:
    return [f"n{number:02}" for first, last in ranges for number in range(first, last + 1)]


def table_ii() -> tuple[Cluster, tuple[Job, ...]]:
    """TSF's Table II while jobs 1, 3 and 4 are present."""
    machines = [
        Machine(name, {"cpu": 1 if index < 25 else 2, "memory": "1G"})
        for index, name in enumerate(nodes((1, 50)))
    ]
    picky = nodes((1, 10), (26, 35))
    jobs = (
        Job("job1", {"cpu": 1, "memory": "500M"}, tasks=1000),
        Job("job3", {"cpu": "0.5", "memory": "500M"}, tasks=100, machines=picky),
        Job("job4", {"cpu": 1, "memory": "500M"}, tasks=100, machines=picky),
    )
    return Cluster(machines), jobs


def drawn(cases: int, kind: Kind = KIND, number: int = 75) -> list[Filled]:
    """Filled shares of random instances in which somebody can run."""
    found = []
    for seed in range(number * cases):
        cluster, jobs = instance(Random(seed), kind)
        exact = exact_shares(cluster, jobs, ("tsf", "drf", "cdrf")[seed % 3])
        if exact.filling.rounds:
            found.append(exact)
    assert len(found) > number * cases / 2
    return found


def test_nothing_is_cheaper_than_its_share_is_worth_and_what_is_used_costs_nothing_more(
    cases: int,
) -> None:
    for exact in drawn(cases):
        pairs = exact.problem.usable & (exact.scale > 0)[:, None]
        for cost in reduced_costs(exact):
            assert cost[pairs].min() > -CERTIFICATE
            used = exact.filling.tasks > CERTIFICATE
            assert abs(cost[used]).max(initial=0.0) < CERTIFICATE


def test_every_pair_that_is_used_has_rank_0_and_ranks_have_no_gaps(cases: int) -> None:
    for exact in drawn(cases):
        found = ranks(exact)
        assert (found.rank[found.target > 0] == 0).all()
        present = np.unique(found.rank[found.rank >= 0])
        assert (np.diff(present) == 1).all()
        assert ((found.rank >= 0) == (exact.problem.usable & (exact.scale > 0)[:, None])).all()


def test_rank_0_is_what_some_exact_allocation_uses_and_nothing_else(cases: int) -> None:
    outside = 0
    for exact in drawn(cases, LARGER, 60):
        rank = ranks(exact).rank
        for j, c in zip(*np.nonzero(rank >= 0), strict=True):
            tasks = exact.filling.tasks[j]
            if tasks.sum() > 0:
                most = tasks[c] / tasks.sum()  # this allocation uses it; where not, another may
                if most <= 1e-7:
                    most = most_there(exact, int(j), int(c))
                assert (rank[j, c] == 0) == (most > 1e-7), (j, c, rank, most)
                outside += rank[j, c] > 0
    assert outside > 20


def most_there(exact: Filled, job: int, machine_class: int) -> float:
    """The largest part of a job's exact tasks that a class can take, everybody's shares kept."""
    problem = exact.problem
    each = exact.filling.tasks.sum(axis=1)
    pairs = [(j, c) for j, c in zip(*np.nonzero(problem.usable), strict=True) if each[j] > 0]
    rows, bounds = [], []
    for c in range(len(problem.count)):
        for r in range(len(problem.resources)):
            there = problem.capacity[c, r] * problem.count[c]
            if there > 0:
                rows.append([problem.demand[j, r] * each[j] / there * (b == c) for j, b in pairs])
                bounds.append(1 + 1e-11)
    for j, c in pairs:
        if problem.spread[j]:
            rows.append([each[j] / problem.count[c] * (pair == (j, c)) for pair in pairs])
            bounds.append(1 + 1e-11)
    jobs = sorted({j for j, _ in pairs})
    found = linprog(
        [-float(pair == (job, machine_class)) for pair in pairs],
        A_ub=rows or None,
        b_ub=bounds or None,
        A_eq=[[float(j == mine) for j, _ in pairs] for mine in jobs],
        b_eq=[1.0] * len(jobs),
    )
    assert found.status == 0, found.message
    return -float(found.fun)


def test_job_4_leaves_the_one_cpu_nodes_to_job_3_on_table_ii() -> None:
    event = advise(7, *table_ii(), "tsf")
    said = {(each.job, each.machines[0]): each for each in event.advice}
    assert event.time == 7
    assert said["job3", "n01"].rank == said["job3", "n26"].rank == said["job4", "n26"].rank == 0
    assert said["job4", "n01"].rank > 0
    # Who froze at a higher level has less to say where others froze before.
    assert said["job1", "n01"].rank > said["job4", "n01"].rank
    assert said["job1", "n11"].rank == said["job1", "n36"].rank == 0
    assert said["job3", "n01"].target == 20 * MILLION
    assert said["job4", "n26"].target == round(120 / 7 * MILLION)
    assert said["job4", "n01"].target == 0


def test_job_4_leaves_them_too_where_the_prices_of_its_level_leave_it_its_choice() -> None:
    cluster, jobs = table_ii()
    exact = exact_shares(cluster, jobs, "tsf")
    job = exact.problem.job_names.index("job4")
    here = exact.problem.usable[job]
    for cost in reduced_costs(exact):
        assert cost[job, here] == pytest.approx(0.0, abs=1e-12)
    found = ranks(exact)
    used = found.target[job, here] > 0
    assert used.sum() == 1
    assert found.rank[job, here][used] == 0
    assert (found.rank[job, here][~used] > 0).all()


def test_a_pair_that_costs_at_a_lower_level_ranks_behind_one_that_costs_later_only() -> None:
    machines = [Machine("a", {"cpu": 2}), Machine("b", {"cpu": 8}), Machine("c", {"cpu": 32})]
    jobs = (
        Job("x", {"cpu": 1}, machines=["a"]),
        Job("y", {"cpu": 1}, machines=["b"]),
        Job("z", {"cpu": 1}),
    )
    event = advise(0, Cluster(machines), jobs, "tsf")
    rank = {(each.job, *each.machines): each.rank for each in event.advice}
    assert rank["x", "a"] == rank["y", "b"] == rank["z", "c"] == 0
    assert 0 < rank["z", "b"] < rank["z", "a"]


def test_the_same_input_gives_the_same_event_in_whatever_order_it_comes() -> None:
    cluster, jobs = table_ii()
    first = advise(0, cluster, jobs)
    again = advise(0, Cluster(cluster.machines[::-1]), jobs[::-1])
    assert sorted(first.advice, key=repr) == sorted(again.advice, key=repr)


def test_without_machines_or_jobs_there_is_nothing_to_say() -> None:
    cluster, jobs = table_ii()
    assert advise(0, Cluster([]), jobs).advice == ()
    assert advise(0, cluster, ()).advice == ()


@pytest.mark.parametrize("policy", ["per-machine-drf", "slots"])
def test_a_policy_without_one_scale_is_refused(policy: str) -> None:
    cluster, jobs = table_ii()
    with pytest.raises(InputError, match="no one scale for all machines"):
        advise(0, cluster, jobs, policy)


def test_a_policy_of_one_big_machine_is_filled_on_the_real_ones() -> None:
    cluster, jobs = table_ii()
    drf = exact_shares(cluster, jobs, "drf")
    drfh = exact_shares(cluster, jobs, "drfh")
    assert len(drf.problem.count) == 4
    assert drf.scale == pytest.approx(drfh.scale)
    assert drf.filling.tasks.sum(axis=1) == pytest.approx(drfh.filling.tasks.sum(axis=1))


def test_alone_counts_whole_tasks_on_each_machine() -> None:
    machines = [Machine("a", {"cpu": "0.3"}), Machine("b", {"cpu": "0.55"})]
    job = Job("j", {"cpu": "0.1"})
    exact = exact_shares(Cluster(machines), (job,), "tsf")
    assert exact.scale.tolist() == [8.0]  # 3 and 5
    assert exact.filling.tasks.sum() == pytest.approx(8.5)


def test_a_machine_that_lacks_a_trillionth_of_a_task_does_not_hold_it() -> None:
    machines = [Machine("a", {"cpu": "2.9999999999999"}), Machine("b", {"cpu": 3})]
    exact = exact_shares(Cluster(machines), (Job("j", {"cpu": 1}),), "tsf")
    assert exact.scale.tolist() == [5.0]


def test_a_machine_that_holds_no_whole_task_is_not_used() -> None:
    machines = [Machine("a", {"cpu": 1}), Machine("b", {"cpu": 4})]
    exact = exact_shares(Cluster(machines), (Job("j", {"cpu": 2}),), "tsf")
    assert exact.filling.tasks.sum() == pytest.approx(2.0)
    assert [
        members
        for members, used in zip(exact.problem.class_machines, exact.problem.usable[0], strict=True)
        if used
    ] == [("b",)]


@pytest.mark.parametrize(
    ("demand", "holds"), [("0.6", 2.0), ("0.4", 4.0), (1, 2.0), (2, 1.0), ("0.5", 4.0)]
)
def test_whole_tasks_count_the_pieces_of_a_device(demand: Amount, holds: float) -> None:
    seen: list[Problem] = []

    def look(problem: Problem) -> np.ndarray:
        seen.append(problem)
        return problem.alone

    cluster = Cluster([Machine("a", {"gpu": 2, "cpu": 64})], devices=["gpu"])
    exact_shares(
        cluster, (Job("j", {"gpu": demand, "cpu": 1}),), Policy("own", View.MACHINES, look)
    )
    assert seen[0].holds.tolist() == [[holds]]


def test_the_support_of_nothing_is_nothing() -> None:
    cluster, jobs = table_ii()
    exact = exact_shares(cluster, jobs, "tsf")
    none = np.zeros_like(exact.problem.usable)
    assert not support(exact.problem, exact.filling.tasks, none).any()


def test_in_whole_tasks_keeps_all_but_what_fits() -> None:
    cluster, jobs = table_ii()
    problem = exact_shares(cluster, jobs, "tsf").problem
    whole = in_whole_tasks(problem)
    assert (whole.holds == np.floor(whole.holds)).all()
    assert whole.capacity is problem.capacity
    assert whole.demand is problem.demand


def test_advice_names_every_pair_that_may_be_used_once() -> None:
    exact = exact_shares(*table_ii(), "tsf")
    pairs = [(each.job, each.machines) for each in advice_of(0, exact).advice]
    assert len(pairs) == len(set(pairs)) == int(exact.problem.usable.sum())
    assert all(a != b for a, b in pairwise(pairs))
