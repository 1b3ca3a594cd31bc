"""A service that follows the journal of the one that leads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from threading import Thread

from fairlead.engines.interface import Attempt, EngineError, Node, Output, Stream
from fairlead.engines.observing import Apart
from fairlead.scheduling.core import Core
from fairlead.scheduling.reading.core_copy import FrozenCore, freeze
from fairlead.service.fairness.history import History
from fairlead.service.fairness.interface import Adviser
from fairlead.service.fairness.monitor import FairnessMonitor
from fairlead.service.fairness.observer import Counted, Observer, Unobserved
from fairlead.service.journal.contender import Contender
from fairlead.service.journal.entry import (
    CorruptJournalError,
    Entry,
    JournalError,
    Listener,
    Standing,
    VersionJournalError,
)
from fairlead.service.journal.leases import LOOK, Following, Watch, steady_clock
from fairlead.service.journal.reading import SqlReader
from fairlead.service.records.book import Records
from fairlead.service.recovery.configuration import check_settings, fair_settings
from fairlead.service.recovery.recover import Recovered, Recovery, newest
from fairlead.service.requests import Refused, Reply, Request, Wrong
from fairlead.service.settings import Settings

SOON = 0.02
"""Seconds after which it is seen whether the journal has answered."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A look at the journal, at where it stood between `began` and `ended`: the entries up to
    there; none, where those that come next were removed already (`cut_off`). `over`: the session
    of its writer has ended."""

    standing: Standing
    entries: list[Entry]
    over: bool
    cut_off: bool
    began: float
    ended: float


Aside = Callable[[Callable[[], _Seen]], Future[_Seen]]
"""Runs what may wait for the journal."""


def in_a_thread(look: Callable[[], _Seen]) -> Future[_Seen]:
    """Runs it in a thread that nobody waits for at the end."""
    found: Future[_Seen] = Future()

    def run() -> None:
        try:
            found.set_result(look())
        except BaseException as error:  # noqa: BLE001 - raised by whoever asks for the result
            found.set_exception(error)

    Thread(target=run, name="look", daemon=True).start()
    return found


class Follower:
    """Like the service, without a way to change anything: whoever drives it calls `step`.

    The constructor reads the journal and raises what `Service` raises; from then on it is looked at
    aside, so that reads are answered while it is away. `leader`: where the leader was found before.
    Once `free` says
    where the writer stood, it is gone, and `recovered` is what a service goes on with."""

    ready = False
    engine_trouble = ""
    nodes: Mapping[str, Node] = {}
    apart: Mapping[str, Apart] = {}
    untaken = (0, 0)

    def __init__(
        self,
        contender: Contender,
        settings: Settings | None = None,
        adviser: Adviser | None = None,
        observer: Observer | None = None,
        history: History | None = None,
        clock: Callable[[], float] = steady_clock,
        aside: Aside = in_a_thread,
        leader: str = "",
    ) -> None:
        self.settings = settings or Settings()
        self.observer: Observer = observer or Unobserved()
        self.listeners: list[Listener] = []
        self.free: Standing | None = None
        self._contender, self._clock = contender, clock
        self._aside = aside
        self._look: Future[_Seen] | None = None
        self._watching = Watch(beating=contender.beating)
        self._leader, self._lost = leader, ""
        self._fresh = self._next_look = clock()
        self._begin()
        self.watch = (
            None
            if adviser is None
            else FairnessMonitor(adviser, fair_settings(self.settings), history)
        )

    def scheduler_reason(self, job: str) -> str:  # noqa: ARG002  only who leads asks the cluster
        return ""

    @property
    def core(self) -> Core | None:
        """The core as of the last entry; None before there was a service."""
        return self._recovery.core

    @property
    def places(self) -> bool:
        """Whether it says itself where tasks start; true before there was a service."""
        return self.core is None or self.core.placement.places

    def frozen(self, into: FrozenCore | None = None) -> FrozenCore | None:
        """A copy of it, for readers: nobody changes it. `into`: as `freeze` has it."""
        return None if self.core is None else freeze(self.core, into)

    @property
    def records(self) -> Records:
        """All that is known as of the last entry."""
        return self._recovery.records

    @property
    def store(self) -> SqlReader:
        return self._contender.reader

    @property
    def engine(self) -> Elsewhere:
        """Stands for the leader's engine."""
        return Elsewhere(self.following)

    @property
    def trouble(self) -> str:
        """Why the journal cannot be followed now; else, that this is what it does."""
        return self.journal_trouble or str(self.following)

    @property
    def journal_trouble(self) -> str:
        """Why the journal cannot be followed now; empty if it can."""
        return self._lost and f"this service follows, and cannot: {self._lost}"

    @property
    def following(self) -> Following:
        """The worth of an answer of now. From any thread."""
        return Following(self._leader, max(0.0, self._clock() - self._fresh))

    def stale(self) -> float:
        """How old what was just read may be, in seconds. From any thread."""
        return self.following.age

    @property
    def recovered(self) -> Recovered:
        """The state as it is known, for the service that takes over."""
        return Recovered(self.core, self.records, self._snapshot, self.watch, self.listeners)

    def doubt(self) -> str:
        """Why this cannot write now."""
        return self.trouble

    def step(self, now: int, requests: Sequence[Request] = ()) -> list[Reply]:
        """Looks at the journal when it is time to, and turns the requests away. `now`:
        microseconds since 1970. Raises CorruptJournalError, DisagreementError and, where a newer
        service leads, VersionJournalError."""
        if self._look is None and self._clock() >= self._next_look:
            self._next_look = self._clock() + LOOK
            self._look = self._aside(partial(self._see, self.records.seq))
        if self._look is not None and self._look.done():
            look, self._look = self._look, None
            changed = self._take(look)
            if self.watch is not None and self.core is not None:
                self.watch.listen()
                self.watch.after(max(now, self.records.time), self.core, changed=changed)
        return [Refused(Wrong.NOT_LEADING, self.trouble) for _ in requests]

    def pause(self) -> float:
        """Seconds until `step` has something to do by itself."""
        return SOON if self._look is not None else max(0.0, self._next_look - self._clock())

    def close(self) -> None:
        """Lets go of everything."""
        if self.watch is not None:
            self.watch.close()
        self.let_go()

    def let_go(self) -> None:
        """Looks no more: a service goes on with what is known."""
        self._contender.close()

    def begin_again(self) -> None:
        """Reads all once more, where what was known was given to a service that did not begin."""
        self.free = None
        self._begin()

    def _begin(self) -> None:
        core, records = newest(self.store)
        self._snapshot = records.seq
        self._recovery = Recovery(core, records)
        for entry in self.store.read(records.seq):
            self._recovery.take(entry)
        self._recovery.finish()
        if self.core is not None and self.records.start is not None:
            check_settings(self.core, self.records, self.settings)
        self._fresh = self._clock()

    def _see(self, after: int) -> _Seen:
        """Looks at the journal, which may not answer for long. In any thread."""
        began = self._clock()
        standing = self._contender.look()
        ended = self._clock()
        start = self.store.start() if standing.seq > after else 0
        entries = []
        if start <= after < standing.seq:
            # What came after the look counts at the next one.
            entries = [entry for entry in self.store.read(after) if entry.seq <= standing.seq]
        over = self._contender.is_over(standing.epoch)
        return _Seen(standing, entries, over, cut_off=start > after, began=began, ended=ended)

    def _take(self, look: Future[_Seen]) -> bool:
        """Takes in what was seen; whether there was anything new."""
        try:
            seen = look.result()
            if seen.cut_off:
                self._begin()
        except (CorruptJournalError, VersionJournalError):
            raise
        except JournalError as error:
            self.observer.count(Counted.JOURNAL_ERRORS)
            self._lost = str(error)
            return False
        for entry in seen.entries:
            self._recovery.take(entry)
        self._recovery.finish()
        for listener in self.listeners if seen.entries else ():
            listener(seen.entries)
        self._leader, self._lost, self._fresh = seen.standing.leader, "", seen.began
        gone = self._watching.may_take_over(seen.standing, seen.over, seen.began, seen.ended)
        self.free = seen.standing if gone else None
        if seen.entries:
            self._watching.took_in(self._clock())
        return bool(seen.entries)


class Elsewhere:
    """The engine of another service."""

    def __init__(self, following: Following) -> None:
        self._following = following

    def output(self, _attempt: Attempt, _stream: Stream, _offset: int, _most: int) -> Output:
        """Raises EngineError: outputs are where the leader's engine is."""
        raise EngineError(f"{self._following}, which has the outputs: ask that one")
