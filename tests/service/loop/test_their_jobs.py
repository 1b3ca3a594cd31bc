"""The cluster's own jobs beside ours, where they wait until they are launched here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from fairlead.engines.interface import Assignment, Attempt, Cause, Node, Output, Report, Stream
from fairlead.engines.observing import Apart, Part, PartEnd, SeenJob, View
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.transitions import HELD
from fairlead.service.journal.memory import MemoryStore, Place
from fairlead.service.loop.loop import Service
from fairlead.service.recovery.recover import recover
from fairlead.service.requests import (
    Caller,
    CancelJob,
    CancelJobs,
    Done,
    PutTenant,
    Refused,
    Request,
    SubmitJobs,
)

SECOND = 1_000_000
ADMIN = Caller()


class Beside:
    """An engine that places the cluster's own jobs: it shows views, and keeps what it is told."""

    name = "slurm"
    identity = "slurm:here"

    def __init__(self, cpu: int) -> None:
        self.cpu = cpu
        self.shown: View | None = None
        self.launched: list[Assignment] = []
        self.cancelled: list[Attempt] = []
        self.expected: list[Assignment] = []

    def adopted(self) -> View | None:
        shown, self.shown = self.shown, None
        return shown

    def nodes(self) -> Sequence[Node]:
        return [Node(Machine(name, {"cpu": self.cpu})) for name in ("m1", "m2")]

    def knows(self, identity: str | None) -> bool:
        return identity == self.identity

    def reconcile(self, expected: Sequence[Assignment], owner: int = 0) -> Sequence[Attempt]:  # noqa: ARG002
        self.expected = list(expected)
        return ()

    def poll(self) -> Sequence[Report]:
        return ()

    def launch(self, batch: Sequence[Assignment]) -> None:
        self.launched += batch

    def acknowledge(self, reports: Sequence[Report]) -> None:
        assert not reports

    def cancel(self, batch: Sequence[Attempt]) -> None:
        self.cancelled += batch

    def output(self, attempt: Attempt, stream: Stream, offset: int, most: int) -> Output:  # noqa: ARG002
        return Output(b"", 0, 0, over=True)

    def forget(self, attempts: Sequence[Attempt]) -> None: ...

    def close(self) -> None: ...


class Bed:
    """A service over a journal in memory and such an engine."""

    def __init__(self) -> None:
        self.now, self.place, self.weighed = 1_000 * SECOND, Place(), False
        self.begin()

    def begin(self, cpu: int = 2) -> None:
        self.place.writer = None
        self.engine = Beside(cpu)
        self.service = Service(MemoryStore(self.place), self.engine)

    def step(self, *requests: Request) -> list[Done | Refused]:
        self.now += SECOND
        replies = self.service.step(self.now, requests)
        assert not self.service.trouble, self.service.trouble
        return list(replies)

    def see(self, *jobs: SeenJob, apart: dict[str, Apart] | None = None) -> None:
        """These are seen, and what follows is done."""
        tenants = (Tenant("team"),)
        seen = {each.job.name: each for each in jobs}
        self.engine.shown = View(self.now, (), tenants, self.weighed, seen, apart or {})
        self.step()
        self.step()

    def held(self, name: str) -> dict[str, str | None]:
        """The parts of a job that the records hold, with their machines."""
        records = self.service.records
        record = records.job(name)
        assert record is not None
        tasks = {part: records.task(record, task) for task, part in (record.parts or {}).items()}
        return {part: task.machine for part, task in tasks.items() if task.state in HELD}


def job(name: str, cpu: int = 2, gang: int = 1) -> Job:
    return Job(name, {"cpu": cpu}, tenant="team", tasks=gang, gang=gang)


def test_elements_are_launched_by_their_names_and_end_as_they_are_seen_to() -> None:
    bed = Bed()
    bed.see(SeenJob(job("7"), 3, queued=("1", "2", "3")))
    assert [(each.name, each.part, each.machine) for each in bed.engine.launched] == [
        ("7", "1", "m1"),
        ("7", "2", "m2"),
    ]
    bed.see(SeenJob(job("7"), 1, queued=("3",), given=frozenset({"1", "2"})))
    assert bed.held("7") == {"1": "m1", "2": "m2"}
    run = Part("1", ("m1",), 1_005 * SECOND)
    over = PartEnd(run, Cause.EXITED, 3, 1_010 * SECOND)
    bed.see(SeenJob(job("7"), 1, (run,), queued=("2", "3")))  # "2" was held again
    record = bed.service.records.job("7")
    assert record is not None
    assert bed.service.records.task(record, 0).started == 1_005 * SECOND
    assert [each.part for each in bed.engine.launched[2:]] == ["2"]
    bed.see(SeenJob(job("7"), 1, (), (over,), queued=("3",), given=frozenset({"2"})))
    assert bed.service.records.task(record, 0).code == 3
    assert bed.held("7") == {"2": "m2", "3": "m1"}
    # The journal alone says all of it.
    found = recover(MemoryStore(_freed(bed.place))).records.job("7")
    assert found is not None
    assert found.parts == record.parts
    bed.begin()
    bed.step()
    assert {(each.part, each.machine) for each in bed.engine.expected} == {
        ("2", "m2"),
        ("3", "m1"),
    }


def _freed(place: Place) -> Place:
    place.writer = None
    return place


def test_tasks_of_a_gang_are_one_part_and_a_job_that_is_changed_comes_back() -> None:
    bed = Bed()
    bed.see(SeenJob(job("8", cpu=1, gang=3), 3, queued=("",)))
    assert [each.part for each in bed.engine.launched] == ["", "", ""]
    bed.see(SeenJob(job("8", cpu=1, gang=2), 2, queued=("",)))
    assert sorted(bed.engine.cancelled) == sorted(each.attempt for each in bed.engine.launched[:3])
    assert len(bed.engine.launched) == 5
    bed.see(apart={"8": Apart("team", "Slurm holds it (JobHeldAdmin)")})
    assert bed.service.records.job("8") is None
    assert bed.service.apart["8"].why == "Slurm holds it (JobHeldAdmin)"


def test_ours_are_beside_them_and_theirs_are_not_changed_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bed = Bed()
    bed.see()
    ours = Job("9", {"cpu": 1}, tenant="team", tasks=1, command="true")
    (reply,) = bed.step(SubmitJobs(ADMIN, (replace(ours, name="a"), replace(ours, name="9-2"))))
    assert isinstance(reply, Refused)
    assert 'job "9-2" is called as Slurm calls its jobs' in str(reply.mistakes[0])
    with monkeypatch.context() as patch:  # a journal of before that was refused
        patch.setattr("fairlead.service.loop.adopting.NUMBER", re.compile("(?!)"))
        assert isinstance(bed.step(SubmitJobs(ADMIN, (ours,)))[0], Done)
    bed.see(SeenJob(job("7"), 1, queued=("",)), SeenJob(job("9"), 1, queued=("",)))
    assert "was submitted here has its name" in bed.service.apart["9"].why
    assert {(each.name, each.part) for each in bed.engine.launched} == {("9", None), ("7", "")}
    for request in (CancelJob(ADMIN, "7"), CancelJobs(ADMIN, ("9", "7"))):
        (reply,) = bed.step(request)
        assert isinstance(reply, Refused)
        assert "Slurm has job 7, so nothing was changed here" in str(reply.mistakes[0])
    bed.step(CancelJobs(ADMIN, tenant="team"))  # ours alone
    assert [each.job for each in bed.engine.cancelled] == [1]
    assert bed.held("7") == {"": "m2"}
    (reply,) = bed.step(PutTenant(ADMIN, Tenant("team", weight=2)))
    assert isinstance(reply, Done)
    bed.weighed = True
    bed.see(SeenJob(job("7"), 0, given=frozenset({""})))
    (reply,) = bed.step(PutTenant(ADMIN, Tenant("team", weight=3)))
    assert isinstance(reply, Refused)
    (reply,) = bed.step(PutTenant(ADMIN, Tenant("another", weight=3)))
    assert isinstance(reply, Done)


def test_a_release_that_slurm_did_not_take_is_decided_again() -> None:
    """Nothing that is seen differs from what was seen before it was launched."""
    bed = Bed()
    waits = SeenJob(job("7"), 1, queued=("",))
    bed.see(waits)
    bed.see(waits)
    assert [each.attempt.number for each in bed.engine.launched] == [1, 2]


def test_what_is_launched_before_anybody_knows_its_parts_waits_again() -> None:
    bed = Bed()
    bed.begin(cpu=1)
    waits = SeenJob(job("7"), 1, queued=("",))
    bed.see(waits)
    assert not bed.engine.launched
    bed.begin()
    bed.step()  # nothing was read so far
    assert [each.part for each in bed.engine.launched] == ["?"]
    bed.see(waits)
    assert [each.part for each in bed.engine.launched] == ["?", ""]
