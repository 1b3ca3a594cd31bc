"""A first start with many tenants: each is told to the core once, and compared with one other."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest

from fairlead.model.job import Job
from fairlead.model.tenant import Tenant
from fairlead.scheduling import apply as applying
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import JobSubmitted, TenantChanged
from fairlead.scheduling.state.ids import Unit
from fairlead.service.journal.entry import JournalError
from fairlead.service.process.logs import Logs
from fairlead.service.settings import Settings
from tests.service.loop.stage import SECOND, Stage, job

TENANTS = (
    *(Tenant(f"org{k}") for k in range(5)),
    *(Tenant(f"t{k}", parent=f"org{k % 5}", limit={"cpu": k + 1}) for k in range(45)),
)


@pytest.fixture(name="told")
def fixture_told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tenants that any core is told of, in order."""
    told: list[str] = []
    change = applying.tenant_changed

    def tenant_changed(book: Any, time: int, tenant: Tenant) -> None:
        told.append(tenant.name)
        change(book, time, tenant)

    monkeypatch.setattr(applying, "tenant_changed", tenant_changed)
    return told


def test_a_first_start_tells_the_core_of_each_tenant_once(told: list[str]) -> None:
    stage = Stage(settings=Settings(tenants=TENANTS))
    stage.step()
    assert told == [each.name for each in TENANTS]
    assert [*stage.service.records.tenants.values()] == [*TENANTS]
    assert [entry.seq for entry in stage.entries()] == [*range(1, stage.service.records.seq + 1)]
    stage.submit(job("x", tenant="t0"))
    assert len(stage.running()) == 1
    digest = stage.service.core.digest()  # type: ignore[union-attr]  # it has stepped
    stage.restart()  # from the journal alone
    assert stage.service.core.digest() == digest  # type: ignore[union-attr]


def test_what_was_tried_counts_only_at_the_moment_at_which_it_was(told: list[str]) -> None:
    """The journal takes the first entry only later: the tenants come then."""
    stage = Stage(settings=Settings(tenants=TENANTS))
    append = stage.service.store.append
    failures = iter([JournalError("full"), JournalError("full")])

    def failing(entries: Any) -> None:
        if (failure := next(failures, None)) is not None:
            raise failure
        append(entries)

    stage.service.store.append = failing  # type: ignore[method-assign]
    for _ in range(4):
        stage.step(after=2 * SECOND)
    assert len(told) == 2 * len(TENANTS)
    (changed, *_) = stage.entries("tenant_changed")
    (start,) = stage.entries("service_started")
    assert changed.time > start.time
    assert [*stage.service.records.tenants.values()] == [*TENANTS]


class Counting(dict[int, Tenant]):
    """Tenants that count how many were looked at."""

    looked = 0

    def __getitem__(self, key: int) -> Tenant:
        self.looked += 1
        return super().__getitem__(key)

    def values(self) -> Any:
        def each() -> Iterator[Tenant]:
            for tenant in dict.values(self):
                self.looked += 1
                yield tenant

        return [*each()]


def test_a_tenant_and_a_job_are_compared_with_few_tenants_however_many_there_are() -> None:
    core = Core([Unit("cpu")])
    for k in range(100):
        core.handle(TenantChanged(0, Tenant(f"org{k}")))
    core.book.ids.tenant_at = counting = Counting(core.book.ids.tenant_at)
    for k in range(100):  # nobody is beside it yet
        core.handle(TenantChanged(0, Tenant(f"t{k}", parent=f"org{k}")))
    tenants = counting.looked
    core.handle(JobSubmitted(1, Job("j", {"cpu": 1}, tenant="t7", tasks=1)))
    assert tenants <= 10 * 100
    assert counting.looked - tenants <= 10


def test_the_log_is_written_once_for_all_entries_of_a_step() -> None:
    class Stream(io.StringIO):
        writes = 0

        def write(self, text: str) -> int:
            self.writes += 1
            return super().write(text)

    stream = Stream()
    stage = Stage(settings=Settings(tenants=TENANTS))
    stage.service.listeners.append(Logs(stream, lambda: stage.now).write_entries)
    stage.step()
    assert stream.getvalue().count('"tenant_changed"') == len(TENANTS)
    assert stream.writes == 2  # of the step that takes the journal over, and of the next
