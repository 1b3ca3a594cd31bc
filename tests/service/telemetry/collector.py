"""A small OTLP/HTTP collector of the tests' own: it parses what comes, and may be slow or down."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.http_server import Quiet, serving_http


@dataclass(frozen=True)
class Told:
    """A span as it came."""

    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, Any]
    events: list[tuple[str, int, dict[str, Any]]]
    began: int
    ended: int
    failed: bool
    resource: dict[str, Any]


class Collector:
    """What came. `status`: of its answers; `hold`: answers wait for it."""

    def __init__(self) -> None:
        self.url = ""
        self.spans: list[Told] = []
        self.status = 200
        self.hold: threading.Event | None = None
        self.asked = threading.Event()

    def named(self, name: str) -> list[Told]:
        """The spans of that name."""
        return [span for span in self.spans if span.name == name]

    def take(self, body: bytes) -> int:
        """Takes a request in, and says its status."""
        self.asked.set()
        if self.hold is not None:
            self.hold.wait(120)
        if self.status == 200:
            request = ExportTraceServiceRequest.FromString(body)
            for each in request.resource_spans:
                resource = _values(each.resource.attributes)
                for scope in each.scope_spans:
                    self.spans += [_told(span, resource) for span in scope.spans]
        return self.status


def _told(span: Any, resource: dict[str, Any]) -> Told:
    return Told(
        name=span.name,
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        attributes=_values(span.attributes),
        events=[(each.name, each.time_unix_nano, _values(each.attributes)) for each in span.events],
        began=span.start_time_unix_nano,
        ended=span.end_time_unix_nano,
        failed=span.status.code == 2,
        resource=resource,
    )


def _values(pairs: Any) -> dict[str, Any]:
    found = {}
    for pair in pairs:
        kind = pair.value.WhichOneof("value")
        value = getattr(pair.value, kind)
        if kind == "array_value":
            value = [each.string_value for each in value.values]
        found[pair.key] = value
    return found


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that listens."""
    collector = Collector()

    class Handler(Quiet, BaseHTTPRequestHandler):
        """One connection."""

        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            status = collector.take(body) if self.path == "/v1/traces" else 404
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with serving_http(Handler) as collector.url:
        try:
            yield collector
        finally:
            if collector.hold is not None:
                collector.hold.set()
