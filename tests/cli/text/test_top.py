"""What the live screen asks a service for: never more than the service allows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import cast

import pytest

from fairlead.cli.text.top import MOST_REASONS, REST, Look, look
from fairlead.client import Client
from fairlead.client.errors import BusyError
from fairlead.service.api.neighbours.limits import Buckets
from fairlead.service.api.settings import ApiSettings
from fairlead.wire.fairness import Shares, WhyAnswer
from fairlead.wire.jobs import JobRow, TaskCounts
from fairlead.wire.kinds import JobState
from fairlead.wire.machines import MachineRow
from fairlead.wire.status import Ready


@cache
def waiting(number: int) -> JobRow:
    """A job of which tasks wait, made once: hundreds of looks see the same ones."""
    return JobRow(
        name=f"job-{number}",
        id=number,
        tenant="ana",
        state=JobState.RUNNING,
        tasks=TaskCounts(waiting=3),
        submitted=number,
    )


class Limited:
    """A service with waiting jobs that come and go: what it computes for long it allows as a real
    one does."""

    def __init__(self, jobs: int) -> None:
        settings = ApiSettings()
        self.heavy = Buckets(settings.heavy_rate, settings.heavy_burst)
        self.now = 0.0
        self.first, self.count = 0, jobs
        self.questions: list[float] = []
        self.refused = 0

    def clock(self) -> float:
        return self.now

    def ask(self) -> None:
        """A heavy question, of this screen or of another command of the same tenant."""
        if self.heavy.take("admin", self.now):
            self.refused += 1
            raise BusyError("too many requests of this kind are sent", 429)

    def machines(self) -> Iterator[MachineRow]:
        return iter(())

    def jobs(self) -> Iterator[JobRow]:
        return map(waiting, range(self.first, self.first + self.count))

    def shares(self, *, jobs: bool = False, own: bool = False) -> Shares:
        assert jobs or own, "jobs that are their own tenants are to be seen"
        if jobs:
            self.ask()
        return Shares(time=0, policy="tsf", tenants=[], jobs=[])

    def why(self, name: str) -> WhyAnswer:
        self.ask()
        assert name.startswith("job-")
        self.questions.append(self.now)
        return WhyAnswer.model_construct(reasons=[])

    def ready(self) -> Ready:
        return Ready(ready=True, leads=True)


def seen(service: Limited, before: Look | None = None) -> Look:
    return look(cast("Client", service), before, clock=service.clock)


@pytest.mark.parametrize(("interval", "looks"), [(0.05, 400), (1.0, 400), (30.0, 40)])
@pytest.mark.parametrize("jobs", [3, 100])
def test_a_screen_with_jobs_that_come_and_go_stays_below_the_limit(
    interval: float, looks: int, jobs: int
) -> None:
    """So many looks are several times as long as what is allowed takes to be used up."""
    service = Limited(jobs)
    found = seen(service)
    assert len(found.reasons) == min(jobs, MOST_REASONS)
    for _ in range(looks):
        service.now += interval
        service.first += 1  # the oldest has ended, another one came
        found = seen(service, found)
        assert not found.trouble
    assert service.refused == 0
    assert len(service.questions) > MOST_REASONS or interval < 1


def test_two_screens_of_one_tenant_stay_below_the_limit() -> None:
    service = Limited(100)
    screens = [seen(service), seen(service)]
    for _ in range(200):
        service.now += 1
        service.first += 1
        screens = [seen(service, screen) for screen in screens]
    assert service.refused == 0


def test_a_reason_that_is_refused_leaves_the_picture_and_what_is_known() -> None:
    service = Limited(4)
    found = seen(service)
    known = dict(found.reasons)
    service.heavy = Buckets(1e-9, 0.0)  # another command of the tenant asks for all that there is
    for _ in range(30):
        service.now += 1
        found = seen(service, found)
        assert (dict(found.reasons), found.trouble) == (known, "")
    assert service.refused <= 2 + 30 / REST  # and is not asked for again at once
