"""Plans of stops and starts: they bring jobs to their guarantees, harm nobody, cannot go round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from fairlead.scheduling.preemption.picture import Held, HeldJob, HeldMachine, HeldTask, Room
from fairlead.scheduling.preemption.plan import Plan, plan
from tests.scheduling.plain_cluster import Kind, PlainCluster, random_cluster, shortfall


def planned(cluster: PlainCluster, guarantee: Sequence[int]) -> Plan | None:
    """The plan for everybody who is below its guarantee."""
    below = [j for j, n in enumerate(cluster.counts()) if n < guarantee[j]]
    return plan(cluster.held(), dict(enumerate(guarantee)), below)


def of(number: int, demand: int, machines: Sequence[int], tasks: int = 9) -> list[Kind]:
    return [Kind((demand,), machines, tasks) for _ in range(number)]


def test_plans_harm_nobody_and_end_however_the_free_room_is_filled_between_them(
    cases: int,
) -> None:
    plans = moved = 0
    for seed in range(1000 * cases):
        random = Random(seed)
        cluster = random_cluster(random)
        guarantee = [random.randint(0, 4) for _ in cluster.jobs]
        before = cluster.counts()
        most = shortfall(before, guarantee)
        while (found := planned(cluster, guarantee)) is not None:
            assert found.stops
            assert len({m: j for j, m in found.starts}) == len({(j, m) for j, m in found.starts})
            cluster.carry_out(found)
            after = cluster.counts()
            for mine, then, now in zip(guarantee, before, after, strict=True):
                assert now >= min(then, mine)
            assert shortfall(after, guarantee) < shortfall(before, guarantee)
            assert all(cluster.jobs[job].gang == 1 for job, _ in (*found.stops, *found.starts))
            moved += len(found.starts) > shortfall(before, guarantee) - shortfall(after, guarantee)
            cluster.fill(random)
            before = cluster.counts()
            plans, most = plans + 1, most - 1
            assert most >= 0, "more plans than there was shortfall"
    assert plans > 200 * cases
    assert moved > 7 * cases


def test_a_plan_is_found_wherever_there_is_one_on_machines_of_one_task(cases: int) -> None:
    found = none = 0
    for seed in range(300 * cases):
        random = Random(seed)
        machines = random.randint(2, 5)
        jobs = [
            Kind((1,), sorted(random.sample(range(machines), random.randint(1, 2))), 9)
            for _ in range(random.randint(2, 4))
        ]
        cluster = PlainCluster([(1,)] * machines, jobs)
        cluster.fill(random)
        guarantee = [random.randint(0, 2) for _ in jobs]
        least = least_shortfall(cluster, guarantee)
        now = shortfall(cluster.counts(), guarantee)
        better = planned(cluster, guarantee)
        assert (better is not None) == (least < now)
        while better is not None:  # the next plan may move what this one starts
            cluster.carry_out(better)
            better = planned(cluster, guarantee)
        assert shortfall(cluster.counts(), guarantee) == least
        found, none = found + (least < now), none + (least == now > 0)
    assert found > 25 * cases
    assert none > 25 * cases


def least_shortfall(cluster: PlainCluster, guarantee: Sequence[int]) -> int:
    """The least that any harmless arrangement leaves, all of them tried: one task a machine."""
    able: list[list[int | None]] = [
        [j for j, kind in enumerate(cluster.jobs) if machine in kind.machines] or [None]
        for machine in range(len(cluster.capacity))
    ]
    before = cluster.counts()
    least = shortfall(before, guarantee)
    for arrangement in product(*able):
        after = [arrangement.count(j) for j in range(len(cluster.jobs))]
        harmless = all(
            now >= min(then, mine) for now, then, mine in zip(after, before, guarantee, strict=True)
        )
        if harmless:
            least = min(least, shortfall(after, guarantee))
    return least


def test_the_same_state_gives_the_same_plan_in_whatever_order_it_is_told() -> None:
    for seed in range(200):
        cluster = random_cluster(Random(seed))
        guarantee = dict.fromkeys(range(len(cluster.jobs)), 2)
        held = cluster.held()
        turned = Held(held.machines[::-1], held.jobs[::-1], held.tasks[::-1])
        below = [j for j, n in enumerate(cluster.counts()) if n < 2]
        assert plan(held, guarantee, below) == plan(turned, guarantee, below)


def test_the_rule_that_looks_at_who_is_richer_would_cycle_here_and_this_one_does_not() -> None:
    # 5 CPUs; a: 2 CPUs a task, weight 2; b: 1 CPU a task, weight 1. Guaranteed: 1 each.
    for start in ([0, 0, 1], [0, 1, 1, 1], [1, 1, 1, 1, 1]):
        cluster = PlainCluster([(5,)], [Kind((2,), [0], 9), Kind((1,), [0], 9)])
        for job in start:
            cluster.run(job, 0)
        plans = 0
        while (found := planned(cluster, [1, 1])) is not None:
            cluster.carry_out(found)
            cluster.fill(Random(plans))
            plans += 1
        assert plans == (1 if start == [1, 1, 1, 1, 1] else 0)
        assert min(cluster.counts()) >= 1


def test_the_newest_task_of_the_job_that_is_furthest_above_its_guarantee_is_stopped() -> None:
    cluster = PlainCluster([(4,)], [*of(2, 1, [0]), *of(1, 1, [0])])
    for job in (0, 1, 0, 1):
        cluster.run(job, 0)
    cluster.jobs[0].each, cluster.jobs[1].each = 0.1, 0.3
    found = planned(cluster, [1, 1, 1])
    assert found == Plan(stops=((1, 1),), starts=((2, 0),))


def test_a_task_is_moved_to_free_the_only_machine_of_another() -> None:
    # Only machine 0 will do for job 2. Job 0 runs there and has what it is guaranteed; it can use
    # machine 1, where job 1 has more than that.
    cluster = PlainCluster(
        [(1,), (1,), (1,)], [*of(1, 1, [0, 1]), *of(1, 1, [1, 2]), *of(1, 1, [0])]
    )
    for job, machine in ((0, 0), (1, 1), (1, 2)):
        cluster.run(job, machine)
    found = planned(cluster, [1, 1, 1])
    assert found == Plan(stops=((0, 0), (1, 0)), starts=((2, 0), (0, 1)))
    cluster.carry_out(found)
    assert cluster.counts() == [1, 1, 1]


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_chains_of_several_moves_are_found(length: int) -> None:
    # Job k may use machines k and k + 1 and runs on k; the last has one task too many.
    jobs = [Kind((1,), [k, k + 1], 5) for k in range(length)]
    last = len(jobs)
    jobs += [Kind((1,), [last, last + 1], 5), Kind((1,), [0], 5)]
    cluster = PlainCluster([(1,)] * (length + 2), jobs)
    for job in range(length + 1):
        cluster.run(job, job)
    cluster.run(last, last + 1)
    found = planned(cluster, [1] * len(jobs))
    assert found is not None
    assert len(found.stops) == length + 1
    cluster.carry_out(found)
    assert cluster.counts() == [1] * len(jobs)


def test_a_task_moves_into_free_room_where_there_is_any() -> None:
    cluster = PlainCluster([(2,), (1,)], [Kind((1,), [0, 1], 1), Kind((2,), [0], 1)])
    cluster.run(0, 0)
    found = planned(cluster, [1, 1])
    assert found == Plan(stops=((0, 0),), starts=((1, 0), (0, 1)))


def test_nobody_is_stopped_for_a_job_that_has_room() -> None:
    cluster = PlainCluster([(1,), (1,)], of(2, 1, [0, 1]))
    cluster.run(0, 0)
    assert planned(cluster, [0, 1]) is None


def test_nobody_is_stopped_for_a_job_that_gets_the_room_of_what_stops_already() -> None:
    jobs = (HeldJob(0, (1,), 1, 0), HeldJob(1, (1,), 0, 1))
    tasks = (HeldTask(0, 0, 0, 1), HeldTask(0, 1, 0, 2, stopping=True))
    assert plan(Held((HeldMachine(0, (0,)),), jobs, tasks), {1: 1}, [1]) is None
    assert plan(Held((HeldMachine(0, (0,)),), jobs, tasks[:1]), {1: 1}, [1]) is not None


def test_nobody_at_its_guarantee_is_stopped_without_a_place_to_go() -> None:
    cluster = PlainCluster([(2,)], of(2, 1, [0]))
    cluster.run(0, 0)
    cluster.run(0, 0)
    assert planned(cluster, [2, 2]) is None
    assert planned(cluster, [1, 2]) == Plan(((0, 1),), ((1, 0),))


def test_a_task_stays_if_the_room_of_others_is_enough() -> None:
    # Two small tasks are newer than the large one: without them nothing is gained.
    cluster = PlainCluster([(4,)], [Kind((2,), [0], 1), *of(1, 1, [0], 2), Kind((2,), [0], 1)])
    for job in (0, 1, 1):
        cluster.run(job, 0)
    cluster.jobs[1].each = 9.0
    assert planned(cluster, [0, 0, 1]) == Plan(((1, 1), (1, 0)), ((2, 0),))
    assert planned(cluster, [0, 1, 1]) == Plan(((0, 0),), ((2, 0),))


def test_gangs_are_left_alone() -> None:
    cluster = PlainCluster([(1,)], of(2, 1, [0], 2))
    cluster.run(0, 0)
    cluster.jobs[0].gang = 2
    assert planned(cluster, [0, 1]) is None
    cluster.jobs[0].gang, cluster.jobs[1].gang = 1, 2
    assert planned(cluster, [0, 1]) is None
    cluster.jobs[1].gang = 1
    assert planned(cluster, [0, 1]) is not None


@pytest.mark.parametrize("above", [0, 1])
def test_what_must_not_start_again_is_left_alone_and_others_are_stopped(above: int) -> None:
    """Whether the job could spare it, or it would be moved."""
    machines = (HeldMachine(0, (0,)), HeldMachine(1, (0,)))
    first = HeldJob(0, (1,), 1, 0, once=True)
    jobs = (first, HeldJob(1, (1,), 1, 0), HeldJob(2, (1,), 0, 1))
    tasks = (HeldTask(0, 0, 0, 9), HeldTask(1, 0, 1, 5))
    guarantee = {0: 1 - above, 2: 1}
    held = Held(machines, jobs, tasks)
    assert plan(held, guarantee, [2]) == Plan(((1, 0),), ((2, 1),))
    assert plan(Held(machines[:1], jobs, tasks[:1]), guarantee, [2]) is None
    rerunnable = Held(machines[:1], (replace(first, once=False), *jobs[1:]), tasks[:1])
    assert (plan(rerunnable, guarantee, [2]) is None) is (above == 0)


def test_a_machine_that_is_reserved_is_left_alone() -> None:
    machine = HeldMachine(0, (0,), open=False)
    jobs = (HeldJob(0, (1,), 1, 0), HeldJob(1, (1,), 0, 1))
    held = Held((machine,), jobs, (HeldTask(0, 0, 0, 5),))
    assert plan(held, {1: 1}, [1]) is None


def test_limits_of_tenants_bound_what_is_planned() -> None:
    machine = HeldMachine(0, (0,))
    tasks = tuple(HeldTask(0, number, 0, number) for number in range(4))
    for room in (0, 1, 2):
        jobs = (HeldJob(0, (1,), 4, 0), HeldJob(1, (1,), 0, 4, room=room))
        found = plan(Held((machine,), jobs, tasks), {1: 3}, [1])
        assert (0 if found is None else len(found.starts)) == room


def test_pieces_of_devices_count() -> None:
    # Two GPUs of 1000; halves of both are taken. A whole one needs one task gone, the newest.
    machine = HeldMachine(0, (1000,), pieces=((500, 500),))
    jobs = (HeldJob(0, (500,), 2, 0), HeldJob(1, (1000,), 0, 1))
    tasks = (HeldTask(0, 0, 0, 1, ((0, 0),)), HeldTask(0, 1, 0, 2, ((0, 1),)))
    held = Held((machine,), jobs, tasks, piece=(1000,))
    assert plan(held, {1: 1}, [1]) == Plan(((0, 1),), ((1, 0),))


def test_a_task_leaves_a_device_that_its_machine_has_lost_meanwhile() -> None:
    # Two devices of 1000 each; the machine came back with one of them, and the task goes on.
    machine = HeldMachine(1, (0,), pieces=((1000,),))
    held = Held((machine,), (), (), piece=(1000,))
    room = Room(held, machine)
    room.leave((1000,), ((0, 1),))
    assert room.pieces == [[1000]]
