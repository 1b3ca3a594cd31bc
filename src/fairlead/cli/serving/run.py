"""Serves: as the service that leads, or as one that follows until it does."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import complain, say
from fairlead.cli.serving.compiling import compile_first
from fairlead.cli.serving.copies import check_original
from fairlead.cli.serving.maker import ServiceMaker
from fairlead.cli.serving.not_yet import Patience, why_not_yet
from fairlead.cli.serving.plan import Plan
from fairlead.cli.serving.process import (
    PROCESS,
    STANDBY,
    WARNING,
    forget_process,
    forget_unused,
    make_state_folder,
    note_process,
)
from fairlead.cli.serving.telemetry import open_telemetry
from fairlead.cli.serving.values import listening
from fairlead.engines.interface import EngineError
from fairlead.model.errors import InputError, OutputError
from fairlead.model.words import counted
from fairlead.service.journal.entry import (
    CorruptJournalError,
    JournalError,
    TakenJournalError,
    VersionJournalError,
)

if TYPE_CHECKING:
    from fairlead.service.journal.entry import Standing
    from fairlead.service.loop.loop import Service
    from fairlead.service.mailbox import Mailbox
    from fairlead.service.metrics import Metrics
    from fairlead.service.process.troubles import Change
    from fairlead.service.recovery.follower import Follower


RETRY = 1.0
"""Seconds until one that was overtaken tries again to follow."""


def serve_now(plan: Plan, started: Callable[[], None]) -> int:
    """As `_serve_now`; mistakes of the file have their places."""
    with plan.configured.placing():
        return _serve_now(plan, started)


def _serve_now(plan: Plan, started: Callable[[], None]) -> int:
    """Serves until it is told to stop; `started` is called once it listens. Raises InputError where
    it never can begin, BusyError where it cannot for longer than one waits for it, and OutputError
    where it cannot go on: nothing that was accepted is lost then.

    Where another service takes over a journal in a database, this one begins anew and follows it:
    of what it decided last it cannot know how much counts. Where the journal is away by then, it
    says so once and waits for it, for as long as that takes."""
    from fairlead.service.process.listening import UnboundError
    from fairlead.service.process.troubles import Troubles

    voice, overtaken = Voice(plan.log), False
    waiting = Troubles(voice.say_trouble)
    patience = Patience(lambda why: complain(f"{WARNING}{why}"))

    unused = [] if os.path.lexists(plan.state) else [plan.state]

    def listens() -> None:
        unused.clear()
        started()
        waiting.look(Away(), voice.clock())

    with ExitStack() as open_:
        open_.callback(forget_unused, unused, plan.journal)
        open_.callback(forget_process, plan.state, PROCESS, STANDBY)
        while True:
            begun: list[str] = []
            try:
                code = _serve(plan, voice, begun, listens)
            except (JournalError, EngineError, OutputError, OSError, UnboundError) as error:
                ours = isinstance(error, JournalError | EngineError)
                lasting = isinstance(error, CorruptJournalError | VersionJournalError)
                if overtaken and not begun and ours and not lasting:
                    waiting.look(Away.because_of(error), voice.clock())
                    time.sleep(RETRY)
                    continue
                # Asked for once, a new journal is there at the next try.
                why = None if begun or plan.begin_anew else why_not_yet(error, plan.state)
                if why is not None:
                    patience.wait(error, why)
                    continue
                if not ours:
                    raise
                if not begun:
                    raise InputError(str(error)) from error
                if not (isinstance(error, TakenJournalError) and plan.shared):
                    raise OutputError(f"the service stopped: {error}") from error
                complain(f"{error}: it follows that one")
                overtaken = True
                _, port = listening(begun[0].partition("://")[2])
                plan = replace(plan, port=port)  # where clients know it
            else:
                say(["stopped; tasks that run go on, and are found again at the next start"])
                return code


@dataclass(frozen=True)
class Away:
    """The servers that one that was overtaken cannot reach, so that it does not follow yet."""

    journal_trouble: str = ""
    engine_trouble: str = ""

    @classmethod
    def because_of(cls, error: Exception) -> Away:
        """The subject of the error."""
        if isinstance(error, EngineError):
            return cls(engine_trouble=str(error))
        return cls(journal_trouble=str(error))


class Voice:
    """Says on the terminal, or in the log, what whoever runs the service wants to know."""

    def __init__(self, level: str | None) -> None:
        from fairlead.service.process.clock import SteadyClock, wall_clock
        from fairlead.service.process.logs import Level, Logs

        level = level or ("off" if sys.stderr.isatty() else "few")
        self.logs = Logs(sys.stderr, wall_clock, Level(level))
        self.clock = SteadyClock(lambda text: complain(f"{WARNING}{text}"))
        self._aloud = self.logs.level is Level.OFF

    def say_trouble(self, change: Change) -> None:
        """That something cannot be reached, or can again."""
        if self._aloud:
            complain(f"{'' if change.why is None else WARNING}{change.sentence()}")
        self.logs.trouble(change)

    def say_failed(self, what: str) -> None:
        """That a request was refused, as Fairlead failed at it."""
        if self._aloud:
            complain(f"{WARNING}Fairlead failed at a request, and refused it: {what}")
        self.logs.event("request_failed", what=what)


def _serve(plan: Plan, voice: Voice, begun: list[str], listens: Callable[[], None]) -> int:
    """Serves once; when it listens, `begun` gets the address, and `listens` is called."""
    from fairlead.client.places import STANDBY_ADDRESS
    from fairlead.service.metrics import Metrics
    from fairlead.service.process.listening import check_listening
    from fairlead.service.process.private_file import write_private
    from fairlead.service.process.server import ADDRESS, Serving, forget_address, serve
    from fairlead.service.recovery.follower import Follower

    with ExitStack() as open_:
        metrics = Metrics()
        listeners = [metrics.count_entries, voice.logs.write_entries]
        maker = ServiceMaker(plan, metrics, listeners, voice.clock, open_)
        # What the input has wrong is said by now: nobody waits for an address first.
        cert, key = _path(plan.tls_cert), _path(plan.tls_key)
        check_listening(
            *(plan.host, cert, key, plan.port),
            behind_proxy=plan.behind_proxy,
            no_auth=plan.no_auth,
        )
        telemetry = open_telemetry(plan, voice.say_trouble)
        if telemetry is not None:
            open_.callback(telemetry.close)
        make_state_folder(plan.state)
        check_original(plan.state, plan.state_is_moved)
        service = maker.begin(lambda: compile_first(plan.configured.settings.placement))
        waits = isinstance(service, Follower) and not plan.shared  # beside the one that leads
        try:
            note_process(plan.state, STANDBY if waits else PROCESS)
        except BaseException:
            service.close()
            raise

        def lead(follower: Follower, gone: Standing, url: str) -> Service | None:
            def note() -> None:
                note_process(plan.state)
                if waits:
                    write_private(plan.state / ADDRESS, url)

            made = maker.lead(follower, gone, note)
            if made is not None:
                if waits:
                    forget_process(plan.state, STANDBY)  # another one can wait now
                    forget_address(plan.state / STANDBY_ADDRESS, url)
                complain("the service that led is gone: this one leads now")
            return made

        def leaves() -> None:
            if not plan.shared:  # else the folder is its own, and it may go on and follow
                forget_process(plan.state, PROCESS, STANDBY)

        def ready(url: str, token: bool) -> None:
            begun.append(url)
            listens()
            say(greeting(plan, url, service, maker.notes, token))

        serving = Serving(
            service=service,
            state=plan.state,
            host=plan.host,
            port=plan.port,
            tls_cert=cert,
            tls_key=key,
            behind_proxy=plan.behind_proxy,
            no_auth=plan.no_auth,
            api=plan.configured.api,
            metrics=lambda mailbox: render_metrics(metrics, mailbox),
            on_answer=metrics.api,
            waits=complain,
            troubles=voice.say_trouble,
            clock=voice.clock,
            fault=lambda what: voice.logs.event("engine_fault", what=what),
            failed=voice.say_failed,
            lead=lead,
            leaves=leaves,
            advertise=plan.advertise,
            address_file=STANDBY_ADDRESS if waits else ADDRESS,
            sign_in=plan.configured.sign_in,
            telemetry=telemetry,
        )
        return serve(serving, ready)


async def render_metrics(metrics: Metrics, mailbox: Mailbox[Service | Follower]) -> bytes:
    """All metrics as Prometheus reads them."""
    from fairlead.service.process.clock import wall_clock

    await mailbox.read(lambda service: metrics.read(service, wall_clock()), long=True)
    return await asyncio.to_thread(metrics.text)


def greeting(
    plan: Plan, url: str, service: Service | Follower, notes: list[str], token: bool = True
) -> list[str]:
    """Lines on the address, the state folder and the way to stop it."""
    file = f"the token of the administrator {'is' if token else 'will be'} in its file admin-token"
    if plan.no_auth:
        file = "everybody on this machine may do everything, without a token"
    elif service.following is not None:
        file = "tokens are those of the service that leads"
    elif not token:
        file += ", as soon as it can be made"
    what = f"serving {counted(len(service.nodes), 'machine')} ({plan.engine}) on {url}"
    if service.following is not None:
        leader = f" at {service.following.leader}" * bool(service.following.leader)
        what = f"following the service that leads{leader}; reads are answered on {url}"
    return [
        what,
        f"state in {plan.state}; {file}",
        *notes,
        "Ctrl-C, or `fairlead stop`, stops the service; tasks go on running",
    ]


def _path(name: str | None) -> Path | None:
    return None if name is None else Path(name)
