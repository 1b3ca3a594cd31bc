"""The core stops tasks for jobs below their guarantees, and comes to rest."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

import pytest

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.quantity import Amount
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Launch, Stop
from fairlead.scheduling.events import (
    Event,
    GuaranteesChanged,
    JobCancelled,
    JobSubmitted,
    MachineJoined,
    MachineLeft,
    TaskFinished,
    TaskStopped,
    TenantChanged,
    TimePassed,
)
from fairlead.scheduling.options import Options
from fairlead.scheduling.state.ids import Unit
from tests.scheduling.exact_shares import guarantee

SECOND = 10**6
AFTER = 30 * SECOND
UNITS = (Unit("cpu"), Unit("gpu", Fraction(1, 2), piece=2))


@dataclass
class World:
    """A core that preempts, with engines that stop tasks when they are asked to."""

    core: Core = field(
        default_factory=lambda: Core(
            UNITS, options=Options(reserve_after=None, preempt_after=AFTER), checked=True
        )
    )
    now: int = 0
    running: dict[tuple[str, int], str] = field(default_factory=dict)
    stopping: dict[tuple[str, int], str] = field(default_factory=dict)
    launches: list[tuple[str, str]] = field(default_factory=list)
    stops: int = 0

    def tell(self, *told: Event) -> bool:
        """Tells the core this; whether it said anything."""
        for event in told:
            self.core.apply(event)
        decisions = self.core.decide()
        for each in decisions:
            if isinstance(each, Launch):
                self.running[each.job, each.task] = each.machine
                self.launches.append((each.job, each.machine))
            elif isinstance(each, Stop):
                self.stopping[each.job, each.task] = self.running.pop((each.job, each.task))
                self.stops += 1
        return bool(decisions)

    def wait(self, time: int = AFTER) -> bool:
        self.now += time
        return self.tell(TimePassed(self.now))

    def stopped(self, job: str, task: int) -> bool:
        del self.stopping[job, task]
        return self.tell(TaskStopped(self.now, job, task))

    def left(self, machine: str) -> None:
        for tasks in (self.running, self.stopping):
            for task in [task for task, at in tasks.items() if at == machine]:
                del tasks[task]
        self.tell(MachineLeft(self.now, machine))

    def rest(self, random: Random) -> int:
        """Lets time pass and tasks stop until nothing happens any more; how often any stopped."""
        rounds = quiet = 0
        while quiet < 3 or self.stopping:
            before = self.stops
            if self.stopping and random.random() < 0.8:
                something = self.stopped(*random.choice(sorted(self.stopping)))
            else:
                something = self.wait(random.choice([1, AFTER // 2, AFTER]))
                quiet = 0 if something else quiet + 1
            rounds += self.stops > before
            assert rounds < 1000
        return rounds

    def counts(self) -> Counter[str]:
        return Counter(job for job, _ in self.running)


def joined(*machines: Machine) -> list[Event]:
    return [MachineJoined(0, machine) for machine in machines]


def job(name: str, cpu: Amount = 1, tasks: int = 9, **more: object) -> JobSubmitted:
    return JobSubmitted(0, Job(name, {"cpu": cpu}, tasks=tasks, **more))  # type: ignore[arg-type]  # as named


def guaranteed(world: World, **tasks: int) -> GuaranteesChanged:
    return GuaranteesChanged(world.now, FrozenMap(tasks))


def test_after_long_below_its_guarantee_a_job_has_the_newest_task_of_another_stopped() -> None:
    world = World()
    world.tell(*joined(Machine("m", {"cpu": 3})), job("a", tasks=3))
    world.tell(job("b"))
    world.tell(guaranteed(world, a=1, b=1))
    assert world.core.wake() == AFTER
    assert not world.wait(AFTER - 1)
    assert world.wait(1)
    assert list(world.stopping) == [("a", 2)]
    world.stopped("a", 2)
    assert world.counts() == {"a": 2, "b": 1}
    assert world.rest(Random(0)) == 0


def test_a_task_that_must_not_start_again_holds_up_nobody_who_others_can_make_room_for() -> None:
    """It is the newest of the job furthest above its guarantee, and would run to its end."""
    world = World()
    world.tell(*joined(Machine("m", {"cpu": 4})), job("old", tasks=1))
    world.tell(job("once", tasks=3, rerunnable=False))
    assert world.counts() == {"old": 1, "once": 3}
    world.tell(job("b"))
    world.tell(guaranteed(world, b=1))
    assert world.wait()
    assert list(world.stopping) == [("old", 0)]
    world.stopped("old", 0)
    assert world.counts() == {"once": 3, "b": 1}
    assert world.rest(Random(0)) == 0


def test_without_the_option_nobody_is_stopped() -> None:
    world = World(Core(UNITS, checked=True))
    world.tell(*joined(Machine("m", {"cpu": 1})), job("a"))
    world.tell(job("b"), guaranteed(world, b=1))
    assert not world.wait()
    assert not world.wait()


def test_the_room_goes_to_whom_it_was_freed_for() -> None:
    # `hungry` has the least share and the least level: without a pledge it would take the room.
    world = World()
    world.tell(*joined(Machine("m", {"cpu": 4})), job("a", tasks=4))
    world.tell(job("b", cpu=2), job("hungry"))
    world.tell(guaranteed(world, b=1))
    world.wait()
    assert sorted(world.stopping) == [("a", 2), ("a", 3)]
    world.stopped("a", 3)
    assert world.counts() == {"a": 2}
    world.stopped("a", 2)
    assert world.counts() == {"a": 2, "b": 1}


def test_a_chain_frees_the_only_machine_of_another() -> None:
    world = World()
    machines = [Machine(name, {"cpu": 1}, {name: "yes"}) for name in "xyz"]
    world.tell(*joined(*machines))
    world.tell(job("a", machines=["x", "y"], tasks=1))
    world.tell(job("b", machines=["y", "z"], tasks=2))
    assert world.launches == [("a", "x"), ("b", "y"), ("b", "z")]
    world.tell(job("c", machines=["x"], tasks=1))
    world.tell(guaranteed(world, a=1, b=1, c=1))
    world.wait()
    assert sorted(world.stopping) == [("a", 0), ("b", 0)]
    world.stopped("a", 0)
    assert world.running["c", 0] == "x"
    world.stopped("b", 0)
    assert world.running == {("a", 0): "y", ("b", 1): "z", ("c", 0): "x"}
    assert world.rest(Random(0)) == 0


@pytest.mark.parametrize("first", ["a", "b"])
def test_the_case_in_which_comparing_riches_would_cycle_comes_to_rest(first: str) -> None:
    cluster = Cluster([Machine("m", {"cpu": 5})], [Tenant("ta", weight=2), Tenant("tb")])
    jobs = {
        "a": Job("a", {"cpu": 2}, tenant="ta", tasks=50),
        "b": Job("b", {"cpu": 1}, tenant="tb", tasks=50),
    }
    world = World()
    world.tell(*(TenantChanged(0, tenant) for tenant in cluster.tenants))
    world.tell(*joined(*cluster.machines), JobSubmitted(0, jobs.pop(first)))
    world.tell(*(JobSubmitted(0, each) for each in jobs.values()))
    present = [
        Job("a", {"cpu": 2}, tenant="ta", tasks=50),
        Job("b", {"cpu": 1}, tenant="tb", tasks=50),
    ]
    world.tell(guarantee(0, cluster, present))
    rounds = world.rest(Random(1))
    # `a` fills the machine but for one CPU, `b` all of it.
    assert rounds == (0 if first == "a" else 1)
    assert world.counts()["a"] >= 1
    assert world.counts()["b"] >= 1


def test_a_cancelled_job_gives_its_pledge_back() -> None:
    world = World()
    world.tell(*joined(Machine("m", {"cpu": 1})), job("a", tasks=1))
    world.tell(job("b", tasks=1), job("c", tasks=1))
    world.tell(guaranteed(world, b=1))
    world.wait()
    world.tell(JobCancelled(world.now, "b"))
    world.stopped("a", 0)
    assert sum(world.counts().values()) == 1


def test_a_pledged_machine_that_leaves_takes_the_pledge_with_it() -> None:
    world = World()
    world.tell(*joined(Machine("m", {"cpu": 1}), Machine("n", {"cpu": 1})), job("a", tasks=2))
    world.tell(job("b", tasks=1))
    world.tell(guaranteed(world, b=1))
    world.wait()
    ((task, machine),) = world.stopping.items()
    world.left(machine)
    world.rest(Random(0))
    assert task[0] == "a"
    assert world.counts()["b"] == 1


def test_pieces_of_devices_are_freed_whole() -> None:
    world = World()
    world.tell(*joined(Machine("m", {"cpu": 9, "gpu": 2})))
    world.tell(JobSubmitted(0, Job("half", {"gpu": Fraction(1, 2)}, tasks=4)))
    world.tell(JobSubmitted(0, Job("whole", {"gpu": 1}, tasks=1)))
    world.tell(guaranteed(world, whole=1))
    world.wait()
    assert len(world.stopping) == 2
    for each in sorted(world.stopping):
        world.stopped(*each)
    assert world.counts() == {"half": 2, "whole": 1}


def test_the_guarantees_of_jobs_that_are_gone_are_left_out_and_negative_ones_refused() -> None:
    world = World()
    world.tell(*joined(Machine("m", {"cpu": 1})))
    assert not world.tell(guaranteed(world, nobody=3))
    with pytest.raises(InputError, match="a guarantee of -1 tasks"):
        world.tell(guaranteed(world, nobody=-1))


def missing(counts: Counter[str], wanted: dict[str, int]) -> int:
    return sum(max(0, tasks - counts[name]) for name, tasks in wanted.items())


def outside(world: World, random: Random, jobs: dict[str, Job], machines: list[str]) -> None:
    """Something happens outside."""
    kind = random.random()
    world.now += SECOND
    if kind < 0.3 or not machines:
        name = f"m{len(world.launches)}-{world.now}"
        capacity = {"cpu": random.choice([1, 2, 4]), "gpu": random.choice([0, 0, 1, 2])}
        machines.append(name)
        world.tell(MachineJoined(world.now, Machine(name, capacity, {"zone": random.choice("ab")})))
    elif kind < 0.65 or not world.running:
        name = f"j{len(jobs)}"
        demand: dict[str, Amount] = {"cpu": random.choice([0, 1, 1, 2])}
        if not demand["cpu"] or random.random() < 0.3:
            demand["gpu"] = random.choice([Fraction(1, 2), Fraction(1)])
        jobs[name] = Job(
            name,
            demand,
            tasks=random.randint(1, 6),
            where=random.choice(["", "zone = a", "zone = b"]),
            spread=random.random() < 0.15,
            gang=1,
        )
        world.tell(JobSubmitted(world.now, jobs[name]))
    elif kind < 0.9:
        task = random.choice(sorted(world.running))
        del world.running[task]
        world.tell(TaskFinished(world.now, *task))
    else:
        world.left(machines.pop(random.randrange(len(machines))))


def test_between_events_from_outside_it_comes_to_rest_and_harms_nobody(cases: int) -> None:
    stops = helped = 0
    for seed in range(2 * cases):
        random = Random(seed)
        world, jobs, machines = World(), dict[str, Job](), list[str]()
        for _ in range(12):
            for _ in range(random.randint(1, 4)):
                outside(world, random, jobs, machines)
            wanted = {name: random.randint(0, 3) for name in jobs}
            world.tell(GuaranteesChanged(world.now, FrozenMap(wanted)))
            before = world.counts()
            rounds = world.rest(random)
            after = world.counts()
            assert rounds <= missing(before, wanted)
            for name, tasks in wanted.items():
                assert after[name] >= min(before[name], tasks)
            if rounds:
                assert missing(after, wanted) < missing(before, wanted)
            helped += missing(before, wanted) - missing(after, wanted)
        stops += world.stops
    assert stops > 8 * cases
    assert helped > 6 * cases


def test_the_same_story_gives_the_same_digest() -> None:
    digests = []
    for _ in range(2):
        random, world = Random(3), World()
        jobs, machines = dict[str, Job](), list[str]()
        for _ in range(6):
            outside(world, random, jobs, machines)
            outside(world, random, jobs, machines)
            wanted = {name: random.randint(0, 3) for name in jobs}
            world.tell(GuaranteesChanged(world.now, FrozenMap(wanted)))
            world.wait()
            digests.append(world.core.digest())
    assert digests[:6] == digests[6:]
    assert len(set(digests)) == 6
