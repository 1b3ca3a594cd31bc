"""The service as a process: the loop in a thread of its own, the API in the main thread, until a
signal ends both."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn

from fairlead.model.errors import OutputError
from fairlead.service.api.app import application
from fairlead.service.api.middleware import Middleware
from fairlead.service.api.neighbours.connection import Connections, guard_protocol
from fairlead.service.api.neighbours.listener import Listener
from fairlead.service.api.settings import ApiSettings
from fairlead.service.api.strangers import Strangers
from fairlead.service.journal.entry import Standing
from fairlead.service.loop.loop import Service
from fairlead.service.mailbox import Mailbox, MailboxClosedError
from fairlead.service.process.clock import wall_clock
from fairlead.service.process.first_token import make_first
from fairlead.service.process.listening import bind_listener, check_listening, url_of
from fairlead.service.process.private_file import write_private
from fairlead.service.process.rounds import loops
from fairlead.service.process.runner import Driven, Runner, explain_failure
from fairlead.service.process.troubles import Change, Part
from fairlead.service.recovery.follower import Follower
from fairlead.service.signin.settings import SignInSettings

if TYPE_CHECKING:
    from fairlead.service.telemetry.telemetry import Telemetry

ADDRESS = "address"
"""The file in the state folder that says where the service listens, while it does."""

TOKEN = "admin-token"
"""The file in the state folder with an admin's token: the first start writes it, and every start
that does not find it."""

FIRST_PATIENCE = 60.0
"""Seconds for which `ready` waits for the first token: on a busy machine it may take a while, and
where the engine is away or the journal cannot be written there is none until that is mended."""

PATIENCE = 5.0
"""Seconds for which a stop waits for answers that go on."""

SWITCHING = 0.00025
"""Seconds after which a thread that computes gives way to another one: the loop and the API are two
of them, and a request waits for the interpreter after each of its dozen calls of the system.
Python's own are twenty times that."""

STOPPING = 60.0
"""Seconds that the loop has to end its step when the service stops."""


@dataclass(frozen=True)
class Serving:
    """The service's addresses and files. `port` 0: any that is free. `metrics`: tells all of them;
    `seen`: is told of every answer (`api.app.application`); `waits`: in a sentence, why nothing is
    ready yet, once; `troubles`: that the engine or the journal cannot be reached, or can again;
    `clock`: the loop's; `fault`: hears what the engine found that should not be there; `failed`:
    of which request a step failed, and where.
    `lead`: makes the service that goes on of a follower (`Runner`); `leaves`: is called once the
    loop has ended, while no other service can lead yet; `advertise`:
    where others find it, if not where it listens; `address_file`: in the state folder; `sign_in`:
    the issuer of people's JWTs."""

    service: Driven
    state: Path
    host: str = "127.0.0.1"
    port: int = 7370
    tls_cert: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False
    no_auth: bool = False
    api: ApiSettings = field(default_factory=ApiSettings)
    poll: float = 0.02
    metrics: Callable[[Mailbox[Driven]], Awaitable[bytes]] | None = None
    on_answer: Callable[[str, str, int, float], None] | None = None
    waits: Callable[[str], None] = lambda _: None
    troubles: Callable[[Change], None] = lambda _: None
    lead: Callable[[Follower, Standing, str], Service | None] = lambda _, __, ___: None
    leaves: Callable[[], None] = lambda: None
    advertise: str | None = None
    address_file: str = ADDRESS
    clock: Callable[[], int] = wall_clock
    fault: Callable[[str], object] = lambda _: None
    failed: Callable[[str], object] = lambda _: None
    sign_in: SignInSettings | None = None
    telemetry: Telemetry | None = None


def serve(serving: Serving, ready: Callable[[str, bool], None] = lambda _, __: None) -> int:
    """Serves until a signal or the end of the loop; 0 after a clean stop. `ready` is told the
    address once it listens, and whether an admin's token is there. Raises what the first step
    raises, and why the loop ended by itself.

    The service is closed in the end, whatever comes of it; tasks go on running."""
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    sys.setswitchinterval(SWITCHING)
    tls = serving.tls_cert is not None
    try:
        listener = _listener(serving, tls)
    except BaseException:
        serving.service.close()
        raise
    mailbox: Mailbox[Driven] = Mailbox()
    url = url_of(listener, serving.host, tls=tls)
    try:
        middleware = _build_middleware(serving, mailbox)

        def announce(token: bool) -> None:
            write_private(serving.state / serving.address_file, url)
            ready(url, token)

        connections = Connections(serving.api, behind_proxy=serving.behind_proxy)
        listener.make_room = connections.make_room
        listener.rivals = middleware.api.turns.has_rivals
        middleware.api.turns.spent = listener.charge
        if tls:
            listener.handshakes = connections.handshakes
        config = _config(serving, middleware, connections)
        server = _Server(config, middleware, mailbox, serving, announce, listener)
        strangers = Strangers(middleware, lambda: server.server_state.default_headers)
        listener.guess = strangers.guess
        if not serving.no_auth and not serving.behind_proxy:  # whose address is in the request
            listener.answer = strangers.answer
        runner = Runner(
            serving.service,
            mailbox,
            lead=lambda follower, gone: serving.lead(follower, gone, url),
            address=serving.advertise or url,
            poll=serving.poll,
            clock=serving.clock,
            ended=server.end,
            troubles=serving.troubles,
            fault=serving.fault,
            failed=serving.failed,
        )
        middleware.api.following = lambda: runner.following
        middleware.api.stale = lambda: runner.stale
        try:
            runner.start()
            server.run(sockets=[listener])
        finally:
            for name in {serving.address_file, ADDRESS}:  # where it leads by now
                forget_address(serving.state / name, url)
            ended = runner.stop(STOPPING)
            serving.leaves()
            if ended:
                runner.service.close()
    finally:
        listener.close()
    if runner.failure is not None:
        raise explain_failure(runner.failure)
    if server.failure is not None:
        raise server.failure
    return 0


def _listener(serving: Serving, tls: bool) -> Listener:
    """The socket, bound where it is safe to listen. Raises InputError and UnboundError."""
    check_listening(
        serving.host,
        serving.tls_cert,
        serving.tls_key,
        behind_proxy=serving.behind_proxy,
        no_auth=serving.no_auth,
    )
    return bind_listener(
        serving.host, serving.port, serving.api, tls=tls, behind_proxy=serving.behind_proxy
    )


def forget_address(file: Path, url: str) -> None:
    """Takes the address away, unless another service has written its own there since."""
    with suppress(FileNotFoundError):
        if file.read_text(encoding="utf-8").strip() == url:
            file.unlink()


def _build_middleware(serving: Serving, mailbox: Mailbox[Driven]) -> Middleware:
    metrics = serving.metrics

    def say_issuer(why: str | None, seconds: float) -> None:
        serving.troubles(Change(Part.ISSUER, why, int(seconds * 1e6)))

    return application(
        mailbox,
        serving.api,
        no_auth=serving.no_auth,
        behind_proxy=serving.behind_proxy,
        tell_metrics=None if metrics is None else lambda: metrics(mailbox),
        on_answer=serving.on_answer,
        telemetry=serving.telemetry,
        sign_in=serving.sign_in,
        say_issuer=say_issuer,
        precedence=mailbox.precedence,
    )


def _config(serving: Serving, middleware: Middleware, connections: Connections) -> uvicorn.Config:
    return uvicorn.Config(
        middleware,
        loop="asyncio",
        http=guard_protocol(connections),  # type: ignore[arg-type]  # a class, made for these connections
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=int(serving.api.head_seconds),
        timeout_graceful_shutdown=int(PATIENCE),
        h11_max_incomplete_event_size=serving.api.head_bytes,
        ssl_certfile=serving.tls_cert,
        ssl_keyfile=serving.tls_key,
    )


class _Server(uvicorn.Server):
    """uvicorn's server, which ends where our loop ends, and lets streams go when it stops."""

    def __init__(
        self,
        config: uvicorn.Config,
        middleware: Middleware,
        mailbox: Mailbox[Driven],
        serving: Serving,
        ready: Callable[[bool], None],
        listener: Listener,
    ) -> None:
        super().__init__(config)
        self._listener = listener
        self.failure: Exception | None = None
        self._middleware, self._mailbox = middleware, mailbox
        self._serving, self._ready = serving, ready
        self._first: asyncio.Task[None] | None = None
        self._refusals = 0

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serves, in an event loop whose rounds go before long work."""
        with asyncio.Runner(loop_factory=loops(self._mailbox.precedence.rounds)) as runner:
            runner.run(self.serve(sockets))

    def end(self) -> None:
        """Stop soon. From any thread."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self._middleware.api.begin()
        self._listener.later = asyncio.get_running_loop().call_later
        await super().startup(sockets)
        self._listener.attend()
        if not self._serving.no_auth:
            self._first = asyncio.create_task(self._make_first())
            if self._middleware.api.following() is None:
                await asyncio.wait([self._first], timeout=FIRST_PATIENCE)
        token = self._first is not None and self._first.done()
        try:
            self._ready(token)
        except Exception as error:  # noqa: BLE001 - raised by `serve`, once all is closed
            self._fail(error)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._middleware.api.stop()
        if self._first is not None:
            self._first.cancel()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn's own raises the signals once more when it has stopped: then nothing could be
        closed after it."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        wanted = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup has it
            wanted.append(signal.SIGHUP)
        before = {each: signal.signal(each, self.handle_exit) for each in wanted}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal lets answers end, the second does not wait for them."""
        del sig, frame
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True

    def _fail(self, error: Exception) -> None:
        self.failure = error
        self.should_exit = True

    async def _make_first(self) -> None:
        """Makes a token for an admin where one is needed, once this service leads."""
        while self._middleware.api.following() is not None:
            await asyncio.sleep(1)
        file = _File(self._serving.state / TOKEN)
        try:
            await make_first(self._mailbox, self._middleware.api, file, self._say_why)
        except MailboxClosedError:
            return
        except OutputError as error:
            self._fail(error)

    def _say_why(self, why: str) -> None:
        """Says once why there is no token yet, and for how long it is waited for. What the engine
        has is not known in the first moment."""
        self._refusals += 1
        if self._refusals == 2:
            self._serving.waits(
                f"no token for the administrator can be made yet: {why}; waiting for it up to"
                f" {FIRST_PATIENCE:g} s before serving without"
            )


@dataclass(frozen=True)
class _File:
    """The file of the first token."""

    path: Path

    def exists(self) -> bool:
        return self.path.exists()

    def write(self, text: str) -> None:
        write_private(self.path, text)
