"""The loop's thread: waits for something to do, has the service do it, hands the replies back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from time import monotonic, thread_time
from typing import cast

from fairlead.engines.interface import FindsFaults, NotifiesNews
from fairlead.model.errors import FairleadError, InternalError
from fairlead.service.failures import origin
from fairlead.service.fairness.observer import Timed
from fairlead.service.journal.entry import Standing
from fairlead.service.journal.leases import Following
from fairlead.service.loop.loop import Service
from fairlead.service.loop.midway import Midway
from fairlead.service.mailbox import Mailbox, answer
from fairlead.service.process.blame import Blame, describe
from fairlead.service.process.clock import wall_clock
from fairlead.service.process.troubles import Change, Troubles
from fairlead.service.recovery.follower import Follower
from fairlead.service.requests import Refused, Reply, Request, Wrong

Driven = Service | Follower
"""The drivers of a loop: one of the two, and then the other."""

MICROSECONDS = 1_000_000

PART = 20
"""Snapshots are written for one part in so many of the time: where thousands of jobs are known one
takes as long as thousands of entries."""

LONGEST = 1.0
"""Seconds that pass at most before the next step, whatever the clock says meanwhile."""

UNTOLD = Refused(
    Wrong.UNAVAILABLE,
    "the service stopped before it could say whether this was done; ask when it is back",
    unknown=True,
)


class Runner:
    """Runs a service in a thread of its own until the mailbox is closed, or until it fails.

    `poll`: so many seconds pass before an engine that does not say when it has news is asked again.
    `lead`: where it begins as a follower, makes the service of it that goes on once nobody leads;
    None: another one was quicker. `address`: where those who follow find this service while it
    leads. `troubles`: is told what cannot be reached, and that it can again. `fault`: hears what
    the engine found that should not be there; `failed`: of which request a step failed, and where.
    `failure`: why it ended by itself."""

    def __init__(
        self,
        service: Driven,
        mailbox: Mailbox[Driven],
        *,
        lead: Callable[[Follower, Standing], Service | None] = lambda _, __: None,
        address: str = "",
        poll: float = 0.02,
        clock: Callable[[], int] = wall_clock,
        ended: Callable[[], None] = lambda: None,
        troubles: Callable[[Change], None] = lambda _: None,
        fault: Callable[[str], object] = lambda _: None,
        failed: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.service, self.mailbox = service, mailbox
        self.failure: BaseException | None = None
        self._lead, self._address = lead, address
        self._poll, self._clock, self._ended = poll, clock, ended
        self._fault, self._failed = fault, failed
        self._unfit: FindsFaults | None = None  # it failed at its findings
        self._blame = Blame()
        self._troubles = Troubles(troubles)
        self._notifies = False
        self._first = threading.Event()
        self._thread = threading.Thread(target=self._run, name="loop", daemon=True)
        self._writer: threading.Thread | None = None
        self._next_snapshot = 0.0

    @property
    def following(self) -> Following | None:
        """The worth of an answer now, where another service leads. From any thread."""
        return self.service.following

    @property
    def stale(self) -> float:
        """How old what was just read may be, in seconds; 0 while this certainly leads. From any
        thread."""
        return self.service.stale()

    def start(self) -> None:
        """Begins. The first step is made by then, and raises here what it raises."""
        self._thread.start()
        self._first.wait()
        if self.failure is not None:
            self._thread.join()
            raise self.failure

    def stop(self, timeout: float | None = None) -> bool:
        """Closes the mailbox and waits until the loop has ended; whether it has. What was accepted
        before is durable by then, and answered."""
        self.mailbox.close()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _write_aside(self, work: Callable[[], None]) -> None:
        """Writes a snapshot while the loop goes on."""

        def timed() -> None:
            began = monotonic()
            work()
            ended = monotonic()
            self._next_snapshot = ended + (PART - 1) * (ended - began)

        self._writer = threading.Thread(target=timed, name="snapshot", daemon=True)
        self._writer.start()

    def _run(self) -> None:
        try:
            if isinstance(self.service, Service):
                self._engage(self.service)
            self._step()
            self._first.set()
            while not (self.mailbox.closed and not self.mailbox.waiting()):
                self.mailbox.wait(self._wait(), self.service)
                self._step()
        except BaseException as error:  # noqa: BLE001 - kept for whoever started the thread
            self.failure = error
        finally:
            self.mailbox.turn_away()
            if self._writer is not None:
                self._writer.join()
            self._first.set()
            self._ended()

    def _step(self) -> None:
        service = self.service
        taken = self.mailbox.take(service.settings.requests_per_step)
        now = self._clock()
        try:
            with service.observer.measure(Timed.STEP):
                replies = self._replies(service, now, [request for request, _ in taken])
        except BaseException:
            for _, future in taken:
                answer(future, UNTOLD)
            raise
        for (_, future), reply in zip(taken, replies, strict=True):
            answer(future, reply)
        self._troubles.look(service, now)
        self._tell_faults()
        self.mailbox.serve_reads(service)
        if isinstance(service, Follower) and service.free is not None:
            self._take_over(service, service.free)

    def _replies(self, service: Driven, now: int, requests: Sequence[Request]) -> Sequence[Reply]:
        """The answers to the requests, of a step that takes in all of them that may be tried."""
        found = [self._blame.refusal(each, now) for each in requests]
        given = [each for each, refused in zip(requests, found, strict=True) if refused is None]
        replies = iter(self._tried(service, now, given))
        return [next(replies) if refused is None else refused for refused in found]

    def _tried(self, service: Driven, now: int, requests: Sequence[Request]) -> Sequence[Reply]:
        """The same. Where a step fails, as nobody foresaw, it begins again without any of the
        requests. If that is well each gets a step of its own, and one that fails there is refused:
        what one sender asks for ends the service for nobody else. If it is not, the engine's
        reports get steps of their own, and one that fails there is left out for a while. Raises
        what is the fault of neither."""
        try:
            return service.step(now, requests)
        except MemoryError:
            raise
        except Exception as error:
            began, used = self._blame.clock(), thread_time()
            if not isinstance(service, Service) or not service.begin_again(
                None if requests else error
            ):
                raise
            accused = service.suspects.accused
            self._tried(service, now, ())
            if len(requests) != 1 or service.suspects.accused > accused:
                return [self._alone(service, now, each) for each in requests]
            self._failed(describe(requests[0], error))
            refused = self._blame.note(requests[0], now, error, began)
            return [replace(refused, seconds=thread_time() - used)]

    def _alone(self, service: Service, now: int, request: Request) -> Reply:
        """The answer to one of several of which a step failed, by a step of its own."""
        refused = self._blame.refusal(request, now)
        if refused is None and service.journal_trouble:  # each would wait for it
            refused = Refused(Wrong.UNAVAILABLE, service.journal_trouble)
        if refused is not None:
            return refused
        service.suspects.held = True  # else both would be suspected once more
        try:
            return self._tried(service, now, [request])[0]
        finally:
            service.suspects.held = False

    def _take_over(self, follower: Follower, gone: Standing) -> None:
        """Goes on as the service that leads, if no other one was quicker."""
        service = self._lead(follower, gone)
        if service is not None:
            self.service = service
            self._engage(service)

    def _engage(self, service: Service) -> None:
        """Has the service's engine wake the loop, and tells followers where this service is."""
        if isinstance(service.engine, NotifiesNews):
            self._notifies = True
            service.engine.listen(self.mailbox.wake)
        service.serve_meanwhile(_Meanwhile(self.mailbox))
        service.snapshots.aside = self._write_aside
        service.snapshots.may_begin = lambda: monotonic() >= self._next_snapshot
        service.store.leader = self._address
        service.lease.ask()

    def _tell_faults(self) -> None:
        engine = self.service.engine
        if isinstance(engine, FindsFaults):
            for fault in self._found(engine):
                self._fault(fault)
        if isinstance(self.service, Service):
            for refused in self.service.machines.take_untold():
                self._fault(refused)
            faults = self.service.suspects.faults
            while faults:
                self._fault(faults.pop(0))

    def _found(self, engine: FindsFaults) -> Sequence[str]:
        """The engine's findings. One that fails at that is told once, and not asked again."""
        if self._unfit is engine:
            return ()
        try:
            return list(engine.take_faults())
        except MemoryError:  # that of the process is no engine's
            raise
        except Exception as error:  # noqa: BLE001  whatever it is, the engine's mistake ends nobody
            self._unfit = engine
            return [f"the engine failed at `take_faults`, as nobody foresaw: {origin(error)}"]

    def _wait(self) -> float:
        """Seconds until there may be something to do."""
        if isinstance(self.service, Follower):
            return self.service.pause()
        wake = self.service.wake()
        # What cannot be reached is not asked again before it is due.
        pause = LONGEST if self.service.trouble or self._notifies else self._poll
        return min(pause, max(0.0, (wake - self._clock()) / MICROSECONDS))


class _Meanwhile:
    """Those who read through the mailbox, while a step is made."""

    def __init__(self, mailbox: Mailbox[Driven]) -> None:
        self._mailbox = cast("Mailbox[Driven | Midway]", mailbox)
        self._work = mailbox.precedence.long_work()

    def lent(self, service: Midway) -> AbstractContextManager[None]:
        """They read by themselves."""
        return self._mailbox.lent(service)

    def pause(self) -> None:
        """Their answers go first."""
        self._work.pause()

    def serve(self, service: Midway) -> None:
        """They read now, and their answers go first; who asks meanwhile reads as well."""
        with self._mailbox.lent(service):
            self._work.pause()


def explain_failure(failure: BaseException) -> FairleadError:
    """Why the loop ended, as an error with a sentence, and with its cause."""
    if isinstance(failure, FairleadError):
        return failure
    error = InternalError(
        "the service's loop failed and stopped, in a step that is no request's fault; what it"
        f" accepted is in the journal: {origin(failure)}"
    )
    error.__cause__ = failure
    return error
