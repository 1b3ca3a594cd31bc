"""The mailbox between the loop's thread and all others: requests go in, replies come out."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Generic, TypeVar, cast

from fairlead.service.precedence import Precedence
from fairlead.service.requests import (
    CancelJobs,
    ForgetJobs,
    Refused,
    Reply,
    Request,
    SubmitJobs,
    Wrong,
)

S = TypeVar("S")
T = TypeVar("T")

MOST = 10_000
"""Requests that wait in the mailbox; more are turned away."""

CLOSED = Refused(Wrong.UNAVAILABLE, "the service is stopping; ask again when it is back")
CROWDED = Refused(Wrong.UNAVAILABLE, "too many requests wait already; ask again later")


class MailboxClosedError(Exception):
    """The loop stopped before it could answer."""


class UnsettledError(Exception):
    """The records that a function reads are in the midst of a change: it is to be run again."""


class Mailbox(Generic[S]):
    """Bounded, and safe to use from any thread. S is the service that the loop's thread owns.

    `ask` and `read` are for the others; the rest is for the loop. `precedence`: what goes
    before long work, on both sides."""

    def __init__(self, most: int = MOST) -> None:
        self.precedence = Precedence()
        self._most = most
        self._wake = threading.Condition()
        self._requests: deque[tuple[Request, Future[Reply]]] = deque()
        self._reads: deque[Callable[[S | None], bool]] = deque()
        self._lent: S | None = None  # what others may read by themselves
        self._idle = False  # the loop waits
        self._closed = False
        self._woken = False

    # For everybody

    async def ask(self, request: Request) -> Reply:
        """The reply, once what was done is durable."""
        return await asyncio.wrap_future(self._put(request))

    async def read(self, function: Callable[[S], T], *, long: bool = False) -> T:
        """Runs the function on the service, between two steps. It changes nothing and returns
        nothing that the loop will change. Raises what it raises, and MailboxClosedError.

        Where the loop waits the function runs here and now: nobody has to be woken, and no step
        is made for it; and so it does in the midst of a step, where it reads what stands still
        meanwhile. `long`: it takes long where the loop waits, so in the loop's thread; in the midst
        of a step what it would copy is a copy already."""
        with self._wake, suppress(UnsettledError):
            if self._lent is not None and not self._closed and not (long and self._idle):
                return function(self._lent)
        return await asyncio.wrap_future(self._ask_to_read(function))

    def waiting(self) -> int:
        return len(self._requests)

    def close(self) -> None:
        """Nothing more comes in; the loop ends after what is there."""
        with self._wake:
            self._closed = True
            self._wake.notify_all()

    @property
    def closed(self) -> bool:
        return self._closed

    def wake(self) -> None:
        """Has the loop look at everything now."""
        with self._wake:
            self._woken = True
            self._wake.notify_all()

    # For the loop

    def wait(self, seconds: float, service: S | None = None) -> None:
        """Returns when there is something to do, at the latest after so many seconds. Meanwhile
        others read of this service by themselves, one after the other."""
        with self._wake:
            if not (self._requests or self._reads or self._closed or self._woken) and seconds > 0:
                self._lent, self._idle = service, True
                try:
                    self._wake.wait(seconds)
                finally:
                    self._lent, self._idle = None, False
            self._woken = False

    @contextmanager
    def lent(self, service: S) -> Iterator[None]:
        """Meanwhile others read of it by themselves, those who wait first, while the loop goes on:
        it changes nothing of what these functions find, and raises UnsettledError for all else."""
        with self._wake:
            self.serve_reads(service)
            self._lent = service
        try:
            yield
        finally:
            with self._wake:
                self._lent = None

    def take(self, most: int) -> list[tuple[Request, Future[Reply]]]:
        """Requests, oldest first, each with where its reply goes: as long as they are not more
        than so many, each job that a request names counted; at least one, if there is any."""
        taken: list[tuple[Request, Future[Reply]]] = []
        with self._wake:
            while self._requests and (not taken or most >= weight(self._requests[0][0])):
                taken.append(self._requests.popleft())
                most -= weight(taken[-1][0])
        return taken

    def serve_reads(self, service: S) -> None:
        """Runs the functions that wait to read. Those that find it unsettled go on waiting."""
        waiting = [self._reads.popleft() for _ in range(len(self._reads))]
        if waiting:
            with self.precedence.answers.going():
                self._reads.extendleft(reversed([read for read in waiting if not read(service)]))

    def turn_away(self) -> None:
        """Answers all that still waits when the loop has ended."""
        with self._wake:
            self._closed = True
            requests, reads = list(self._requests), list(self._reads)
            self._requests.clear()
            self._reads.clear()
        for _, future in requests:
            answer(future, CLOSED)
        for read in reads:
            read(None)

    def _put(self, request: Request) -> Future[Reply]:
        future: Future[Reply] = Future()
        with self._wake:
            if self._closed or len(self._requests) >= self._most:
                future.set_result(CLOSED if self._closed else CROWDED)
                return future
            self._requests.append((request, future))
            self._wake.notify_all()
        return future

    def _ask_to_read(self, function: Callable[[S], T]) -> Future[T]:
        future: Future[T] = Future()

        def run(service: S | None) -> bool:
            if future.cancelled():
                return True
            result: T | None = None
            failure: Exception | None = None
            try:
                if service is None:
                    raise MailboxClosedError("the service has stopped")
                result = function(service)
            except UnsettledError:
                return False
            except Exception as error:  # noqa: BLE001 - whoever asked to read gets it
                failure = error
            if not future.set_running_or_notify_cancel():
                return True
            if failure is None:
                future.set_result(cast("T", result))
            else:
                future.set_exception(failure)
            return True

        with self._wake:
            if self._closed:
                future.set_exception(MailboxClosedError("the service has stopped"))
                return future
            self._reads.append(run)
            self._wake.notify_all()
        return future


def weight(request: Request) -> int:
    """How many jobs a request names; of others, one."""
    if isinstance(request, SubmitJobs | CancelJobs | ForgetJobs):
        return max(1, len(request.jobs))
    return 1


def answer(future: Future[Reply], reply: Reply) -> None:
    """Gives a reply to whoever still waits for it."""
    if future.set_running_or_notify_cancel():
        future.set_result(reply)
