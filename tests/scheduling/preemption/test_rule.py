"""Guaranteed preemption keeps its clock and its pledges; guarantees are the exact shares' tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.scheduling.events import GuaranteesChanged
from fairlead.scheduling.preemption.picture import Held, HeldJob, HeldMachine, HeldTask
from fairlead.scheduling.preemption.rule import Orders, Preemption
from tests.scheduling.exact_shares import guarantee

SECOND = 1_000_000
AFTER = 30 * SECOND


@dataclass
class Stage:
    """One machine of two places with two tasks of job 0; job 1, which is guaranteed a task, waits
    for it."""

    machines: list[HeldMachine] = field(default_factory=lambda: [HeldMachine(0, (0,))])
    tasks: list[HeldTask] = field(
        default_factory=lambda: [HeldTask(0, 0, 0, 1), HeldTask(0, 1, 0, 2)]
    )
    waiting: int = 1
    moving: int = 0
    looks: int = 0

    def standing(self, job: int) -> tuple[int, int] | None:
        if job > 1:
            return None
        running = sum(task.job == job and not task.stopping for task in self.tasks)
        return running, (self.waiting if job == 1 else 0)

    def look(self, pledged: Mapping[int, int] | None) -> Held:
        self.looks += 1
        jobs = tuple(
            HeldJob(seq, (1,), *stand, stopping=self.moving if seq == 1 else 0)
            for seq in range(2)
            if (stand := self.standing(seq)) is not None
        )
        there = [m for m in self.machines if pledged is None or m.seq in pledged]
        return Held(tuple(there), jobs, tuple(self.tasks))

    def ask(
        self, preemption: Preemption, now: int, launches: Sequence[tuple[int, int]] = ()
    ) -> Orders:
        return preemption.orders(now, self.standing, launches, self.look)


def below() -> tuple[Stage, Preemption]:
    stage, preemption = Stage(), Preemption(AFTER)
    preemption.set_guarantees({1: 1})
    return stage, preemption


def planned() -> tuple[Stage, Preemption]:
    """At AFTER a task was told to stop, for job 1."""
    stage, preemption = below()
    assert not stage.ask(preemption, 0)
    assert stage.ask(preemption, AFTER) == Orders((), ((0, 1),), ((0, 1),))
    stage.tasks[1] = HeldTask(0, 1, 0, 2, stopping=True)
    return stage, preemption


def test_a_task_is_stopped_when_somebody_was_below_its_guarantee_for_long() -> None:
    stage, preemption = below()
    assert not stage.ask(preemption, 5)
    assert preemption.wake() == 5 + AFTER
    assert not stage.ask(preemption, 4 + AFTER)
    assert stage.ask(preemption, 5 + AFTER) == Orders((), ((0, 1),), ((0, 1),))


def test_nothing_is_looked_at_while_nobody_is_below_for_long() -> None:
    stage, preemption = below()
    stage.ask(preemption, 0)
    stage.ask(preemption, AFTER - 1)
    assert stage.looks == 0


def test_who_is_above_for_a_moment_begins_to_wait_anew() -> None:
    stage, preemption = below()
    stage.ask(preemption, 0)
    stage.waiting = 0
    stage.ask(preemption, 10)
    assert preemption.wake() is None
    stage.waiting = 1
    stage.ask(preemption, 20)
    assert preemption.wake() == 20 + AFTER


def test_while_a_pledge_stands_there_is_no_other_plan() -> None:
    stage, preemption = planned()
    assert not stage.ask(preemption, AFTER)
    assert not stage.ask(preemption, 3 * AFTER)
    assert preemption.wake() is None


def test_a_pledge_ends_with_the_launch_that_it_was_made_for() -> None:
    stage, preemption = planned()
    stage.tasks[1] = HeldTask(1, 0, 0, 9)
    stage.waiting = 0
    assert stage.ask(preemption, AFTER + 5, [(1, 0)]) == Orders(released=(0,))
    assert not stage.ask(preemption, AFTER + 5)


@pytest.mark.parametrize("launch", [(0, 0), (1, 7)])
def test_other_launches_leave_it(launch: tuple[int, int]) -> None:
    stage, preemption = planned()
    assert not stage.ask(preemption, AFTER + 5, [launch])


def test_a_pledge_ends_when_nothing_of_its_job_waits() -> None:
    stage, preemption = planned()
    stage.waiting = 0
    assert stage.ask(preemption, AFTER + 5) == Orders(released=(0,))


def test_a_pledge_for_a_task_that_moves_stands_until_it_has_stopped() -> None:
    stage, preemption = planned()
    stage.waiting, stage.moving = 0, 1
    assert not stage.ask(preemption, AFTER + 5)
    stage.moving = 0
    assert stage.ask(preemption, AFTER + 5) == Orders(released=(0,))


def test_two_starts_on_one_machine_keep_its_pledge_until_both_are_made() -> None:
    stage, preemption = below()
    preemption.set_guarantees({1: 2})
    stage.waiting = 2
    stage.ask(preemption, 0)
    assert len(stage.ask(preemption, AFTER).stops) == 2
    stage.tasks = [HeldTask(1, 0, 0, 9), HeldTask(0, 0, 0, 1, stopping=True)]
    stage.waiting = 1
    assert not stage.ask(preemption, AFTER + 5, [(1, 0)])
    stage.tasks[1] = HeldTask(1, 1, 0, 10)
    stage.waiting = 0
    assert stage.ask(preemption, AFTER + 6, [(1, 0)]) == Orders(released=(0,))


def test_a_pledge_ends_with_its_machine() -> None:
    stage, preemption = planned()
    stage.machines.clear()
    stage.tasks.clear()
    assert stage.ask(preemption, AFTER + 5) == Orders(released=(0,))


def test_a_pledge_ends_when_what_was_told_to_stop_leaves_too_little() -> None:
    stage, preemption = planned()
    stage.machines[0] = HeldMachine(0, (-1,))  # the machine was made smaller
    # The broken pledge makes place for another plan at once: the other task must go, too.
    assert stage.ask(preemption, AFTER + 5) == Orders((), ((0, 0),), ((0, 1),))


def test_where_nothing_is_found_it_is_tried_again_after_as_long() -> None:
    stage, preemption = below()
    preemption.set_guarantees({0: 2, 1: 1})
    stage.ask(preemption, 0)
    assert not stage.ask(preemption, AFTER)
    assert stage.looks == 1
    assert preemption.wake() == 2 * AFTER
    assert not stage.ask(preemption, AFTER + 1)
    assert stage.looks == 1
    stage.tasks.append(HeldTask(0, 2, 0, 3))
    assert stage.ask(preemption, 2 * AFTER).stops == ((0, 2),)


def test_pledges_stand_when_guarantees_change() -> None:
    stage, preemption = planned()
    preemption.set_guarantees({})
    assert not stage.ask(preemption, AFTER + 5)
    stage.tasks[1] = HeldTask(1, 0, 0, 9)
    assert stage.ask(preemption, AFTER + 6, [(1, 0)]).released == (0,)


def test_all_that_is_remembered_shows_in_the_state() -> None:
    stage, preemption = below()
    states = [preemption.state()]
    stage.ask(preemption, 0)
    states.append(preemption.state())
    stage.ask(preemption, AFTER)
    states.append(preemption.state())
    preemption.set_guarantees({1: 2})
    states.append(preemption.state())
    assert len(set(states)) == 4


def test_jobs_that_are_unknown_are_guaranteed_nothing() -> None:
    stage, preemption = below()
    preemption.set_guarantees({7: 3})
    assert not stage.ask(preemption, 0)
    assert preemption.wake() is None


def test_guarantees_are_the_exact_tasks_rounded_down() -> None:
    cluster = Cluster([Machine("m", {"cpu": 5})], [Tenant("a", weight=2), Tenant("b")])
    jobs = [Job("x", {"cpu": 2}, tenant="a"), Job("y", {"cpu": 1}, tenant="b")]
    # x: 2 whole tasks alone; a's share is twice b's: 2 · 2s and 5s tasks fill 8s + 5s = 5 CPUs.
    assert guarantee(3, cluster, jobs) == GuaranteesChanged(3, FrozenMap({"x": 1, "y": 1}))


def test_a_guarantee_of_whole_tasks_is_not_lost_to_rounding() -> None:
    cluster = Cluster([Machine("m", {"cpu": "0.9"})])
    jobs = [Job(name, {"cpu": "0.1"}) for name in "abc"]
    assert dict(guarantee(0, cluster, jobs).guarantees) == dict.fromkeys("abc", 3)


def test_what_lacks_a_ten_billionth_of_a_task_is_not_guaranteed_as_whole() -> None:
    cluster = Cluster([Machine("m", {"cpu": "5.9999999998"})])
    jobs = [Job(name, {"cpu": 1}) for name in "ab"]
    assert dict(guarantee(0, cluster, jobs).guarantees) == dict.fromkeys("ab", 2)


@pytest.mark.parametrize("policy", ["tsf", "drf", "asset"])
def test_thirds_of_machines_are_guaranteed_where_they_make_whole_tasks(policy: str) -> None:
    # Scales of 10/3 and the like: three jobs have exactly 7 tasks each.
    machines = [Machine(f"m{i}", {"cpu": "0.9", "memory": "2.1"}) for i in range(7)]
    jobs = [Job(name, {"cpu": "0.3", "memory": "0.7"}) for name in "abc"]
    found = guarantee(0, Cluster(machines), jobs, policy)
    assert dict(found.guarantees) == dict.fromkeys("abc", 7)


def test_finite_jobs_are_guaranteed_no_more_than_they_have() -> None:
    cluster = Cluster([Machine("m", {"cpu": 8})])
    jobs = [Job("few", {"cpu": 1}, tasks=2), Job("many", {"cpu": 1})]
    assert dict(guarantee(0, cluster, jobs).guarantees) == {"few": 2, "many": 6}


def test_nobody_is_guaranteed_anything_where_there_is_nothing() -> None:
    assert guarantee(0, Cluster([]), [Job("j", {"cpu": 1})]) == GuaranteesChanged(0)
    cluster = Cluster([Machine("m", {"cpu": 1})])
    assert guarantee(0, cluster, [Job("j", {"cpu": 2})]) == GuaranteesChanged(0)
