"""Whole tasks for every policy: they fit, are close, and are best where tasks are alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from fairlead.model.eligibility import holds, may_use
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.shares import Tasks
from fairlead.sharing.allocate import allocate
from fairlead.sharing.rules.registry import mechanism_names, policy_names
from fairlead.sharing.solvers.whole.flow import give_out, whole_flow
from fairlead.sharing.solvers.whole.packed import most_packed
from fairlead.sharing.solvers.whole.packing import Packer
from fairlead.sharing.whole_tasks.registry import describe_whole, whole_names
from tests.sharing.solvers.test_packing import small
from tests.sharing.whole_tasks.small import Draw, counted, drawn, feasible

SPECS = {"cmmf": "cmmf(a)", "kdf": "kdf(k=2)", "slots": "slots"}


@pytest.mark.parametrize("policy", [*policy_names(), *mechanism_names()])
def test_every_policy_gives_whole_tasks_that_leave_no_room(policy: str, cases: int) -> None:
    tried = 0
    for seed in range(10 * cases):
        cluster, jobs = drawn(seed, Draw(finite=True, limits=seed % 2 == 0))
        try:
            answer = allocate(cluster, jobs, SPECS.get(policy, policy), "whole")
        except InputError:
            continue  # the policy has no scale for a job here, divisible or not
        tried += 1
        assert answer.tasks is Tasks.WHOLE
        assert answer.whole is not None
        counts = counted(cluster, jobs)
        name = counts.problem.job_names
        tasks = np.array([answer.job(each).tasks for each in name])
        points = feasible(counts)
        assert tuple(tasks.tolist()) in set(map(tuple, points.tolist())), seed
        placed: dict[str, Fraction] = dict.fromkeys(name, Fraction(0))
        for packing in answer.whole.packings:
            for job, number in packing.jobs:
                placed[job] += number * packing.machines
        assert {job: float(each) for job, each in placed.items()} == {
            each: answer.job(each).tasks for each in name
        }
    assert tried > 5


@pytest.mark.parametrize("policy", ["tsf", "cdrf", "drfh", "per-machine-drf", "market"])
def test_nobody_is_further_below_its_exact_share_than_its_bound(policy: str, cases: int) -> None:
    some = 0
    for seed in range(6 * cases):
        what = Draw(finite=seed % 2 == 0, limits=seed % 3 == 0, tree=seed % 5 == 0, weights=True)
        cluster, jobs = drawn(seed, what)
        answer = allocate(cluster, jobs, policy, "whole")
        assert answer.whole is not None
        for distance, tenant in zip(answer.whole.distances, answer.tenants, strict=True):
            assert distance.tenant == tenant.name
            assert distance.whole == tenant.share
            if distance.bound is not None:
                some += distance.whole < distance.exact
                assert distance.whole >= distance.exact - distance.bound - 1e-9, seed
        assert json.loads(answer.to_json())["distances"][0].keys() == {
            "tenant",
            "exact",
            "whole",
            "bound",
        }
    assert some


def test_few_machines_of_a_class_are_split_between_packings(cases: int) -> None:
    """As many packings as jobs and one more, at most: so rounding loses less than one machine of
    each, however many machines there are."""
    for seed in range(25 * cases):
        demand, capacity, most, _ = small(seed)
        draw = np.random.default_rng(seed)
        count = int(draw.integers(1, 1000))
        tasks = draw.random(len(most)) * most * count
        found = most_packed(Packer(demand, capacity, most), tasks, count)
        jobs = int(((tasks > 0) & (most > 0)).sum())
        split = [(row, amount % 1) for row, amount in found.mixture if 1e-6 < amount % 1 < 1 - 1e-6]
        assert len(split) <= jobs + 1, seed
        mean = sum((amount * np.array(row) for row, amount in found.mixture), np.zeros(len(most)))
        down = sum((int(n + 1e-6) * np.array(row) for row, n in found.mixture), np.zeros(len(most)))
        assert (mean <= tasks * (1 + 1e-7) + 1e-7).all(), seed
        assert (mean - down <= (jobs + 1) * most + 1e-6).all(), seed


def test_more_tasks_than_the_exact_shares_by_less_than_one_is_nobodys_loss() -> None:
    cluster = Cluster([Machine(f"m{i}", {"cpu": 8, "ram": 8}) for i in range(50)], [], [])
    jobs = (Job("a", {"cpu": 1, "ram": 2}), Job("b", {"cpu": 2, "ram": 1}))
    exact, whole = (allocate(cluster, jobs, "tsf", tasks) for tasks in ("divisible", "whole"))
    for name in ("a", "b"):
        assert exact.job(name).tasks == pytest.approx(400 / 3, rel=1e-9)
        assert whole.job(name).tasks >= 125


def test_choosys_figure_1_in_whole_machines() -> None:
    cluster = Cluster([Machine(f"m{i}", {"slot": 1}) for i in range(1, 11)], [], [])
    uses = {"c1": [1, 4], "c2": [3, 4], "c3": [2, 3, 4, 6, 7], "c4": [5, 6, 7, 8, 9, 10]}
    jobs = tuple(Job(n, {"slot": 1}, machines=[f"m{i}" for i in m]) for n, m in uses.items())
    answer = allocate(cluster, jobs, "cmmf(slot)", "whole")
    assert [answer.job(name).tasks for name in uses] == [2, 1, 3, 4]


def test_the_flow_is_lexicographically_max_min(cases: int) -> None:
    for seed in range(25 * cases):
        draw = np.random.default_rng(seed)
        jobs, classes = draw.integers(1, 5), draw.integers(1, 4)
        most_on = draw.integers(0, 4, (jobs, classes)) * (draw.random((jobs, classes)) < 0.7)
        room, most = draw.integers(0, 5, classes), draw.integers(0, 7, jobs)
        unit = [Fraction(int(draw.integers(1, 4)), int(draw.integers(1, 3))) for _ in range(jobs)]
        taken = whole_flow(most_on, unit, most, room)
        assert (taken >= 0).all()
        assert (taken <= most_on).all()
        assert (taken.sum(axis=0) <= room).all()
        reached = {(0,) * jobs}
        for c in range(classes):
            choices = [
                each
                for each in product(*(range(min(n, room[c]) + 1) for n in most_on[:, c]))
                if sum(each) <= room[c]
            ]
            reached = {
                tuple(a + b for a, b in zip(one, more, strict=True))
                for one in reached
                for more in choices
            }

        def shares(tasks: tuple[int, ...], unit: list[Fraction] = unit) -> list[Fraction]:
            return sorted(Fraction(int(each)) / own for each, own in zip(tasks, unit, strict=True))

        able = [each for each in reached if all(a <= b for a, b in zip(each, most, strict=True))]
        assert shares(tuple(taken.sum(axis=1).tolist())) == max(map(shares, able)), seed


def test_giving_out_goes_to_the_least_share_first() -> None:
    unit = [Fraction(1), Fraction(2), Fraction(1)]
    least, most = np.zeros(3, np.int64), np.array([1, 9, 9])
    assert give_out(7, least, most, unit).tolist() == [1, 4, 2]
    assert give_out(99, least, most, unit).tolist() == [1, 9, 9]


@pytest.mark.parametrize("name", whole_names())
def test_every_whole_mechanism_fits_and_says_what_it_is(name: str, cases: int) -> None:
    assert describe_whole(name)[1]
    for seed in range(5 * cases):
        cluster, jobs = drawn(seed)
        answer = allocate(cluster, jobs, name)
        assert answer.tasks is Tasks.WHOLE
        assert answer.whole is not None
        if name != "cdrf-lottery":
            counts = counted(cluster, jobs)
            tasks = tuple(answer.job(each).tasks for each in counts.problem.job_names)
            assert tasks in set(map(tuple, feasible(counts).tolist())), seed


def part_of_row(cluster: Cluster, jobs: Sequence[Job]) -> dict[str, int]:
    """The promise of the moving knife: an n-th, rounded down, of what the job could run alone on
    the machines that it may use, and no more than its number and its tenant's limits allow."""
    limit = {tenant.name: tenant.limit for tenant in cluster.tenants}
    alone: dict[str, int] = {}
    allowed: dict[str, int] = {}
    for job in jobs:
        alone[job.name] = sum(int(holds(job, m)) for m in cluster.machines if may_use(job, m))
        most = [Fraction(alone[job.name])]
        most += [] if job.tasks is None else [job.tasks]
        most += [
            amount / job.demand[name]
            for name, amount in limit.get(job.tenant or job.name, {}).items()
            if job.demand.get(name)
        ]
        allowed[job.name] = int(min(most))
    taking_part = sum(most > 0 for most in allowed.values())
    return {
        name: min(alone[name] // taking_part, most) if most else 0 for name, most in allowed.items()
    }


@pytest.mark.parametrize(
    "what",
    [Draw(), Draw(finite=True), Draw(finite=True, weights=True), Draw(finite=True, limits=True)],
    ids=["open", "finite", "weights", "limits"],
)
def test_the_moving_knife_gives_everybody_its_part(what: Draw, cases: int) -> None:
    for seed in range(25 * cases):
        cluster, jobs = drawn(seed, what)
        answer = allocate(cluster, jobs, "moving-knife")
        for name, least in part_of_row(cluster, jobs).items():
            assert answer.job(name).tasks >= least, (seed, name)


def test_a_job_of_one_task_has_its_part_of_the_row() -> None:
    # An n-th of what it has is none: what counts is an n-th of what it could run.
    full = Cluster([Machine("m", {"cpu": 4})], [], [])
    jobs = [Job(f"j{i}", {"cpu": 1}, tasks=1 if i == 3 else None) for i in range(4)]
    assert [job.tasks for job in allocate(full, jobs, "moving-knife").jobs] == [1, 1, 1, 1]
    apart = Cluster([Machine(f"m{i}", {"cpu": size}) for i, size in enumerate((3, 4, 4))], [], [])
    few = [
        Job("a", {"cpu": 1}, tasks=3, machines=["m1"]),
        Job("b", {"cpu": 1}, tasks=1, exclude=["m1"]),
    ]
    assert all(
        job.tasks >= least
        for job, least in zip(allocate(apart, few, "moving-knife").jobs, (2, 1), strict=True)
    )


def test_serial_dictatorship_of_section_3_2_gives_one_of_them_everything() -> None:
    machines = [Machine("m1", {"a": 100, "b": 10}), Machine("m2", {"a": 10, "b": 100})]
    jobs = (Job("one", {"a": 10, "b": 1}), Job("two", {"a": 1, "b": 10}))
    found = {
        tuple(job.tasks for job in allocate(Cluster(machines, [], []), jobs, spec).jobs)
        for spec in (f"serial-dictatorship(seed={seed})" for seed in range(8))
    }
    assert found == {(11, 0), (0, 11)}


def test_shapley_folkman_is_within_its_bound_and_nearer_with_more_machines() -> None:
    jobs = (
        Job("a", {"cpu": 2, "ram": 1}),
        Job("b", {"cpu": 1, "ram": 2}),
        Job("c", {"cpu": 3, "ram": 3}),
    )
    off = []
    for size in (3, 30, 300):
        cluster = Cluster([Machine(f"m{i}", {"cpu": 7, "ram": 9}) for i in range(size)], [], [])
        mean = allocate(cluster, jobs, "cdrf-lottery")
        near = allocate(cluster, jobs, "shapley-folkman")
        apart = [near.job(n).tasks - mean.job(n).tasks for n in "abc"]
        assert near.whole is not None
        bound = float(near.whole.notes[1].split(" is ")[1].split()[0])
        assert float(np.linalg.norm(apart)) <= bound + 1e-9
        off.append(max(-d / mean.job(n).tasks for d, n in zip(apart, "abc", strict=True)))
    assert off[2] <= off[0]
    assert off[2] < 0.02


def test_a_demand_does_not_move_a_turn_in_serial_dictatorship() -> None:
    cluster = Cluster([Machine("m", {"cpu": 12})], [], [])
    for seed in range(10):
        firsts = set()
        for demand in (1, 2, 3):
            jobs = (Job("a", {"cpu": demand}), Job("b", {"cpu": 2}), Job("c", {"cpu": 4}))
            answer = allocate(cluster, jobs, f"serial-dictatorship(seed={seed})")
            firsts.add(tuple(job.name for job in answer.jobs if job.tasks))
        assert len(firsts) == 1


@pytest.mark.parametrize("spec", ["tsf", "cdrf-lottery"])
def test_more_tasks_than_are_counted_are_refused(spec: str) -> None:
    cluster = Cluster([Machine(f"m{i}", {"cpu": 10**13}) for i in (1, 2)], [], [])
    with pytest.raises(InputError, match=r'job "a", demand: the machines hold 2e\+13 of its tasks'):
        allocate(cluster, (Job("a", {"cpu": 1}), Job("b", {"cpu": 2})), spec, "whole")
