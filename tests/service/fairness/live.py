"""A real service on an engine and a journal in memory, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.service.api.streams.standing import Standing, take_standing
from fairlead.service.fairness.interface import Adviser
from fairlead.service.fairness.observer import Observer
from fairlead.service.journal.memory import MemoryStore, Place
from fairlead.service.loop.loop import Service
from fairlead.service.requests import Caller, CancelJob, DrainMachine, Refused, Request, SubmitJobs
from fairlead.service.settings import Settings
from fairlead.service.why.answer import WhyJob, explain_taken, take
from tests.engines.fake import FakeEngine
from tests.engines.world import Fates, World, lasting
from tests.service.fairness.at_once import AtOnce

NOW = 1_800_000_000_000_000
SECOND = 1_000_000


class Live:
    """The service and its world."""

    def __init__(
        self,
        machines: Iterable[Machine],
        tenants: tuple[Tenant, ...],
        fates: Fates | None = None,
        observer: Observer | None = None,
        settings: Settings | None = None,
        adviser: Adviser | None = None,
    ) -> None:
        self.now = NOW
        self.world = World(machines, lambda: self.now, fates or lasting(None))
        self.service = Service(
            MemoryStore(Place()),
            FakeEngine(self.world),
            settings or Settings(tenants=tenants),
            AtOnce() if adviser is None else adviser,
            observer,
        )
        self.step()

    def step(self, *requests: Request, seconds: Fraction | int = 0) -> None:
        """Time passes, and the service does what there is to do. No request may be refused."""
        self.now += int(seconds * SECOND)
        for reply in self.service.step(self.now, requests):
            assert not isinstance(reply, Refused), reply
        self.service.step(self.now)

    def submit(self, *jobs: Job) -> None:
        """These jobs come."""
        self.step(SubmitJobs(Caller(), jobs))

    def cancel(self, job: str) -> None:
        """A job is cancelled."""
        self.step(CancelJob(Caller(), job))

    def drain(self, machine: str) -> None:
        """A machine drains."""
        self.step(DrainMachine(Caller(), machine))

    def stand(self) -> Standing:
        """Shares and the audit, as an administrator is told them."""
        return take_standing(self.service, Caller(), self.now)

    def why(self, job: str | int, *, own: bool = True) -> WhyJob:
        """Why a job waits."""
        service = self.service
        return explain_taken(
            take(self.now, service.records, service.frozen, service.watch, job, own=own)
        )


def runs(name: str, demand: dict[str, int], **more: object) -> Job:
    """A job that runs a command."""
    return Job(name, demand, command=["true"], **more)  # type: ignore[arg-type]  # what a job takes
