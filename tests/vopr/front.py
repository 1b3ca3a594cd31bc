"""The real API over one life of the service: its application, its door, and the token that the
first start makes."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from functools import cache
from typing import TypeVar

from fastapi import FastAPI

from fairlead.service.api.app import application
from fairlead.service.api.middleware import Middleware
from fairlead.service.api.request_context import Api
from fairlead.service.api.service_view import ServiceView
from fairlead.service.api.settings import ApiSettings
from fairlead.service.loop.loop import Service
from fairlead.service.mailbox import Mailbox, answer
from fairlead.service.process.first_token import make_first
from fairlead.service.process.runner import Driven
from fairlead.service.requests import Reply, Request
from tests.vopr.eventloop import SimLoop
from tests.vopr.faults import BrokenPromiseError, Chance, Trace

T = TypeVar("T")

TURNS = 200
"""So often in a row handlers may read at one moment."""


class _Entrance:
    """The door, with a count of those who wait to read."""

    def __init__(self, door: Mailbox[Driven]) -> None:
        self.door = door
        self.reads = 0

    async def ask(self, request: Request) -> Reply:
        """Entrance.ask."""
        return await self.door.ask(request)

    def read(self, function: Callable[[ServiceView], T], *, long: bool = False) -> Awaitable[T]:
        """Entrance.read."""
        self.reads += 1
        return self.door.read(function, long=long)


class Nobody:
    """Behind no door."""

    async def ask(self, request: Request) -> Reply:
        """Entrance.ask."""
        raise NotImplementedError

    def read(self, function: Callable[[ServiceView], T], *, long: bool = False) -> Awaitable[T]:
        """Entrance.read."""
        raise NotImplementedError


@cache
def _routes() -> FastAPI:
    """The application with all routes. It is the same for all lives but for `state.api`."""
    app = application(Nobody(), ApiSettings(threads=False)).app
    assert isinstance(app, FastAPI)
    return app


class TokenFile:
    """The file with an admin's token, on the simulated disk: whole, or not there."""

    def __init__(self) -> None:
        self.text: str | None = None

    def exists(self) -> bool:
        """Whether it is there."""
        return self.text is not None

    def write(self, text: str) -> None:
        """In place of what was there."""
        self.text = text


class Front:
    """One life of the API. The simulation calls `turn` where the thread of the loop would go round,
    and `go_on` where the event loop would."""

    def __init__(
        self,
        service: Service,
        settings: ApiSettings,
        file: TokenFile,
        chance: Chance,
        trace: Trace,
    ) -> None:
        self.service = service
        self.loop = SimLoop(trace)  # type: ignore[abstract]  # what waits for files is not there
        self.door: Mailbox[Driven] = Mailbox()
        self.crashed = False
        self._broke: BrokenPromiseError | None = None
        self._entrance = _Entrance(self.door)
        draws = chance.stream("secrets")
        app = _routes()
        api = Api(
            self._entrance,
            settings,
            self.loop.time,
            draw=draws.randbytes,
            wall=lambda: trace.now,
            stopwatch=lambda: 0.0,
        )
        app.state.api = api
        self.gate = Middleware(app, api, no_auth=False, behind_proxy=False)
        self._file = file

    def begin(self) -> None:
        """As the server does it before it listens, once the first step was made."""
        self.loop.create_task(self._begin(self.gate.api))
        self.go_on()

    async def _begin(self, api: Api) -> None:
        await api.begin()
        await make_first(self._entrance, api, self._file)

    def crash(self) -> None:
        """It is killed here: nothing more happens."""
        self.crashed = True

    def broke(self, error: BrokenPromiseError) -> None:
        """What it said broke a promise."""
        self.crashed = True
        self._broke = self._broke or error

    def kill(self) -> None:
        """The process is gone."""
        self.crashed = True
        self.loop.kill()

    def go_on(self) -> None:
        """Handlers run until all of them wait; those who wait to read are let in."""
        for _ in range(TURNS):
            self.loop.go_on(lambda: self.crashed)
            if self._broke is not None:
                raise self._broke
            if self.loop.errors:
                error = self.loop.errors[0].get("exception")
                what = "".join(traceback.format_exception(error)) if error else "no exception"
                raise BrokenPromiseError("handlers do not fail", what)
            if self.crashed or not self._entrance.reads:
                return
            self._entrance.reads = 0
            self.door.serve_reads(self.service)
        raise BrokenPromiseError("handlers come to rest", "they read again and again")

    def turn(self, now: int) -> None:
        """One step of the service with what was asked; whoever asked is answered."""
        taken = self.door.take(self.service.settings.requests_per_step)
        replies = self.service.step(now, [request for request, _ in taken])
        if len(replies) != len(taken):
            raise BrokenPromiseError("every request has its reply", f"{taken}: {replies}")
        for (_, future), reply in zip(taken, replies, strict=True):
            answer(future, reply)
        self._entrance.reads += 1  # so that those who wait are let in
        self.go_on()
