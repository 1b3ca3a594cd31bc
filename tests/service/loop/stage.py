"""A service over a journal and an engine in memory, with a clock that goes when it is told to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlead.engines.interface import Attempt
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.service.fairness.interface import Adviser
from fairlead.service.journal.entry import Entry, Store
from fairlead.service.journal.memory import MemoryStore, Place
from fairlead.service.loop.loop import Service
from fairlead.service.records.tasks import TaskRecord
from fairlead.service.requests import (
    Caller,
    Done,
    Refused,
    Reply,
    Request,
    SubmitJobs,
    SubmittedJobs,
)
from fairlead.service.settings import Settings
from tests.engines.fake import FakeEngine, Planted
from tests.engines.world import Fate, World

ADMIN = Caller()
SECOND = 1_000_000
MACHINES = (Machine("a", {"cpu": 2, "memory": 2**30}), Machine("b", {"cpu": 2, "memory": 2**30}))


def job(name: str, tasks: int = 1, **more: Any) -> Job:
    """A job whose tasks take one cpu each and run until they are told to end."""
    values: dict[str, Any] = {"command": "forever", "demand": {"cpu": 1}, **more}
    return Job(name, values.pop("demand"), tasks=tasks, **values)


class Stage:
    """Everything outside of the service outlives it: `restart` is what a kill -9 does.

    `fates`: what becomes of attempts at a job of this name; the next of them each time, the last
    one again and again."""

    def __init__(
        self,
        machines: Sequence[Machine] = MACHINES,
        settings: Settings | None = None,
        fates: dict[str, list[Fate]] | None = None,
        adviser: Adviser | None = None,
    ) -> None:
        self.now = 1_000 * SECOND
        self.world_machines = {machine.name: machine for machine in machines}
        self.fates = fates or {}
        self.world = World(machines, lambda: self.now, self._fate, record=True)
        self.place = Place()
        self.faults = Planted()
        self.adviser = adviser
        self.settings = settings or Settings()
        self.service = self._service()

    def _fate(self, assignment: Any) -> Fate:
        planned = self.fates.get(assignment.name, [Fate(None)])
        return planned.pop(0) if len(planned) > 1 else planned[0]

    def _service(self) -> Service:
        store: Store = MemoryStore(self.place)
        return Service(store, FakeEngine(self.world, self.faults), self.settings, self.adviser)

    def step(self, *requests: Request, after: int = 0) -> list[Reply]:
        """So many microseconds later, a step."""
        self.now += after
        return self.service.step(self.now, requests)

    def settle(self, seconds: int = 1, every: int = SECOND // 4) -> None:
        """Steps until so much time has passed."""
        end = self.now + seconds * SECOND
        while self.now < end:
            self.step(after=every)

    def restart(self, settings: Settings | None = None) -> None:
        """The service is killed, and another one starts."""
        self.place.writer = None
        self.settings = settings or self.settings
        self.service = self._service()

    def submit(self, *jobs: Job, key: str | None = None, caller: Caller = ADMIN) -> SubmittedJobs:
        """Submits jobs, which are taken."""
        (reply,) = self.step(SubmitJobs(caller, jobs, key))
        assert isinstance(reply, Done), reply
        assert isinstance(reply.value, SubmittedJobs)
        return reply.value

    def refused(self, request: Request) -> Refused:
        """Makes a request, which is refused and leaves no entry."""
        self.step()  # what there is to report
        before = self.service.records.seq
        (reply,) = self.step(request)
        assert isinstance(reply, Refused), reply
        assert self.service.records.seq == before
        return reply

    def task(self, name: str, number: int = 0) -> TaskRecord:
        """What the records know of a task."""
        record = self.service.records.job(name)
        assert record is not None
        return self.service.records.task(record, number)

    def running(self) -> list[Attempt]:
        """What runs in the world."""
        return [assignment.attempt for assignment in self.world.running()]

    def entries(self, kind: str = "") -> list[Entry]:
        """The journal's entries, of one kind or all."""
        found = self.service.store.read()
        return [entry for entry in found if not kind or entry.kind == kind]

    def kinds(self, after: int = 0) -> list[str]:
        """The kinds of the entries after that one."""
        return [entry.kind for entry in self.service.store.read(after)]
