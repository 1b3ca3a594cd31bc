"""The API over the real service, on an engine in memory, without sockets and threads."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

from starlette.types import ASGIApp, Message

from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.service.api.app import application
from fairlead.service.api.service_view import ServiceView
from fairlead.service.api.settings import ApiSettings
from fairlead.service.journal.memory import MemoryStore, Place
from fairlead.service.loop.loop import Service
from fairlead.service.metrics import Metrics
from fairlead.service.requests import Caller, MakeToken, Reply, Request
from fairlead.service.settings import Limits, Settings
from fairlead.service.tokens import make
from fairlead.wire.kinds import Role
from tests.engines.fake import FakeEngine
from tests.engines.world import Fates, World, lasting
from tests.service.fairness.at_once import AtOnce

T = TypeVar("T")

NOW = 1_800_000_000_000_000

TENANTS = (
    Tenant("research"),
    Tenant("vision", parent="research", weight=2),
    Tenant("language", parent="research"),
    Tenant("sales"),
)

TOKENS = {
    "root": (Role.ADMIN, None),
    "research": (Role.TENANT, "research"),
    "vision": (Role.TENANT, "vision"),
    "sales": (Role.TENANT, "sales"),
    "watcher": (Role.VIEWER, None),
}
"""Of every role one, and of tenants one above, one below and one beside."""


@dataclass
class DirectDoor:
    """Steps the service at once, in the caller's thread."""

    service: Service
    clock: Callable[[], int]
    asked: list[Request] = field(default_factory=list)

    async def ask(self, request: Request) -> Reply:
        self.asked.append(request)
        return self.service.step(self.clock(), [request])[0]

    def read(self, function: Callable[[ServiceView], T], *, long: bool = False) -> Awaitable[T]:
        del long  # there is one thread

        async def told() -> T:
            return function(self.service)

        return told()


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def tree(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def kind(self) -> str:
        """Of an error its kind."""
        return str(self.tree["error"]["kind"])

    @property
    def messages(self) -> list[str]:
        """Of an error its sentences."""
        return [mistake["message"] for mistake in self.tree["error"]["mistakes"]]


class Stage:
    """A service with its API, and whoever asks it."""

    def __init__(
        self,
        fates: Fates | None = None,
        settings: ApiSettings | None = None,
        machines: Iterable[Machine] | None = None,
        limits: Limits | None = None,
        **options: Any,
    ) -> None:
        self.now = NOW
        self.place = Place()
        there = [Machine(f"m{i}", {"cpu": 4, "memory": 8}) for i in range(2)]
        self.world = World(machines or there, lambda: self.now, fates or lasting(None))
        self.metrics = Metrics()
        self.service = Service(
            MemoryStore(self.place),
            FakeEngine(self.world),
            Settings(tenants=TENANTS, limits=limits or Limits()),
            AtOnce(),
            self.metrics,
        )
        self.service.listeners.append(self.metrics.count_entries)
        self.service.step(self.now)
        self.loop = asyncio.new_event_loop()
        drawn = count()
        self.tokens: dict[str, str] = {}
        for name, (role, tenant) in TOKENS.items():
            secret = make(name, lambda size, drawn=drawn: _bytes(next(drawn), size))  # type: ignore[misc]  # bound now
            self.tokens[name] = secret.text
            request = MakeToken(Caller(), name, role, tenant, secret.salt, secret.hash)
            self.service.step(self.now, [request])
        self.door = DirectDoor(self.service, lambda: self.now)
        self.time = 1000.0
        chosen = settings or ApiSettings(threads=False, poll_seconds=0.001)
        self.app = application(
            self.door,
            chosen,
            clock=lambda: self.time,
            wall=lambda: self.now,
            draw=lambda size: _bytes(next(drawn), size),
            tell_metrics=self._tell_metrics,
            on_answer=self.metrics.api,
            **options,
        )
        self.run(self.app.api.begin())

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self.app.api.stop()
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()

    async def _tell_metrics(self) -> bytes:
        self.metrics.read(self.service, self.now)
        return self.metrics.text()

    def run(self, what: Awaitable[T]) -> T:
        """What it gives."""

        async def waited() -> T:
            async with asyncio.timeout(60):
                return await what

        return self.loop.run_until_complete(waited())

    def step(self, seconds: float = 1.0) -> None:
        """Time passes."""
        self.now += int(seconds * 1e6)
        self.time += seconds
        self.service.step(self.now)

    def ask(
        self,
        method: str,
        path: str,
        token: str | None = "root",
        body: object = None,
        headers: Mapping[str, str] | None = None,
        chunks: Iterable[bytes] | None = None,
        impatient: bool = False,
    ) -> Answer:
        """The answer to a request. `body`: bytes as they are, all else as JSON. `impatient`: the
        client goes away after the first part of the answer."""
        given = dict(headers or {})
        if token is not None:
            given.setdefault("Authorization", f"Bearer {self.tokens.get(token, token)}")
        parts = list(chunks) if chunks is not None else []
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            given.setdefault("Content-Type", "application/json")
            given.setdefault("Content-Length", str(len(data)))
            parts = [data]
        return self.run(call(self.app, method, path, given, parts, impatient))

    def get(self, path: str, token: str | None = "root", **more: Any) -> Answer:
        """The answer to a GET."""
        return self.ask("GET", path, token, **more)

    def submit(self, name: str, tenant: str | None = None, tasks: int = 1, **more: Any) -> Answer:
        """Submits one job as the admin."""
        return self.ask("POST", "/v1/jobs", body={"jobs": [job(name, tenant, tasks, **more)]})


def job(name: str, tenant: str | None = None, tasks: int = 1, **more: Any) -> dict[str, Any]:
    """A job that can be submitted."""
    tree: dict[str, Any] = {"name": name, "demand": {"cpu": 1}, "tasks": tasks, "command": "true"}
    return tree | ({} if tenant is None else {"tenant": tenant}) | more


def scope_of(method: str, path: str, headers: Mapping[str, str]) -> dict[str, Any]:
    """What a server says of a request."""
    raw, _, query = path.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": raw,
        "raw_path": raw.encode(),
        "query_string": query.encode(),
        "headers": [
            *([] if "Host" in headers else [(b"host", b"localhost:7370")]),
            *((name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()),
        ],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 7370),
    }


async def call(
    app: ASGIApp,
    method: str,
    path: str,
    headers: Mapping[str, str],
    parts: list[bytes],
    impatient: bool = False,
    quiet: bool = False,
) -> Answer:
    """The whole answer to a request whose body comes in these parts. `quiet`: an error that the
    application raises after its answer, for the log, is not raised here."""
    left = list(parts) or [b""]
    status, answered, body = 0, {}, b""
    over = asyncio.Event()

    async def receive() -> Message:
        if left:
            part = left.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(left)}
        await over.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal status, answered, body
        if message["type"] == "http.response.start":
            status = message["status"]
            answered = {k.decode().lower(): v.decode("latin-1") for k, v in message["headers"]}
        else:
            body += message.get("body", b"")
            if impatient:
                over.set()

    try:
        await app(scope_of(method, path, headers), receive, send)
    except ZeroDivisionError:
        if not quiet:
            raise
    finally:
        over.set()
    return Answer(status, answered, body)


async def stream(
    app: ASGIApp, path: str, headers: Mapping[str, str]
) -> AsyncGenerator[bytes, None]:
    """The parts of an answer as they come; the client goes away when nobody wants more."""
    parts: asyncio.Queue[bytes | None] = asyncio.Queue()
    gone = asyncio.Event()

    async def receive() -> Message:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            await parts.put(message.get("body", b""))
            if not message.get("more_body", False):
                await parts.put(None)

    task = asyncio.ensure_future(app(scope_of("GET", path, headers), receive, send))
    try:
        while (part := await parts.get()) is not None:
            if part:
                yield part
    finally:
        gone.set()
        await asyncio.wait_for(task, 60)


def _bytes(number: int, size: int) -> bytes:
    return hashlib.sha512(f"drawn {number}".encode()).digest()[:size]
