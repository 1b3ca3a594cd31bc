"""A server that answers as a test tells it to: what a real service cannot be made to do at will."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Asked:
    """What came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """What goes out. `hang_up`: nothing at all."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    hang_up: bool = False


@contextmanager
def answering(
    answer: Callable[[Asked], Answer], tls: ssl.SSLContext | None = None
) -> Iterator[tuple[str, list[Asked]]]:
    """The address of a server that answers like this, and everything that it is asked."""
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        """One connection."""

        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            came = Asked(self.command, self.path, dict(self.headers), self.rfile.read(length))
            asked.append(came)
            said = answer(came)
            if said.hang_up:
                self.close_connection = True
                return
            self.send_response(said.status)
            for name, value in said.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(said.body)))
            self.end_headers()
            self.wfile.write(said.body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815  http.server's

        def handle(self) -> None:
            """Who hangs up, or knows no TLS, does so on purpose."""
            with suppress(OSError):
                super().handle()

        def log_message(self, *_: object) -> None:
            """Nothing: the test knows what came."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
