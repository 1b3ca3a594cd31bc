"""One request: its sender and rights, its body, and its answer."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

from fastapi import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from fairlead.dashboard.assets import ServedFiles, served_files
from fairlead.scheduling.reading.core_copy import Spares
from fairlead.service.api.bodies import model_of, receive
from fairlead.service.api.drawings import Drawings
from fairlead.service.api.keys import Keys
from fairlead.service.api.neighbours.limits import CHANGING, Buckets
from fairlead.service.api.neighbours.own_time import own_time
from fairlead.service.api.neighbours.places import Owners, Places, who_of
from fairlead.service.api.neighbours.turns import Turns
from fairlead.service.api.queries import matches
from fairlead.service.api.refusal import RefusalError, of_reply
from fairlead.service.api.service_view import Entrance, ServiceView
from fairlead.service.api.settings import ApiSettings
from fairlead.service.api.solving import Solving
from fairlead.service.api.streams.feed import Feed
from fairlead.service.api.streams.updates import Updates
from fairlead.service.api.submission import Media, media_of
from fairlead.service.journal.entry import JournalError
from fairlead.service.journal.leases import Following
from fairlead.service.mailbox import MailboxClosedError, weight
from fairlead.service.precedence import Precedence
from fairlead.service.requests import Caller, CancelJobs, CancelledJobs, Done, Refused, Reply
from fairlead.service.requests import Request as Change
from fairlead.wire.errors import ErrorKind
from fairlead.wire.route import Route
from fairlead.wire.shape import RequestBody, ResponseBody

if TYPE_CHECKING:
    from fairlead.service.api.keys import Holder
    from fairlead.service.signin.people import People
    from fairlead.service.telemetry.telemetry import Telemetry

T = TypeVar("T")
A = TypeVar("A", bound=RequestBody)

LARGE = 64 * 1024
"""Bytes of a body that is read in a thread, so that others need not wait."""

MANY = 100
"""Jobs of a change that is large: it takes some tens of milliseconds."""

OVERTAKEN = 10.0
"""Seconds after which a service that cannot know whether it leads has been overtaken: an answer
that goes on ends then, so that its reader looks for the one that leads."""

BUSY = "of this sender take the loop's time"


def wall_clock() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


@dataclass
class Api:
    """The part that all requests share."""

    mailbox: Entrance
    settings: ApiSettings
    clock: Callable[[], float]
    no_auth: bool = False
    wall: Callable[[], int] = wall_clock
    tell_metrics: Callable[[], Awaitable[bytes]] | None = None
    on_answer: Callable[[str, str, int, float], None] | None = None
    stopwatch: Callable[[], float] = own_time
    draw: Callable[[int], bytes] = secrets.token_bytes
    held: Counter[str] = field(default_factory=Counter)  # bytes of bodies, by whose they are
    streams: Counter[str] = field(default_factory=Counter)  # that are open, by whom and by token
    stopping: bool = False
    following: Callable[[], Following | None] = lambda: None
    stale: Callable[[], float] = lambda: 0.0  # seconds that what was just read may be old
    dashboard: ServedFiles = field(default_factory=served_files)
    telemetry: Telemetry | None = None
    people: People | None = None  # who sign in; None: all have tokens
    precedence: Precedence = field(default_factory=Precedence)

    def __post_init__(self) -> None:
        settings = self.settings
        self.keys = Keys(self, settings, self.clock, self.people)
        self.by_token = Buckets(settings.token_rate, settings.token_burst)
        self.by_address = Buckets(settings.address_rate, settings.address_burst)
        self.heavy = Buckets(settings.heavy_rate, settings.heavy_burst)
        self.reading = Buckets(settings.reading_rate, settings.reading_burst)
        self.turns, self.owners = Turns(self.stopwatch), Owners()
        self.changing = Buckets(settings.changing_rate, settings.changing_burst)
        self.feed = Feed(settings.kept_events)
        self.heavy_places = Places(settings.heavy, max(1, settings.heavy - 1))
        self.reading_places = Places(settings.connections, 1)  # what reads one is served in order
        self.changing_places = Places(settings.connections, 1)
        self.drawings = Drawings(lambda: self.feed.last, self.clock, self.settings.answer_seconds)
        self.spares = Spares()
        self.updates = Updates(self.feed, self.clock, self.spares, threads=settings.threads)
        self._fetching = ThreadPoolExecutor(self.settings.fetching, "output")
        self._watching: asyncio.Task[None] | None = None
        self.solving = Solving(apart=settings.threads, seconds=settings.answer_seconds)

    async def begin(self) -> None:
        """Listens to what happens. Called once, in the event loop that answers."""
        self.feed.listen(asyncio.get_running_loop())
        if self.people is not None:
            self.people.keys.start()
        if self.telemetry is not None:
            self._watching = asyncio.create_task(self.telemetry.watch_waiting(self.mailbox))
        await self.read(self._attach)

    def _attach(self, view: ServiceView) -> None:
        view.listeners.append(self.keys.took)  # before the feed wakes those whom it concerns
        if self.telemetry is not None:
            self.telemetry.attach(view, lambda: self.following() is None)
        self.feed.attach(view)

    def stop(self) -> None:
        self.stopping = True
        if self.people is not None:
            self.people.keys.stop()
        if self._watching is not None:
            self._watching.cancel()
        self.solving.close()
        self._fetching.shutdown(wait=False, cancel_futures=True)
        self.feed.wake_all()

    async def read(self, function: Callable[[ServiceView], T], *, long: bool = False) -> T:
        """Runs the function on the service. Raises RefusalError where nobody answers."""
        return await self._wait_for(self.mailbox.read(function, long=long))

    async def ask(self, change: Change) -> Reply:
        """Done, and durable, or refused. Raises RefusalError where nobody answers."""
        return await self._wait_for(self.mailbox.ask(change))

    async def fetch(self, function: Callable[[], T]) -> T:
        """Runs the function, which may have to ask a machine far away. It waits in threads
        of its own: bodies are to be read meanwhile."""
        if not self.settings.threads:
            return function()
        loop = asyncio.get_running_loop()
        return await self._wait_for(loop.run_in_executor(self._fetching, function))

    async def aside(self, function: Callable[..., T], *args: object) -> T:
        """Runs the function, which computes an answer of what was read: in a thread, and before
        long work."""
        if not self.settings.threads:
            return function(*args)
        with self.precedence.answers.going():
            return await asyncio.to_thread(function, *args)

    async def _wait_for(self, answer: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self.settings.answer_seconds):
                return await answer
        except TimeoutError as error:
            raise RefusalError(
                ErrorKind.UNAVAILABLE,
                "the service does not answer in time; what was asked may still be done",
                "ask again later, a submission with the same Idempotency-Key",
                retry=10,
            ) from error
        except JournalError as error:  # what is asked about is read from it, and it is away
            raise RefusalError(
                ErrorKind.UNAVAILABLE, str(error), "ask again later", retry=10
            ) from error
        except MailboxClosedError as error:
            raise RefusalError(ErrorKind.UNAVAILABLE, str(error), retry=10) from error


@dataclass
class RequestContext:
    """A request that may be answered: its sender is known and may use the route."""

    api: Api
    request: Request
    route: Route
    caller: Caller
    address: str
    holder: Holder | None = None
    done: bool = False  # something was changed
    began_current: bool = False  # an answer that goes on, of a service that knew all of the journal

    @property
    def who(self) -> str:
        """By whom things are counted: the tenant, whatever tokens it has; else the token; and the
        address where there is none."""
        return who_of(self.caller, self.address)

    async def ask(self, change: Change) -> Done:
        """Done, and durable; of one sender one large change at a time, so that others' wait for no
        more than that one. Raises RefusalError."""
        size = weight(change)
        if size < MANY and not isinstance(change, CancelJobs):
            return await self._ask(change, size)
        async with self.api.changing_places.place(self.who):
            return await self._ask(change, size)

    async def _ask(self, change: Change, size: int) -> Done:
        await self._slow_down_changing()
        api = self.api
        about = CHANGING * size  # what else is asked meanwhile is not to wait for the answer
        api.changing.spend(self.who, api.clock(), about)
        reply = await api.ask(change)
        if isinstance(reply, Done) and isinstance(reply.value, CancelledJobs):
            size = max(size, len(reply.value.ids))  # all of a tenant's, perhaps
        cost = max(CHANGING * size, reply.seconds if api.settings.threads else 0.0)
        api.changing.spend(self.who, api.clock(), cost - about)
        if isinstance(reply, Refused):
            raise of_reply(reply)
        self.done = True
        return reply

    async def _slow_down_changing(self) -> None:
        """Raises RefusalError where this sender's changes took too much time, and others ask too:
        before any more of what he sends is looked at."""
        await self._slow_down_reading()
        if self.api.turns.has_rivals(self.who):  # who is alone takes time from nobody
            await slow_down(self.api, self.api.changing.debt(self.who, self.api.clock()), BUSY)

    async def compute(self, size: int, function: Callable[[Callable[[], None]], T]) -> T:
        """Runs the function, which looks at what is to be changed; in a thread if it has much to
        do, of one sender one at a time, and the time counts as his changes' does. It is given what
        to call between its parts, so that others' answers go before it."""
        api = self.api
        if size <= LARGE or not api.settings.threads:
            return function(lambda: None)

        def timed() -> tuple[T, float]:
            began = own_time()
            return function(api.precedence.long_work().pause), own_time() - began

        async with api.changing_places.place(self.who):
            await self._slow_down_changing()
            found, seconds = await asyncio.to_thread(timed)
            api.changing.spend(self.who, api.clock(), seconds)
        return found

    async def read(self, function: Callable[[ServiceView], T], *, long: bool = False) -> T:
        """Runs the function on the service; `long`: it takes more than a moment. Raises
        RefusalError, also where this sender took too much of the loop's time; not once something
        was done."""
        if not self.done:
            await self._slow_down_reading()
        return await self._read(function, long=long)

    async def read_on(self, function: Callable[[ServiceView], T]) -> T | None:
        """The same for an answer that goes on: it waits rather than refuse. None: there is no
        answer any more, because the service stops or what was asked about is gone."""
        while (wait := self.api.reading.debt(self.who, self.api.clock())) > 0:
            await asyncio.sleep(wait)
        try:
            return await self._read(function, long=True)
        except RefusalError:
            return None

    def until_looked_up(self, seconds: float) -> float:
        """After how many of these seconds an answer that goes on has to see whether it still may:
        a token that is revoked wakes it, the end of a sign-in does not."""
        return min(seconds, self.api.keys.seconds_left(self.holder))

    async def may_go_on(self) -> bool:
        """Whether an answer that goes on still may: the service does not stop, the token is good,
        and no other service leads meanwhile, as far as this one can know."""
        if self.api.stopping or (self.began_current and self.api.stale() > OVERTAKEN):
            return False
        try:
            return self.holder is None or await self.api.keys.is_good(self.holder)
        except RefusalError:
            return False

    async def _read(self, function: Callable[[ServiceView], T], *, long: bool) -> T:
        api, spent = self.api, 0.0

        def timed(view: ServiceView) -> T:
            nonlocal spent
            began = api.stopwatch()
            try:
                return function(view)
            finally:
                spent = api.stopwatch() - began

        try:
            async with api.reading_places.place(self.who):
                return await api.read(timed, long=long)
        finally:
            api.reading.spend(self.who, api.clock(), spent)

    async def _slow_down_reading(self) -> None:
        wait = self.api.reading.debt(self.who, self.api.clock())
        await slow_down(self.api, wait, BUSY)

    async def slow_down_heavy(self) -> None:
        """Raises RefusalError where too much that is heavy was asked."""
        wait = self.api.heavy.take(self.who, self.api.clock())
        await slow_down(self.api, wait, "of this kind are sent: each computes for long")

    async def body(self) -> bytes:
        """The body, no longer and no slower than is allowed: of who showed no token, no longer
        than a head. Raises RefusalError."""
        api, settings = self.api, self.api.settings
        known = self.holder is not None or api.no_auth
        most = settings.body_bytes if known else settings.head_bytes
        return await receive(self.request, api, self.who, most)

    async def read_body(self, model: type[A]) -> A:
        """The body, a JSON object, as a model. Raises RefusalError with every mistake."""
        if media_of(self.request.headers.get("content-type", "")) is not Media.JSON:
            raise RefusalError(ErrorKind.WRONG_TYPE, "only JSON is read here", "send JSON")
        body = await self.body()
        return await self.compute(len(body), lambda _: model_of(body, model))

    def answer(self, response: ResponseBody, headers: Mapping[str, str] | None = None) -> Response:
        """The answer in JSON, or that it is what the client has already."""
        return self.answer_text(response.model_dump_json().encode(), headers)

    def answer_text(self, body: bytes, headers: Mapping[str, str] | None = None) -> Response:
        """The same of an answer that is written already."""
        more = dict(headers or {})
        if self.api.following() is not None or self.api.stale():
            # How old it is would be kept with it, and outlive that by its tag.
            more |= {"Cache-Control": "no-store"}
        elif self.request.method in ("GET", "HEAD"):
            tag = f'"{blake2b(body, digest_size=16).hexdigest()}"'
            more |= {"ETag": tag, "Cache-Control": "private, no-cache"}
            if matches(self.request.headers.get("if-none-match", ""), tag):
                return Response(None, 304, more)
        return Response(body, self.route.status, more, "application/json")

    def ongoing(self, parts: AsyncIterator[bytes], headers: Mapping[str, str]) -> Response:
        """An answer that goes on. Raises RefusalError where too many do."""
        streams, settings = self.api.streams, self.api.settings
        most = {
            "all": settings.streams,
            self.who: settings.tenant_streams,
            f"token {self.caller.token or self.address}": settings.token_streams,
        }
        if any(streams[name] >= limit for name, limit in most.items()):
            raise RefusalError(
                ErrorKind.TOO_MANY, "too many streams are open", "close one of them", retry=10
            )
        counted = Counter(list(most))
        streams.update(counted)
        self.began_current = self.api.stale() <= OVERTAKEN

        def end() -> None:
            streams.subtract(counted)
            for name in counted:
                if not streams[name]:
                    del streams[name]

        return _Ongoing(self, parts, headers, end)


class _Ongoing(StreamingResponse):
    """Says when it has ended, however it ended."""

    def __init__(
        self,
        context: RequestContext,
        parts: AsyncIterator[bytes],
        headers: Mapping[str, str],
        ended: Callable[[], None],
    ) -> None:
        media = context.route.media
        super().__init__(parts, 200, {**headers, "Cache-Control": "no-store"}, media)
        self._context, self._ended = context, ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended()

    async def stream_response(self, send: Send) -> None:
        """Sends the parts: in a task beside the request's, so in turns of its own."""
        who = self._context.who
        await self._context.api.turns.by_turns(super().stream_response(send), lambda: who)


async def slow_down(api: Api, wait: float, whose: str) -> None:
    """Raises RefusalError where one has to wait; not at once, so that who asks again at once does
    no more than who waits."""
    if wait > 0:
        if api.settings.threads:
            await asyncio.sleep(min(wait, api.settings.refusal_seconds))
        raise RefusalError(ErrorKind.TOO_MANY, f"too many requests {whose}", retry=wait)
