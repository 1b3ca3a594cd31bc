"""Whoever reads in the midst of a step, between any two of its entries: he is told what the journal
says up to an entry, or that he has to wait until the step is over.

What he asks changes nothing, so that a seed means the same world with him and without."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeVar, cast

from fastapi import FastAPI

from fairlead.scheduling.core import Core
from fairlead.scheduling.reading.core_copy import FrozenCore
from fairlead.service.api.app import application
from fairlead.service.api.middleware import Middleware
from fairlead.service.api.request_context import Api
from fairlead.service.api.service_view import ServiceView
from fairlead.service.api.settings import ApiSettings
from fairlead.service.journal.entry import Entry
from fairlead.service.loop.midway import Midway
from fairlead.service.mailbox import MailboxClosedError, UnsettledError
from fairlead.service.requests import Caller, Reply, Request
from tests.service.api.stage import call
from tests.vopr.agreement import core_agrees
from tests.vopr.faults import BrokenPromiseError, Chance, Trace
from tests.vopr.front import Nobody
from tests.vopr.ledger import Ledger
from tests.vopr.looks import What
from tests.vopr.network import Answer
from tests.vopr.readers import Readers

T = TypeVar("T")

OFTEN = 0.018
"""The chance of a look where one may be: some twenty in a life. A look is a request to the real
API, and more than twice as many were a third of what a life costs."""

MIDWAY = (What.JOBS, What.JOB, What.TASKS, What.TENANTS, What.TOKENS)
"""What is read of the records alone, so that it is told."""

COPIED = (What.SHARES, What.WHY)
"""What is read of the core too: of a copy, until the step is folded, where there is one."""

LATER = (What.MACHINES, *COPIED)
"""What is read of what is changing. Where the records know no machine, a list of them asks nothing
of it."""


@cache
def routes() -> FastAPI:
    """The application with all routes, beside that of the simulated service."""
    app = application(Nobody(), ApiSettings(threads=False)).app
    assert isinstance(app, FastAPI)
    return app


def _copy_of(service: Midway) -> Core | None:
    """The copy of the core, if there is one."""
    try:
        frozen = cast("Callable[[], FrozenCore]", service.frozen)
    except UnsettledError:
        return None
    return frozen().core


class Onlooker:
    """One for all lives: a `loop.midway.Readers`. `readers` knows what is right to be told where
    `ledger` stands, which follows the records and is none of the simulation's."""

    def __init__(self, readers: Readers, ledger: Ledger, chance: Chance, trace: Trace) -> None:
        self.seen: Counter[tuple[str, str]] = Counter()
        self._readers, self._ledger, self._trace = readers, ledger, trace
        self._draws = chance.stream("midway")
        self._durable: deque[tuple[int, Entry]] = deque()
        self._view: Midway | None = None
        self._lent: Midway
        self._unsettled = False
        self._asked = 0.0
        app = routes()
        app.state.api = api = Api(
            self,
            ApiSettings(threads=False),
            self._later,
            no_auth=True,
            wall=lambda: trace.now,
            stopwatch=lambda: 0.0,
        )
        self._gate = Middleware(app, api, no_auth=True, behind_proxy=False)
        self._loop = asyncio.new_event_loop()

    def durable(self, entry: Entry) -> None:
        """An entry is durable; the records may not know it yet."""
        self._durable.append((self._trace.now, entry))

    def close(self) -> None:
        """Nobody looks any more."""
        self._loop.close()

    # As the loop has it

    @contextmanager
    def lent(self, service: Midway) -> Iterator[None]:
        """Before what is done meanwhile, in between, and after it."""
        self.serve(service)
        self._lent = service
        yield
        self.serve(service)

    def pause(self) -> None:
        """In the midst of what is done."""
        self.serve(self._lent)

    def serve(self, service: Midway) -> None:
        """Looks, now and then."""
        if self._draws.random() >= OFTEN:
            return
        while self._ledger.seq < service.records.seq:
            self._ledger.now, entry = self._durable.popleft()
            self._ledger.apply(entry)
        what = self._draws.choice((*MIDWAY, *LATER))
        path, query, check = self._readers.question(Caller(), what, self._draws)
        self._view, self._unsettled = service, False
        target = f"{path}?{query}" if query else path
        got = self._loop.run_until_complete(call(self._gate, "GET", target, {}, []))
        core = _copy_of(service)
        later = what in LATER and (what not in COPIED or core is None)
        if self._unsettled != later and what is not What.MACHINES:
            raise BrokenPromiseError("what is changing is read later", f"{what} got {got}")
        self.seen[what.name, "later" if self._unsettled else str(got.status)] += 1
        if not self._unsettled:
            check(Answer(got.status, dict(got.headers), got.body))
        if core is not None:
            core_agrees(core, self._ledger)  # the copy and the records are of one moment

    # The door of the API

    async def ask(self, request: Request) -> Reply:
        """Nothing is asked for but reads."""
        raise NotImplementedError

    def read(self, function: Callable[[ServiceView], T], *, long: bool = False) -> Awaitable[T]:
        """As the mailbox has it while the service is lent, but for those who have to wait."""
        del long  # it is asked where it would be let in

        async def told() -> T:
            try:
                return function(self._view)  # type: ignore[arg-type]  # of it what stands still
            except UnsettledError as error:
                self._unsettled = True
                raise MailboxClosedError(str(error)) from error

        return told()

    def _later(self) -> float:
        """Nobody is slowed down."""
        self._asked += 1000.0
        return self._asked
