"""The loop: what came in becomes events, the core decides, the journal keeps it, and only then is
anything done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from time import thread_time

from fairlead.engines.interface import Engine, Node
from fairlead.engines.observing import Adopts, Apart, Observes
from fairlead.scheduling.core import Core
from fairlead.scheduling.reading.core_copy import FrozenCore, freeze
from fairlead.scheduling.reading.line import line_of
from fairlead.service.fairness.history import History
from fairlead.service.fairness.interface import Adviser
from fairlead.service.fairness.monitor import FairnessMonitor
from fairlead.service.fairness.observer import Counted, Observer, Timed, Unobserved
from fairlead.service.journal.entry import (
    CorruptJournalError,
    JournalError,
    Listener,
    Store,
    TakenJournalError,
    VersionJournalError,
)
from fairlead.service.journal.leases import Lease, steady_clock
from fairlead.service.loop.adopting import Adoption
from fairlead.service.loop.bootstrap import begin, check_engine, take_over
from fairlead.service.loop.commit import SLICE, Committer, PendingStep
from fairlead.service.loop.engine_link import EngineLink, EngineNews
from fairlead.service.loop.intake import collect_inputs, next_time
from fairlead.service.loop.machines import Machines
from fairlead.service.loop.midway import Before, Midway, NoReaders, Readers
from fairlead.service.loop.operations import Value, take_request
from fairlead.service.loop.step import Step
from fairlead.service.loop.suspects import Suspects
from fairlead.service.mailbox import weight
from fairlead.service.records.lookup import owner_of
from fairlead.service.recovery.configuration import check_settings, fair_settings, first_core
from fairlead.service.recovery.recover import Recovered, follow, recover
from fairlead.service.recovery.shortening import Shortening
from fairlead.service.recovery.snapshots import Snapshots
from fairlead.service.requests import Done, Refused, Reply, Request, Wrong
from fairlead.service.settings import Settings

LARGE = 100
"""Jobs that are asked about in a step of which others need not await the end: it takes some tens of
milliseconds. It is long work, and a copy of the core is made for them."""

SPARED = 10
"""So many jobs are copied for each that is asked about, at most: a twentieth of what the step
takes."""

RETRY = 1_000_000
"""Microseconds until an append that failed is made again, unless somebody asks sooner."""


class Service:
    """The service, without clock, threads and sockets: whoever drives it calls `step`.

    The constructor recovers what the journal holds, and asks nothing of the engine. It raises
    JournalError, DisagreementError and InputError; nothing has changed then. `core` is None until
    the engine could be asked for its machines for the first time. `history`: where shares over
    time are kept; in memory if nothing is said. `recovered`: what it knows already, because it
    followed the journal. `lease`: where others wait to take over."""

    following = None
    """It leads."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        settings: Settings | None = None,
        adviser: Adviser | None = None,
        observer: Observer | None = None,
        history: History | None = None,
        recovered: Recovered | None = None,
        lease: Lease | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.store, self.engine = store, engine
        self.lease = lease or Lease(store, beating=False, since=steady_clock())
        self.observer: Observer = observer or Unobserved()
        self.core: Core | None
        if recovered is None:
            recovered = recover(store)
        self.records = recovered.records
        self.core = follow(store, recovered.core, self.records)  # what came meanwhile
        check_engine(self.records, engine)
        if self.core is not None:
            check_settings(self.core, self.records, self.settings)  # refused here or never
        self.machines = Machines(self.settings)
        self.adoption = self._new_adoption()
        self.watch = recovered.watch
        if adviser is not None and self.watch is None:
            self.watch = FairnessMonitor(adviser, fair_settings(self.settings), history)
        self.suspects = Suspects(lambda job: owner_of(self.records, job))
        self._link = EngineLink(
            *(engine, self.records, self.observer, self.settings, store.restored),
            self.suspects.faults.append,
        )
        self._committer = Committer(store, self.records, self.observer)
        self._committer.listeners = recovered.listeners
        every = self.settings.snapshot_every
        self.snapshots = Snapshots(store, every, recovered.snapshot, self.observer)
        keep = self.settings.journal_keep
        self.shortening = None if keep is None else Shortening(store, keep, self.observer)
        if self.shortening is not None:
            self.snapshots.on_keep = self.shortening
        self._readers: Readers = NoReaders()
        self._large = LARGE
        self._owns = self._begun = self._first = False
        self._within = False  # a step, or it failed there
        self._doubt = ""  # why it cannot be known that this leads
        self._tried: Step | None = None  # what `begin` does, done on a copy
        self._made_of: EngineNews | None = None  # what a step is made of, or failed while it was
        self._left: EngineNews | None = None  # of a step that failed, for the next one
        self._unmade: bool | None = None  # the core was given up; whether it checked itself
        self._time = 0
        self._told = 0  # what `step` was told last
        self._ahead = 0  # of that clock

    @property
    def trouble(self) -> str:
        """Why the journal or the engine cannot be reached; empty if both can."""
        return self.journal_trouble or self.engine_trouble

    @property
    def journal_trouble(self) -> str:
        """Why the journal cannot be written; empty if it can."""
        return self._committer.trouble or self._doubt

    @property
    def engine_trouble(self) -> str:
        """Why the engine cannot be reached, as far as it is asked; empty if it can."""
        return self._link.trouble

    def doubt(self) -> str:
        """Why nothing can be made durable now, by what was tried last; empty if it can."""
        return self._committer.trouble or self.lease.doubt()

    def stale(self) -> float:
        """How old what was just read may be, in seconds; 0 while this certainly leads. From any
        thread."""
        return self.lease.stale()

    @property
    def ready(self) -> bool:
        """Whether it takes requests, and the engine can be reached."""
        return self._begun and not self.trouble

    @property
    def nodes(self) -> dict[str, Node]:
        """The engine's machines, as they were when it was last asked."""
        return self.machines.nodes

    @property
    def apart(self) -> Mapping[str, Apart]:
        """Jobs of a cluster that another scheduler runs which claim nothing now, and why."""
        return self.adoption.apart

    def scheduler_reason(self, job: str) -> str:
        """That scheduler's own reason why a job waits, by its unique name; or what was left out."""
        known = self.records.names.get(job)
        left = "" if known is None else self.suspects.sentence(known.id)
        return self.adoption.scheduler_reason(job) or left

    @property
    def untaken(self) -> tuple[int, int]:
        """Attempts of which nothing is taken in: as it failed of that; as it is not believed."""
        return len(self.suspects.left_out), self.suspects.disbelieved

    @property
    def listeners(self) -> list[Listener]:
        """Called with entries that are durable and folded, in the loop's thread."""
        return self._committer.listeners

    def step(self, now: int, requests: Sequence[Request] = ()) -> list[Reply]:
        """Does all there is to do, and answers the requests. `now`: microseconds since 1970.

        Raises TakenJournalError and CorruptJournalError: the service is over then, and InputError
        where the first step finds settings that cannot be. After any other error it is over as
        well, unless `begin_again` finds that it is not."""
        time = self._time = self._clock(now)
        self._doubt = self.lease.check() or self._make_again()
        if self._doubt:
            return [self._unavailable() for _ in requests]
        if self._committer.stuck is not None and not self._finish(self._committer.stuck):
            return [self._unavailable() for _ in requests]
        if not self._owns and not self._take_over(time):
            return [self._unavailable() for _ in requests]
        if self.journal_trouble:  # it was frozen while that was written
            return [self._unavailable() for _ in requests]
        assert self.core is not None
        self._within = True
        with self._lent():
            news = self._left or self._link.poll(time, self.machines.due(time))
        if self._left is None:
            news = replace(news, reports=self.suspects.admit(news.reports, time))
        self._left = None
        step, self._tried = self._tried, None
        if step is not None and step.time == time:
            step.ahead = 0
        else:
            step = Step(self.core, self.records, time)
            if not self._begun:
                begin(step, self.settings, self.engine, self.store.restored)
        core = self.core = step.core
        self._made_of, self._first, self._begun = news, not self._begun, True
        before, size = None, sum(map(weight, requests))
        if size >= self._large:
            step.pause = self._readers.pause
            with self._lent():
                step.pause()
                before = self._before(size)
        with self._lent(before):
            values = self._make(step, news, requests)
        self._made_of = None
        self.suspects.clear(news.reports)
        durable = self._finish(PendingStep(step, news.reports, before))
        self._within = False
        with self._lent():
            if durable:
                self.snapshots.look(core, self.records)
                if news.view is not None:
                    self._link.order(time, lambda: line_of(core))
            if self.watch is not None:
                self.watch.after(time, core, changed=bool(step.entries))
        return [self._reply(value, durable, seconds) for value, seconds in values]

    def begin_again(self, error: Exception | None = None) -> bool:
        """After a step that raised what nobody foresaw: gives the core up, so that the next step
        makes it again of the journal and begins where that one did, with the same news of the
        engine. Whether that is possible: it is where the step failed before the journal was to
        hold any of it, so that no record has changed and nothing was accepted. `error`: of a step
        without requests; it is possible where one of the engine's reports may be left out then."""
        news, core = self._made_of, self.core
        if news is None or core is None:
            return False
        if error is not None:
            reports = self.suspects.accuse(news.reports, self._time, error)
            if reports is None:
                return False
            news = replace(news, reports=reports)
        self._unmade, self.core = core.checked, None
        if news.nodes is not None:  # they are looked at as if for the first time
            self.machines = Machines(self.settings, troubled=self.machines.troubled)
        if news.view is not None:
            self.adoption = self._new_adoption()
        if self.watch is not None:
            self.watch.tell_again()
        self._made_of, self._left, self._begun = None, news, not self._first
        return True

    def _make_again(self) -> str:
        """Makes the core again where it was given up; why that cannot be now, if so. Raises what
        `recover` raises where it never can."""
        if self._unmade is None:
            return ""
        try:
            with self._lent():
                again = recover(self.store)
        except (TakenJournalError, CorruptJournalError, VersionJournalError):
            raise
        except JournalError as error:
            self.observer.count(Counted.JOURNAL_ERRORS)
            return str(error)
        if again.records.seq != self.records.seq:
            raise TakenJournalError(
                f"another service has written {self.store}: this one writes no more"
            )
        assert again.core is not None
        again.core.checked = self._unmade
        self.core, self._unmade, self._within = again.core, None, False
        return ""

    def _new_adoption(self) -> Adoption:
        own = isinstance(self.engine, Observes | Adopts)
        return Adoption(self.engine.name if own else "", alone=isinstance(self.engine, Observes))

    @property
    def places(self) -> bool:
        """Whether it says itself where tasks start; true before the first step."""
        return self.core is None or self.core.placement.places

    def frozen(self, into: FrozenCore | None = None) -> FrozenCore | None:
        """A copy of the core between two steps, for readers: nobody changes it. None before the
        first step. `into`: as `freeze` has it."""
        return None if self.core is None else freeze(self.core, into)

    def serve_meanwhile(self, readers: Readers, every: int = SLICE, large: int = LARGE) -> None:
        """From now on these may read of the records while a step is made, and after each so many
        entries that are folded; of the core too, where a step is asked about so many jobs."""
        self._readers = self._committer.readers = readers
        self._committer.slice, self._large = every, large

    def wake(self) -> int:
        """The time at which `step` is to be called though nothing comes in and no report is
        there, on the caller's clock."""
        if not self._time:
            return 0  # the first step
        if self._committer.stuck is not None or self._doubt or self.core is None:
            return self._time + RETRY - self._ahead
        if self.suspects.hurry:
            return 0
        time = next_time(self.core, self.records, self._link, self.machines, self.watch)
        # While it is ahead, twice as much of that clock passes.
        return time - self._ahead + min(max(0, time - self._time), self._ahead)

    def close(self) -> None:
        """Lets go of everything. Tasks go on running, and nothing is lost. Where a step failed, the
        core may be between two states: nothing of it is kept, and the journal says what was."""
        if self.watch is not None:
            self.watch.close()
        if self.core is not None and self._committer.stuck is None and not self._within:
            self.snapshots.finish(self.core, self.records)
        self._link.close()
        self.store.close()

    def _before(self, size: int) -> Before | None:
        """What is there for those who read while requests about so many jobs are taken in, where
        it is worth while. What another scheduler says of jobs changes with a step, too."""
        if self.core is None or self.adoption.other or len(self.core.ids.jobs) > SPARED * size:
            return None
        copy = freeze(self.core, shared=True)
        _ = copy.core  # made here, so that several may read it at once
        return Before(copy, None if self.watch is None else self.watch.frozen(), self.trouble)

    def _make(
        self, step: Step, news: EngineNews, requests: Sequence[Request]
    ) -> list[tuple[Value | Refused, float]]:
        """Has the step do all there is to do. No record changes. Of each request also how much
        processor time it took."""
        collect_inputs(step, news, self.machines, self.watch, self.observer, self.adoption)
        # Last: the core says what a cancelled job's tasks are to do as things stand then.
        values = [self._take(step, each) for each in requests]
        step.pass_time()
        if step.has_events:
            with self.observer.measure(Timed.DECIDE):
                step.decide(self.adoption.part_of(step))
        return values

    def _take(self, step: Step, request: Request) -> tuple[Value | Refused, float]:
        began = thread_time()
        refused = self.adoption.refusal(step.records, request)
        value = refused or take_request(step, self.settings.limits, request)
        return value, thread_time() - began

    def _clock(self, now: int) -> int:
        """The time of a step. It never goes back: where the clock did, it goes on from there, half
        as fast until the clock is there too, so that one that was wrong once is forgotten."""
        passed, self._told = max(0, now - self._told), now
        ahead = max(0, self._ahead - passed // 2)
        self._ahead = max(ahead, max(self._time, self.records.time) - now)
        return now + self._ahead

    def _take_over(self, time: int) -> bool:
        """Becomes the journal's owner, durably; whether that was possible."""
        if self.core is None:
            nodes = self._link.nodes(time)
            if nodes is None:
                return False
            self.core = first_core(nodes, self.settings)
        step = Step(self.core, self.records, time)
        self._tried = take_over(step, self.settings, self.engine, self.store.restored)
        self._owns = True
        return self._finish(PendingStep(step, ()))

    def _finish(self, pending: PendingStep) -> bool:
        """Makes a step durable and acts on it; whether that was possible. What is durable is not
        acted on where this may have been frozen since, and another one may lead."""
        began = self.lease.clock()
        if not self._committer.commit(pending):
            return False
        if pending.step.entries:
            self.lease.note_append(began)
        self._doubt = self.lease.check()
        with self._lent():
            self._link.send(pending.step, pending.reports, held_back=self._doubt)
            self._committer.spread(pending.step.entries)
        return True

    def _lent(self, before: Before | None = None) -> AbstractContextManager[None]:
        """Meanwhile no record changes: others read of them, and of what there is of `before`."""
        return self._readers.lent(Midway(self.records, before))

    def _reply(self, value: Value | Refused, durable: bool, seconds: float) -> Reply:
        if isinstance(value, Refused):
            self.observer.count(Counted.REFUSALS)
            return replace(value, seconds=seconds)
        if not durable:
            return self._unavailable(unknown=True)
        return Done(value, self.records.seq, seconds)

    def _unavailable(self, unknown: bool = False) -> Refused:
        return Refused(Wrong.UNAVAILABLE, self.trouble or "the service is starting", unknown)
