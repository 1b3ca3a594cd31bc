"""The jobs of a cluster that another scheduler runs, as they come, run, go and change there."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import pytest

from fairlead.engines.interface import (
    Assignment,
    Attempt,
    Cause,
    EngineError,
    Health,
    Node,
    Output,
    Report,
    Stream,
)
from fairlead.engines.observing import Apart, Part, PartEnd, SeenJob, View
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.scheduling.reading.lookup import job_counts
from fairlead.scheduling.transitions import HELD
from fairlead.service.journal.memory import MemoryStore, Place
from fairlead.service.loop.loop import Service
from fairlead.service.recovery.recover import recover
from fairlead.service.recovery.replay import replay
from fairlead.service.requests import (
    Caller,
    CancelJob,
    Done,
    DrainMachine,
    ForgetJob,
    PutTenant,
    Refused,
    SubmitJobs,
    Wrong,
)
from fairlead.service.settings import Settings, where_others_place
from fairlead.wire.kinds import JobState
from tests.engines.fake import FakeEngine, Planted
from tests.engines.world import Fate, World

SECOND = 1_000_000
ADMIN = Caller()
MACHINES = ("m1", "m2", "m3")


class Watched:
    """An engine of a cluster that another scheduler runs: it shows the views that it is given."""

    name = "slurm"

    def __init__(self, identity: str = "slurm:here") -> None:
        self.identity = identity
        self.views: list[View | EngineError] = []
        self.shown: Sequence[Node] = ()

    def view(self) -> View | None:
        if not self.views:
            return None
        found = self.views.pop(0)
        if isinstance(found, EngineError):
            raise found
        self.shown = found.nodes
        return found

    def nodes(self) -> Sequence[Node]:
        return self.shown or [Node(machine(name)) for name in MACHINES]

    def knows(self, identity: str | None) -> bool:
        return identity == self.identity

    def reconcile(self, expected: Sequence[Assignment], owner: int = 0) -> Sequence[Attempt]:  # noqa: ARG002
        return ()

    def poll(self) -> Sequence[Report]:
        return ()

    def launch(self, batch: Sequence[Assignment]) -> None:
        raise AssertionError(batch)

    def acknowledge(self, reports: Sequence[Report]) -> None:
        assert not reports

    def cancel(self, batch: Sequence[Attempt]) -> None:
        raise AssertionError(batch)

    def output(self, attempt: Attempt, stream: Stream, offset: int, most: int) -> Output:  # noqa: ARG002
        return Output(b"", 0, 0, over=True)

    def forget(self, attempts: Sequence[Attempt]) -> None: ...

    def close(self) -> None: ...


def machine(name: str, cpu: int = 8) -> Machine:
    return Machine(name, {"cpu": cpu})


def job(name: str, cpu: int = 1, gang: int = 1, tenant: str | None = "team") -> Job:
    return Job(name, {"cpu": cpu}, tenant=tenant, tasks=gang, gang=gang)


class Bed:
    """A service over a journal in memory and such an engine."""

    def __init__(self) -> None:
        self.now = 1_000 * SECOND
        self.place = Place()
        self.settings = where_others_place(Settings())
        self.engine = Watched()
        self.service = self._service()
        self.tenants: tuple[Tenant, ...] = (Tenant("team"),)
        self.machines: dict[str, Health] = dict.fromkeys(MACHINES, Health.READY)
        self.weighed = False

    def _service(self) -> Service:
        return Service(MemoryStore(self.place), self.engine, self.settings)

    def restart(self) -> None:
        self.place.writer = None
        self.engine = Watched()
        self.service = self._service()

    def view(self, *jobs: SeenJob, apart: dict[str, Apart] | None = None) -> View:
        nodes = tuple(Node(machine(name), health) for name, health in self.machines.items())
        seen = {each.job.name: each for each in jobs}
        return View(self.now, nodes, self.tenants, self.weighed, seen, apart or {})

    def see(self, *jobs: SeenJob, apart: dict[str, Apart] | None = None) -> None:
        """The cluster is seen so."""
        self.now += 5 * SECOND
        self.engine.views.append(self.view(*jobs, apart=apart))
        self.service.step(self.now)
        self.service.step(self.now)  # one that begins says so in a step of its own
        assert not self.engine.views
        assert not self.service.trouble, self.service.trouble

    def held(self, name: str) -> dict[str, list[str]]:
        """The parts that the records have running, with their machines."""
        records = self.service.records
        record = records.job(name)
        found: dict[str, list[str]] = {}
        if record is None:
            return found
        for task, part in (record.parts or {}).items():
            known = records.task(record, task)
            if known.state in HELD:
                assert known.machine is not None
                found.setdefault(part, []).append(known.machine)
        return {part: sorted(machines) for part, machines in found.items()}

    def waiting(self, name: str) -> int:
        core = self.service.core
        assert core is not None
        return job_counts(core, name).waiting if name in core.ids.jobs else 0

    def state(self, name: str) -> JobState:
        record = self.service.records.job(name)
        assert record is not None
        return record.state

    def drains(self, name: str) -> bool:
        return self.service.records.machines[name].draining

    def ready(self) -> bool:
        return self.service.ready


def part(name: str, *machines: str, started: int = 990 * SECOND) -> Part:
    return Part(name, machines, started)


def ended(one: Part, cause: Cause | None = Cause.EXITED, code: int = 0) -> PartEnd:
    return PartEnd(one, cause, code, one.started + SECOND)


def test_a_job_waits_runs_and_ends_and_nothing_is_told_twice() -> None:
    bed = Bed()
    bed.see(SeenJob(job("7"), 1))
    assert (bed.waiting("7"), bed.state("7")) == (1, JobState.PENDING)
    bed.see(SeenJob(job("7"), 0, (part("", "m2"),)))
    assert bed.held("7") == {"": ["m2"]}
    seq = bed.service.records.seq
    bed.see(SeenJob(job("7"), 0, (part("", "m2"),)))
    assert bed.service.records.seq == seq
    bed.see(SeenJob(job("7"), 0, (), (ended(part("", "m2"), code=3),)))
    record = bed.service.records.job("7")
    assert record is not None
    task = bed.service.records.task(record, 0)
    assert (record.state, task.code, task.machine) == (JobState.FAILED, 3, "m2")
    seq = bed.service.records.seq
    bed.see(SeenJob(job("7"), 0, (), (ended(part("", "m2"), code=3),)))
    bed.see()
    assert bed.service.records.seq == seq


def test_what_ran_between_two_looks_is_in_the_history_with_its_end() -> None:
    bed = Bed()
    bed.see(SeenJob(job("7", gang=2), 2))
    bed.see(SeenJob(job("7", gang=2), 0, (), (ended(part("", "m1", "m3")),)))
    assert bed.state("7") is JobState.FINISHED
    bed.see(SeenJob(job("8"), 0, (), (ended(part("", "m1")),)))
    assert bed.service.records.job("8") is None  # it came and went unseen


def test_elements_of_an_array_are_tasks_and_only_those_that_run_are_held() -> None:
    bed = Bed()
    bed.see(SeenJob(job("7"), 10))
    bed.see(SeenJob(job("7"), 7, (part("3", "m1"), part("1", "m1"), part("2", "m2"))))
    assert bed.held("7") == {"1": ["m1"], "2": ["m2"], "3": ["m1"]}
    first = ended(part("1", "m1"))
    bed.see(SeenJob(job("7"), 2, (part("3", "m1"),), (first, ended(part("2", "m2"), None))))
    assert bed.held("7") == {"3": ["m1"]}
    assert bed.waiting("7") == 2  # five others were cancelled
    bed.see(SeenJob(job("7"), 0, (), (ended(part("3", "m1")),)))
    record = bed.service.records.job("7")
    assert record is not None
    assert record.state is JobState.FAILED
    assert record.tasks == 3


def test_a_throttled_array_goes_on_though_nothing_of_it_waits() -> None:
    bed = Bed()
    bed.see(SeenJob(job("7"), 0, (part("1", "m1"),)))
    number = bed.service.records.names["7"].id
    bed.see(SeenJob(job("7"), 0, (part("2", "m1"),), (ended(part("1", "m1")),)))
    assert bed.held("7") == {"2": ["m1"]}
    assert bed.service.records.names["7"].id == number


@pytest.mark.parametrize("back", [part("", "m2", started=995 * SECOND), part("", "m3")])
def test_a_job_that_was_given_back_waits_and_runs_again(back: Part) -> None:
    bed = Bed()
    bed.see(SeenJob(job("7"), 0, (part("", "m2"),)))
    bed.see(SeenJob(job("7"), 1, again=frozenset([""])))
    assert (bed.held("7"), bed.waiting("7")) == ({}, 1)
    bed.see(SeenJob(job("7"), 0, (back,)))
    record = bed.service.records.names["7"]
    assert bed.service.records.task(record, 0).attempt == 2
    bed.see(SeenJob(job("7"), 0, (part("", "m1", started=999 * SECOND),)))  # unseen meanwhile
    assert bed.service.records.task(record, 0).attempt == 3
    assert bed.held("7") == {"": ["m1"]}


def test_a_clock_there_that_is_ahead_starts_nothing_again() -> None:
    bed = Bed()
    ahead = part("", "m2", started=9_000 * SECOND)
    bed.see(SeenJob(job("7"), 0, (ahead,)), SeenJob(job("8"), 1))
    seq = bed.service.records.seq
    bed.see(SeenJob(job("7"), 0, (ahead,)), SeenJob(job("8"), 1))
    bed.see(SeenJob(job("7"), 0, (ahead,), again=frozenset(["x"])), SeenJob(job("8"), 1))
    assert bed.service.records.seq == seq


def test_one_that_is_held_claims_nothing_and_comes_back() -> None:
    bed = Bed()
    bed.see(SeenJob(job("7"), 1))
    held = {"7": Apart("team", "Slurm holds it (JobHeldAdmin)")}
    bed.see(apart=held)
    assert bed.service.records.job("7") is None
    assert bed.service.apart == held
    bed.see(SeenJob(job("7"), 1))
    assert bed.waiting("7") == 1
    assert bed.service.apart == {}


def test_one_that_was_held_till_it_was_cancelled_is_cancelled() -> None:
    bed = Bed()
    bed.see(SeenJob(job("7"), 0, (part("", "m1"),)))
    bed.see(apart={"7": Apart("team", "it was given back to the queue just now")})
    bed.see(SeenJob(job("7"), 0))
    assert bed.state("7") is JobState.CANCELLED
    number = bed.service.records.names["7"].id
    bed.see(SeenJob(job("7"), 0))
    bed.see()
    assert bed.service.records.names["7"].id == number
    assert bed.service.apart == {}
    bed.see(SeenJob(job("8"), 0))  # it came and went unseen
    assert bed.service.records.job("8") is None


def test_one_that_was_cancelled_while_it_waited_is_cancelled() -> None:
    bed = Bed()
    bed.see(SeenJob(job("7"), 1), SeenJob(job("8"), 3, (part("0", "m1"),)))
    bed.see(SeenJob(job("8"), 0, (part("0", "m1"),)))
    assert bed.state("7") is JobState.CANCELLED
    assert bed.waiting("8") == 0
    bed.see()
    record = bed.service.records.names["8"]
    assert record.state is JobState.FAILED
    assert "nobody saw how it ended" in bed.service.records.task(record, 0).why


def test_a_job_that_was_changed_by_hand_leaves_and_comes_back_as_it_is() -> None:
    bed = Bed()
    bed.see(SeenJob(job("7"), 1), SeenJob(job("8"), 0, (part("", "m1"),)))
    bed.see(SeenJob(job("7", cpu=4), 1), SeenJob(job("8", tenant=None), 0, (part("", "m1"),)))
    assert bed.service.records.names["7"].job.demand["cpu"] == 4
    assert bed.held("8") == {"": ["m1"]}
    assert bed.service.records.names["8"].job.tenant is None


def test_a_number_that_is_used_again_is_another_job() -> None:
    bed = Bed()
    bed.see(SeenJob(job("7"), 0, (part("", "m1"),)))
    bed.see()
    first = bed.service.records.names["7"].id
    bed.see(SeenJob(job("7"), 0, (part("", "m2", started=1005 * SECOND),)))
    assert bed.service.records.names["7"].id > first
    assert bed.held("7") == {"": ["m2"]}


def test_more_than_a_machine_has_is_taken_as_it_is_seen() -> None:
    bed = Bed()
    bed.see(SeenJob(job("7", cpu=6), 0, (part("1", "m1"), part("2", "m1"))))
    assert bed.held("7") == {"1": ["m1"], "2": ["m1"]}


def test_machines_drain_come_back_and_go_after_their_tasks() -> None:
    bed = Bed()
    running = SeenJob(job("7"), 0, (part("", "m1"),))
    bed.see(running)
    bed.machines["m1"] = Health.DRAINING
    bed.see(running)
    assert bed.drains("m1")
    assert bed.held("7") == {"": ["m1"]}
    bed.machines["m1"] = Health.READY
    bed.see(running)
    assert not bed.drains("m1")
    del bed.machines["m1"]
    bed.see(SeenJob(job("7"), 1, again=frozenset([""])))
    assert "m1" not in bed.service.records.machines
    assert bed.waiting("7") == 1
    bed.machines["m1"] = Health.DRAINING
    bed.see(SeenJob(job("7"), 0, (part("", "m1", started=1010 * SECOND),)))
    assert bed.drains("m1")
    assert bed.held("7") == {"": ["m1"]}


def test_weights_of_the_cluster_are_followed_and_others_are_ours() -> None:
    bed = Bed()
    bed.see()
    (reply,) = bed.service.step(bed.now, [PutTenant(ADMIN, Tenant("team", weight=3))])
    assert isinstance(reply, Done)
    bed.see()
    assert bed.service.records.tenants["team"].weight == 3
    bed.weighed = True
    bed.tenants = (Tenant("team", weight=5), Tenant("new", parent="team"))
    bed.see()
    assert bed.service.records.tenants["team"].weight == 5
    assert bed.service.records.tenants["new"].parent == "team"
    (reply,) = bed.service.step(bed.now, [PutTenant(ADMIN, Tenant("team", weight=3))])
    assert isinstance(reply, Refused)


def test_what_would_change_the_cluster_is_refused() -> None:
    bed = Bed()
    bed.see(SeenJob(job("7"), 0, (part("", "m1"),)), SeenJob(job("8"), 1))
    bed.see(SeenJob(job("8"), 1))
    seq = bed.service.records.seq
    for request in (
        SubmitJobs(ADMIN, (Job("a", {"cpu": 1}, tasks=1, command="true"),), None),
        CancelJob(ADMIN, "8"),
        DrainMachine(ADMIN, "m1"),
    ):
        (reply,) = bed.service.step(bed.now, [request])
        assert isinstance(reply, Refused)
        assert reply.wrong is Wrong.CONFLICT
        assert "Slurm runs this cluster" in reply.what
    assert bed.service.records.seq == seq
    (reply,) = bed.service.step(bed.now, [ForgetJob(ADMIN, "7")])
    assert isinstance(reply, Done)


def test_a_cluster_that_is_away_leaves_all_as_it_was() -> None:
    bed = Bed()
    bed.see(SeenJob(job("7"), 0, (part("", "m1"),)))
    seq = bed.service.records.seq
    bed.engine.views.append(EngineError("squeue failed; what is shown is 40 s old"))
    bed.service.step(bed.now + SECOND)
    assert not bed.ready()
    assert "40 s old" in bed.service.trouble
    assert bed.service.records.seq == seq
    bed.now += 10 * SECOND
    bed.see(SeenJob(job("7"), 0, (part("", "m1"),)))
    assert bed.ready()
    assert bed.service.records.seq == seq


def test_a_job_of_a_resource_that_nothing_counts_is_told_apart() -> None:
    bed = Bed()
    odd = Job("7", {"licence": 1}, tenant="team", tasks=1)
    bed.see(SeenJob(odd, 1), SeenJob(job("8"), 1))
    assert "licence" in bed.service.apart["7"].why
    assert bed.waiting("8") == 1


def test_journals_of_two_kinds_are_not_mixed() -> None:
    bed = Bed()
    bed.see(SeenJob(job("7"), 1))
    bed.place.writer = None
    world = World([machine("m1")], lambda: bed.now, lambda _: Fate(None))
    with pytest.raises(InputError, match="whose jobs another scheduler places"):
        Service(MemoryStore(bed.place), FakeEngine(world, Planted()), Settings())
    bed.place.writer = None
    with pytest.raises(InputError, match="name another state folder"):
        Service(MemoryStore(bed.place), Watched("slurm:other"), bed.settings)


@dataclass
class Element:
    """An element of a job of a cluster that is drawn."""

    state: str = "waits"
    machines: tuple[str, ...] = ()
    started: int = 0
    again: bool = False
    good: bool = True


@dataclass
class Drawn:
    """A cluster that goes its own way, by chance."""

    rng: random.Random
    now: int = 1_000 * SECOND
    jobs: dict[str, tuple[Job, bool, dict[str, Element]]] = field(default_factory=dict)
    next: int = 1

    def move(self) -> None:
        """Something happens."""
        rng = self.rng
        self.now += SECOND
        kind = rng.randrange(10)
        if kind < 2 and len(self.jobs) < 6:
            gang, count = rng.choice((1, 1, 2, 3)), rng.choice((1, 1, 2, 5))
            names = [str(i) for i in range(count)] if count > 1 else [""]
            new = replace(job(str(self.next), gang=gang), spread=gang > 1 and rng.random() < 0.5)
            self.jobs[new.name] = (new, False, {name: Element() for name in names})
            self.next += 1
        if not self.jobs:
            return
        name = rng.choice(list(self.jobs))
        work, held, elements = self.jobs[name]
        at = rng.choice(list(elements))
        each = elements[at]
        if kind == 2:
            self.jobs[name] = (work, not held, elements)
        elif kind == 3 and rng.random() < 0.3:
            del self.jobs[name]  # Slurm forgot it
        elif kind == 4 and rng.random() < 0.3:
            self.jobs[name] = (
                replace(work, demand=FrozenMap({"cpu": Fraction(rng.choice((1, 2)))})),
                held,
                elements,
            )
        elif each.state == "waits" and not held:
            if rng.random() < 0.8:
                there = tuple(rng.choice(MACHINES) for _ in range(int(work.gang)))
                elements[at] = Element("runs", there, self.now)
            else:
                elements[at] = Element("gone")
        elif each.state == "runs":
            if rng.random() < 0.3:
                elements[at] = Element("waits", again=True)
            else:
                each.state, each.good = "over", rng.random() < 0.7

    def jobs_seen(self) -> tuple[list[SeenJob], dict[str, Apart]]:
        """What Slurm would show of it."""
        found, apart = [], {}
        for name, (work, held, elements) in self.jobs.items():
            parts = {at: Part(at, each.machines, each.started) for at, each in elements.items()}
            waits = [at for at, each in elements.items() if each.state == "waits"]
            seen = SeenJob(
                work,
                0 if held else len(waits) * int(work.gang),
                tuple(parts[at] for at, each in elements.items() if each.state == "runs"),
                tuple(
                    PartEnd(parts[at], Cause.EXITED, int(not each.good), each.started + 1)
                    for at, each in elements.items()
                    if each.state == "over"
                ),
                frozenset(at for at in waits if elements[at].again),
            )
            if waits and held:
                apart[name] = Apart("team", "held")
            if not (waits and held and len(waits) == len(elements)):
                found.append(seen)
        shown = {seen.job.name for seen in found}
        return found, {name: each for name, each in apart.items() if name not in shown}


@pytest.mark.parametrize("seed", range(10))
def test_whatever_happens_there_the_records_say_it(seed: int) -> None:
    """Several things between two looks, and the service is killed now and then."""
    rng = random.Random(seed)
    cluster, bed = Drawn(rng), Bed()
    for _ in range(60):
        for _ in range(rng.choice((0, 1, 1, 2, 4))):
            cluster.move()
        if rng.random() < 0.1:
            bed.restart()
        jobs, apart = cluster.jobs_seen()
        bed.now = max(bed.now, cluster.now)
        bed.see(*jobs, apart=apart)
        for seen in jobs:
            running = {each.name: sorted(each.machines) for each in seen.running}
            assert bed.held(seen.job.name) == running
            assert bed.waiting(seen.job.name) == seen.waiting
        known = {each.job.name for each in jobs}
        core = bed.service.core
        assert core is not None
        assert core.ids.jobs.keys() <= known
    core = bed.service.core
    assert core is not None
    bed.place.writer = None
    store = MemoryStore(bed.place)
    recovered = recover(store)
    assert recovered.core is not None
    assert recovered.core.digest() == core.digest()
    assert recovered.records == bed.service.records
    assert replay(store.read()).digest == core.digest()
