"""Spans of requests, jobs and attempts, by what the service and its journal say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from fairlead.service.telemetry import telemetry as module
from fairlead.service.telemetry.happenings import AskWaiting
from fairlead.service.telemetry.spans import MOST_JOBS, Spans, ids_of
from fairlead.service.telemetry.telemetry import Telemetry, look
from fairlead.wire.trace import Parent, parent_of
from tests.engines.world import Fate, Fates, lasting
from tests.service.api.stage import NOW, Stage

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"


SECOND = 1_000_000


class Traced:
    """A service of which spans are kept in memory."""

    def __init__(self, fates: Fates | None = None, stage: Stage | None = None) -> None:
        self.memory = InMemorySpanExporter()
        self.telemetry = Telemetry(exporter=self.memory)
        self.stage = stage or Stage(fates, telemetry=self.telemetry)

    def spans(self, name: str) -> list[ReadableSpan]:
        """Those that have ended, all that happened so far being told."""
        self.telemetry.close()
        return [span for span in self.memory.get_finished_spans() if span.name == name]


@contextmanager
def traced(fates: Fates | None = None) -> Iterator[Traced]:
    made = Traced(fates)
    with made.stage:
        yield made


def of(span: ReadableSpan, name: str) -> Any:
    """An attribute."""
    return (span.attributes or {}).get(name)


def test_a_request_is_a_span_with_its_route_status_and_tenant() -> None:
    with traced() as here:
        assert here.stage.get("/v1/jobs/none", "vision").status == 404
        assert here.stage.get("/v1/shares", "root").status == 200
        assert here.stage.get("/v1/shares", None).status == 401
        assert here.stage.get("/nowhere/secret", None).status == 404
        (found,) = here.spans("GET /v1/jobs/{job}")
        (shares, refused) = here.spans("GET /v1/shares")
        assert dict(found.attributes or {}) == {
            "http.request.method": "GET",
            "http.route": "/v1/jobs/{job}",
            "http.response.status_code": 404,
            "fairlead.tenant": "vision",
            "fairlead.role": "tenant",
        }
        assert (of(shares, "fairlead.role"), of(shares, "fairlead.tenant")) == ("admin", None)
        assert (of(refused, "http.response.status_code"), of(refused, "fairlead.role")) == (
            401,
            None,
        )
        (nowhere,) = here.spans("GET none")
        assert "secret" not in nowhere.to_json()


def test_a_request_belongs_to_the_span_that_its_sender_names() -> None:
    with traced() as here:
        here.stage.get("/v1/shares", headers={"traceparent": TRACEPARENT})
        here.stage.get("/v1/machines", headers={"traceparent": "00-0-0-01"})
        here.stage.get("/v1/tenants", headers={"traceparent": TRACEPARENT[:-1] + "0"})
        (span,) = here.spans("GET /v1/shares")
        assert span.parent is not None
        assert (f"{span.parent.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, PARENT)
        (lone,) = here.spans("GET /v1/machines")
        assert lone.parent is None
        assert here.spans("GET /v1/tenants") == []  # its sender keeps nothing of that trace


@pytest.mark.parametrize(
    ("text", "parent"),
    [
        (TRACEPARENT, Parent(int(TRACE, 16), int(PARENT, 16), True)),
        (TRACEPARENT[:-2] + "00", Parent(int(TRACE, 16), int(PARENT, 16), False)),
        (f"ff-{TRACE}-{PARENT}-01", None),
        (f"00-{'0' * 32}-{PARENT}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (TRACEPARENT.upper(), None),
        (TRACEPARENT + "-x", None),
        ("", None),
        (None, None),
        (7, None),
    ],
)
def test_a_traceparent_is_read_as_the_standard_has_it(text: object, parent: Parent | None) -> None:
    assert parent_of(text) == parent


def test_a_job_is_a_span_from_submission_to_its_end_and_each_attempt_one_below_it() -> None:
    with traced(lasting(2)) as here:
        here.stage.submit("a", "vision", 2)
        for _ in range(4):
            here.stage.step()
        record = here.stage.service.records.jobs[1]
        assert record.ended is not None
        (span,) = here.spans("job")
        assert (span.start_time, span.end_time) == (record.submitted * 1000, record.ended * 1000)
        assert (of(span, "fairlead.job"), of(span, "fairlead.tenant")) == ("a", "vision")
        assert (of(span, "fairlead.tasks"), of(span, "fairlead.outcome")) == (2, "finished")
        attempts = here.spans("attempt")
        assert sorted(of(each, "fairlead.task") for each in attempts) == [0, 1]
        for each in attempts:
            assert each.parent is not None
            assert span.context is not None
            assert each.parent.span_id == span.context.span_id
            task = here.stage.service.records.task(record, of(each, "fairlead.task"))
            assert task.launched is not None
            assert each.start_time == task.launched * 1000
            assert of(each, "fairlead.machine") == task.machine
            assert (of(each, "fairlead.outcome"), of(each, "fairlead.cause")) == (
                "finished",
                "exited",
            )
            assert [event.name for event in each.events] == ["started"]


def test_attempts_that_fail_or_are_lost_are_errors_and_the_job_ends_once() -> None:
    fates = iter([Fate(1, code=1), Fate(1), Fate(1, code=3)])
    with traced(lambda _: next(fates)) as here:
        here.stage.submit("a", "vision", 2, retries=1)
        for _ in range(6):
            here.stage.step()
        attempts = here.spans("attempt")
        outcomes = [(of(each, "fairlead.outcome"), of(each, "fairlead.code")) for each in attempts]
        assert sorted(outcomes) == [("failed", 3), ("finished", 0), ("lost", 1)]
        assert [not each.status.is_ok for each in attempts].count(True) == 2
        (span,) = here.spans("job")
        assert (of(span, "fairlead.outcome"), span.status.is_ok) == ("failed", False)


def test_a_job_that_is_cancelled_ends_when_nothing_of_it_runs() -> None:
    with traced() as here:
        here.stage.submit("a", "vision", 20)
        here.stage.step()
        here.stage.ask("POST", "/v1/jobs/a/cancel")
        here.stage.step()
        here.stage.step()
        (span,) = here.spans("job")
        assert of(span, "fairlead.outcome") == "cancelled"
        assert "cancelled" in [event.name for event in span.events]
        assert span.end_time == max(each.end_time or 0 for each in here.spans("attempt")) + 10**9


def test_a_job_that_grows_ends_with_its_last_task() -> None:
    with traced(lasting(1)) as here:
        here.stage.submit("a", "vision", 1)
        here.stage.ask("PATCH", "/v1/jobs/a", body={"tasks": 3})
        for _ in range(5):
            here.stage.step()
        (span,) = here.spans("job")
        assert (of(span, "fairlead.tasks"), len(here.spans("attempt"))) == (3, 3)


def test_a_job_belongs_to_the_span_that_its_environment_names() -> None:
    with traced(lasting(1)) as here:
        here.stage.submit("a", "vision", env={"TRACEPARENT": TRACEPARENT})
        here.stage.step()
        here.stage.step()
        (span,) = here.spans("job")
        assert span.parent is not None
        assert (f"{span.parent.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, PARENT)
        (attempt,) = here.spans("attempt")
        assert attempt.context is not None
        assert f"{attempt.context.trace_id:032x}" == TRACE


def test_nothing_that_tasks_or_their_owners_wrote_is_in_a_span() -> None:
    with traced(lambda _: Fate(1, code=1, message="SECRET of the task")) as here:
        more: dict[str, Any] = {"command": "echo SECRET", "cwd": "/SECRET"}
        here.stage.submit("a", "vision", env={"KEY": "SECRET"}, **more)
        for _ in range(3):
            here.stage.step()
        told = here.spans("job") + here.spans("attempt") + here.spans("POST /v1/jobs")
        assert len(told) == 3
        for span in told:
            assert "SECRET" not in span.to_json()
        for token in here.stage.tokens.values():
            assert all(token not in span.to_json() for span in told)


def test_a_restart_goes_on_with_the_spans_of_what_is_under_way() -> None:
    with Stage(lasting(5 * SECOND)) as stage:
        stage.submit("a", "vision", 2)
        stage.step()
        traces = []
        for _ in range(2):  # two services, one after the other, of which the first is killed
            here = Traced(stage=stage)
            stage.service.listeners.clear()
            here.telemetry.attach(stage.service, lambda: True)
            traces.append(here)
        for _ in range(8):
            stage.step()
        (span,) = traces[1].spans("job")
        assert span.start_time == NOW * 1000
        assert span.context is not None
        assert (span.context.trace_id, span.context.span_id) == ids_of("job", 1, NOW, "a")
        attempts = traces[1].spans("attempt")
        assert [each.start_time for each in attempts] == [NOW * 1000] * 2
        assert traces[0].spans("job") == []
        traces[0].telemetry.close()


def test_a_service_that_follows_sends_no_spans_of_jobs() -> None:
    leads = False
    with Stage(lasting(1)) as stage:
        here = Traced(stage=stage)
        here.telemetry.attach(stage.service, lambda: leads)
        stage.submit("a", "vision")
        for _ in range(3):
            stage.step()
        stage.submit("b", "vision")
        leads = True  # it took over
        for _ in range(3):
            stage.step()
        assert [of(span, "fairlead.job") for span in here.spans("job")] == ["b"]


def test_why_a_job_waits_is_an_event_of_its_span_whenever_that_changed() -> None:
    with traced(lasting(10 * SECOND)) as here:
        stage = here.stage
        stage.submit("first", "sales", 8)
        stage.submit("second", "vision", 1, demand={"cpu": 4})
        stage.step()

        found, _ = look(stage.service, ["first", "second", "gone"], clock=lambda: 0.0)
        assert [each.job for each in found] == ["second"]
        assert stage.service.core is not None
        reasons = tuple(str(each) for each in stage.service.core.why("second").reasons)
        assert reasons
        for each in found * 2:
            here.telemetry._put(each)  # noqa: SLF001  as the look itself does
        for _ in range(25):
            stage.step()
        (span,) = [each for each in here.spans("job") if of(each, "fairlead.job") == "second"]
        (event,) = [event for event in span.events if event.name == "waits"]
        assert dict(event.attributes or {}) == {"reasons": reasons}
        assert event.timestamp == found[0].time * 1000


def test_the_running_service_looks_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    monkeypatch.setattr(module, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(module, "SHARE", 0)
    with traced(lasting(10 * SECOND)) as here:
        stage = here.stage
        stage.submit("first", "sales", 8)
        stage.submit("second", "vision", 1, demand={"cpu": 4})
        stage.step()
        spans = here.telemetry._spans  # noqa: SLF001  what is open is shown nowhere

        async def until() -> None:
            # The thread that makes spans has perhaps not come to the job yet.
            while (job := spans._jobs.get("second")) is None or not job.reasons:  # noqa: SLF001
                await asyncio.sleep(0.005)

        stage.run(until())
        here.telemetry.close()


def test_a_look_takes_no_more_of_the_loops_time_than_it_may() -> None:
    times = iter(range(100))
    with Stage(lasting(10 * SECOND)) as stage:
        stage.submit("first", "sales", 8)
        for name in "bcd":
            stage.submit(name, "vision", 1, demand={"cpu": 4})
        stage.step()
        found, spent = look(stage.service, list("bcd"), clock=lambda: next(times))
        assert (len(found), spent) == (0, 2)


def test_jobs_that_wait_are_asked_about_in_turn() -> None:
    with Stage(lasting(10 * SECOND)) as stage:
        here = Traced(stage=stage)
        here.telemetry.attach(stage.service, lambda: True)
        stage.submit("runs", "vision", 8)
        for name in "abcdef":
            stage.submit(name, "vision", 8)
        told: list[tuple[str, ...]] = []
        for _ in range(3):
            here.telemetry._put(AskWaiting(2, told.append))  # noqa: SLF001  as a look does
        here.telemetry.close()
        assert sorted(sum(told, ())) == list("abcdef")


def test_more_jobs_than_are_kept_are_not_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_JOBS > 2
    with Stage(lasting(1)) as stage:
        here = Traced(stage=stage)
        spans = here.telemetry._spans  # noqa: SLF001  the limit is no option
        monkeypatch.setattr(spans, "_most", 2)
        assert isinstance(spans, Spans)
        here.telemetry.attach(stage.service, lambda: True)
        for name in "abc":
            stage.submit(name, "vision")
        for _ in range(3):
            stage.step()
        assert sorted(of(span, "fairlead.job") for span in here.spans("job")) == ["a", "b"]
