"""Sends spans to a collector, as OTLP over HTTP; nobody waits for it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from fairlead.service.telemetry.spans import Ids
from fairlead.version import __version__

USUAL = "http://localhost:4318"


class Watched(SpanExporter):
    """An exporter of which it is said when it begins to fail, and when that is over (None)."""

    def __init__(self, exporter: SpanExporter, where: str, say: Callable[[str | None], None]):
        self._exporter, self._where, self._say = exporter, where, say
        self._down = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        failed = result is not SpanExportResult.SUCCESS
        if failed is not self._down:
            self._down = failed
            self._say(f"{self._where} does not take spans" if failed else None)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


def make_provider(
    say: Callable[[str | None], None], exporter: SpanExporter | None = None
) -> tuple[TracerProvider, Ids]:
    """A maker of spans, which sends them by a thread of its own, with a queue of bounded length, as
    the variables OTEL_* say. `exporter`: in place of OTLP."""
    # It would write to the standard error, in lines that are no JSON; `say` tells what matters.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)
    said = {"service.version": __version__}
    if not os.environ.get("OTEL_SERVICE_NAME"):
        said["service.name"] = "fairlead"
    ids = Ids()
    provider = TracerProvider(
        resource=Resource.create(said),
        id_generator=ids,
        shutdown_on_exit=False,  # a collector that hangs holds up no exit
    )
    watched = Watched(exporter or OTLPSpanExporter(), _collector(), say)
    provider.add_span_processor(BatchSpanProcessor(watched))
    return provider, ids


def _collector() -> str:
    """The collector's address, without what may be a secret in it."""
    names = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
    parts = urlsplit(next((os.environ[each] for each in names if os.environ.get(each)), USUAL))
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
