"""Spans reach a real collector over HTTP; one that is down or hangs hurts nobody."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.cli.serving.telemetry import is_wanted
from fairlead.service.telemetry import telemetry as module
from fairlead.service.telemetry.happenings import Happening
from fairlead.service.telemetry.spans import Spans
from fairlead.service.telemetry.telemetry import Telemetry
from tests.cli.live.place import Served, environment, fairlead, serving, until
from tests.engines.world import lasting
from tests.service.api.stage import Stage
from tests.service.telemetry.collector import Collector, collecting
from tests.zygote.forked import finished

NAMES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_BSP_SCHEDULE_DELAY")


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """A collector that listens, as the variables name it."""
    with collecting() as one:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", one.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
        yield one


def test_spans_arrive_at_the_collector(collector: Collector) -> None:
    telemetry = Telemetry()
    with Stage(lasting(1), telemetry=telemetry) as stage:
        stage.submit("a", "vision", 2)
        for _ in range(3):
            stage.step()
        telemetry.close()
        (job,) = collector.named("job")
        assert (job.attributes["fairlead.job"], job.parent, job.failed) == ("a", "", False)
        attempts = collector.named("attempt")
        assert [each.parent for each in attempts] == [job.id] * 2
        assert {each.trace for each in attempts} == {job.trace}
        (request,) = collector.named("POST /v1/jobs")
        assert request.attributes["http.response.status_code"] == 201
        assert job.resource["service.name"] == "fairlead"
        record = stage.service.records.jobs[1]
        assert (job.began, job.ended) == (record.submitted * 1000, (record.ended or 0) * 1000)


def test_that_the_collector_is_away_is_said_once_and_that_it_is_back(collector: Collector) -> None:
    said: list[str | None] = []
    collector.status = 400  # at which nothing is sent again
    telemetry = Telemetry(said.append)
    with Stage(telemetry=telemetry) as stage:
        stage.get("/v1/shares")
        until(lambda: said)
        stage.get("/v1/shares")
        collector.status = 200
        stage.get("/v1/machines")
        until(lambda: collector.named("GET /v1/machines") or not stage.get("/v1/machines"))
        until(lambda: len(said) > 1)
        telemetry.close()
    assert said == [f"{collector.url} does not take spans", None]


def test_a_collector_that_hangs_holds_up_neither_requests_nor_jobs_nor_the_stop(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STOPPING", 0.1)
    collector.hold = threading.Event()
    telemetry = Telemetry()
    with Stage(lasting(1), telemetry=telemetry) as stage:
        stage.get("/v1/shares")
        assert collector.asked.wait(120)  # it hangs now
        for number in range(50):
            assert stage.submit(f"j{number}", "vision").status == 201
            stage.step()
        assert stage.get("/v1/jobs/j49").status == 200
        assert not collector.spans
        telemetry.close()
        collector.hold.set()


def test_what_is_too_much_is_lost_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUEUED", 5)
    begun, go = threading.Event(), threading.Event()
    real = Spans.take

    def slow(self: Spans, what: Happening) -> None:
        begun.set()
        go.wait(120)
        real(self, what)

    monkeypatch.setattr(Spans, "take", slow)
    telemetry = Telemetry()
    with Stage(telemetry=telemetry) as stage:
        assert begun.wait(120)
        for _ in range(20):
            assert stage.get("/v1/shares").status == 200
        assert telemetry.lost == 15
        go.set()
        telemetry.close()


@pytest.fixture
def served(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Served]:
    """A service whose environment names the collector."""
    assert collector.url
    assert all(name in environment(tmp_path) for name in NAMES)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "our-cluster")
    with serving(tmp_path, "--log", "few") as found:
        yield found


def test_a_service_whose_environment_names_a_collector_sends_spans(
    collector: Collector, served: Served, tmp_path: Path
) -> None:
    env = environment(served.state.parent) | {
        "FAIRLEAD_STATE": str(served.state),
        "TRACEPARENT": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    }
    words = ["fairlead", "submit", "--wait", "--name", "traced"]
    done = finished([*words, "--", "sh", "-c", "echo it is $TRACEPARENT"], tmp_path, env)
    assert done.returncode == 0, done.stderr
    output = served.state / "local" / "output"
    written = [each.read_text() for each in output.rglob("*") if each.is_file()]
    assert any(f"it is {env['TRACEPARENT']}" in each for each in written)
    code, said = served.stop()
    assert code == 0, said
    assert "opentelemetry" not in said.lower()
    (job,) = collector.named("job")
    assert job.resource["service.name"] == "our-cluster"
    (attempt,) = collector.named("attempt")
    (request,) = collector.named("POST /v1/jobs")
    assert {job.trace, attempt.trace, request.trace} == {"4bf92f3577b34da6a3ce929d0e0e4736"}
    assert job.parent == request.parent == "00f067aa0ba902b7"


def test_when_spans_are_sent() -> None:
    named = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}
    assert is_wanted(True, {})
    assert is_wanted(False, named)
    assert is_wanted(False, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"})
    assert not is_wanted(False, {})
    assert not is_wanted(True, {"OTEL_SDK_DISABLED": "true"})
    assert not is_wanted(False, named | {"OTEL_TRACES_EXPORTER": "none"})
    assert not is_wanted(True, {"OTEL_TRACES_EXPORTER": "console"})


def test_nothing_of_it_is_loaded_where_nobody_asked_for_it(tmp_path: Path) -> None:
    code = (
        "import sys, fairlead.service.process.server, fairlead.cli.serving.run\n"
        "import fairlead.cli.serving.telemetry\n"
        "names = ('opentelemetry.sdk', 'opentelemetry.exporter', 'joserfc', 'requests')\n"
        "found = [each for each in sys.modules if each.startswith(names)]\n"
        "assert not found, found"
    )
    done = finished(["-c", code], tmp_path, environment(tmp_path))
    assert done.returncode == 0, done.stderr


def test_another_protocol_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    done = fairlead(tmp_path, "serve", "--telemetry", "--listen", "127.0.0.1:0", "--state", "state")
    assert (done.returncode, "spans are not sent as 'grpc'" in done.stderr) == (2, True)


def test_an_address_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "foo")
    done = fairlead(tmp_path, "serve", "--telemetry", "--listen", "127.0.0.1:0", "--state", "state")
    assert done.returncode == 2
    assert "OTEL_EXPORTER_OTLP_ENDPOINT is 'foo', which is not the address" in done.stderr
