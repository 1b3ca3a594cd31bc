"""Several services on one journal in simulated time: leases, with leaders and followers that
freeze and thaw, die, are cut off from the database, and a database that lies about time.

The services, followers, leases and watches are the real ones; each has clocks of its own, of which
none agrees with another. A freeze comes at any call that leaves the service, before it has done
anything or before its answer is heard: others go on meanwhile, and the frozen one goes on in the
middle of its step. In most worlds all reach one engine; in others each has one of its own."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from operator import itemgetter
from random import Random

from fairlead.engines.interface import Assignment, Attempt, EngineError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.service.journal.codec import from_text
from fairlead.service.journal.entry import Entry, JournalError, Standing, TakenJournalError
from fairlead.service.journal.leases import BEAT, GRACE, RUN_OUT, Lease
from fairlead.service.journal.memory import MemoryStore, Place
from fairlead.service.loop.loop import Service
from fairlead.service.recovery.follower import Follower, _Seen
from fairlead.service.requests import Caller, Done, SubmitJobs, SubmittedJobs
from fairlead.service.settings import Settings
from tests.vopr.agreement import agree
from tests.vopr.apart import ApartJudge, Lenient
from tests.vopr.cluster import Cluster
from tests.vopr.engine import SimEngine
from tests.vopr.faults import SECOND, BrokenPromiseError, Chance, CrashError, Trace
from tests.vopr.ledger import Ledger

START = 1_800_000_000 * SECOND
LASTS = 90 * SECOND  # with troubles
CALM = 1800 * SECOND  # within which all is done after them
POLL = SECOND // 4
MOST = 10 * SECOND
"""Somebody leads by then, where a service is there that can."""

RATES = (0.95, 1.0, 1.0, 1.05)
"""Of the services' steady clocks."""

MACHINES = tuple(Machine(f"m{n}", {"cpu": 2, "memory": 2**30}) for n in range(2))


class Computer:
    """One machine with a service, its clocks, and what is wrong with it now."""

    def __init__(self, world: Leaders, name: str) -> None:
        draws = world.draws
        self.world, self.name = world, name
        self.service: Service | Follower | None = None
        self.store: MemoryStore | None = None  # that it opened last
        self.rate, self.boot = draws.choice(RATES), draws.uniform(0, 1e6)
        self.wall = draws.choice((0, 0, -3600, 3600, 7)) * SECOND
        self.frozen_until = self.cut_off_until = self.step_at = self.beat_at = self.well_since = 0
        self.busy = self.killed = False
        self.heard_over = False  # the writer's session, when it asked last
        self.cluster = world.cluster
        if world.apart:
            self.cluster = Cluster(MACHINES, 4.0, world.chance, world.judge, world.trace)
        self.answer_at: list[tuple[int, Future[_Seen], Callable[[Future[_Seen]], None]]] = []

    def clock(self) -> float:
        """Seconds, by its own steady clock."""
        return self.boot + self.rate * (self.world.now - START) / SECOND

    def reach(self) -> None:
        """Raises JournalError where it cannot reach the database."""
        if self.world.now < self.cut_off_until:
            raise JournalError("the simulated database does not answer")

    def lose(self) -> None:
        """Its process is gone."""
        self.service, self.answer_at = None, []
        self.step_at = self.world.now + self.world.draws.randrange(20 * SECOND)

    def aside(self, look: Callable[[], _Seen]) -> Future[_Seen]:
        """A look whose answer may come late: it says what was so then."""
        found: Future[_Seen] = Future()
        try:
            seen = look()
        except JournalError as error:
            found.set_exception(error)
            return found
        late = self.world.draws.choice((0, 0, 0, 0, 1, 4)) * SECOND * self.world.troubled
        if not late:
            found.set_result(seen)
        else:
            self.answer_at.append((self.world.now + late, found, lambda f: f.set_result(seen)))
        return found


class Reading(MemoryStore):
    """The journal as one reads it who does not write."""

    def __init__(self, computer: Computer, place: Place) -> None:
        self._computer, self._place = computer, place
        self.leader, self._closed = "", True


class Writing(MemoryStore):
    """The journal as the one on this machine has it open."""

    def __init__(self, computer: Computer, place: Place, after: Standing | None = None) -> None:
        computer.reach()
        before = place.standing()
        super().__init__(place, after)
        computer.world.taken_over(before, after, computer.heard_over)
        self._computer, self.leader = computer, computer.name
        computer.world.moved, computer.world.writer = computer.world.now, computer
        computer.world.perhaps_freeze(computer, 0.05)

    def append(self, entries: Sequence[Entry]) -> None:
        world, computer = self._computer.world, self._computer
        world.perhaps_freeze(computer, 0.015)
        computer.reach()
        before = self.last()
        super().append(entries)
        if self._place.writer is not self:
            raise BrokenPromiseError("the newest writer alone writes", computer.name)
        world.moved = world.now
        world.grown.append((world.now, self.last()))
        world.judge.cluster = computer.cluster
        for row in self._place.rows[before:]:
            entry = Entry(row.seq, row.step, row.time, row.kind, from_text(row.body))
            world.judge.durable(entry)
        world.perhaps_freeze(computer, 0.04)

    def renew(self) -> None:
        world, computer = self._computer.world, self._computer
        world.perhaps_freeze(computer, 0.002)
        computer.reach()
        super().renew()
        world.moved = world.now
        world.perhaps_freeze(computer, 0.006)


class Looking:
    """A contender; what it says of the writer's session may be wrong for a while."""

    beating = True

    def __init__(self, computer: Computer) -> None:
        self._computer = computer
        self.reader = Reading(computer, computer.world.place)

    def look(self) -> Standing:
        self._computer.world.perhaps_freeze(self._computer, 0.03, (0.5, 1, 1.9))
        self._computer.reach()
        return self.reader._place.standing()  # noqa: SLF001 - it is of this file

    def is_over(self, epoch: int) -> bool:
        self._computer.reach()
        self._computer.heard_over = self._computer.world.session_over(epoch)
        return self._computer.heard_over

    def close(self) -> None:
        """Contender.close."""


class Launcher(SimEngine):
    """An engine that hears the newest owner alone, as all do; `frozen`: since this one looked last
    whether it leads."""

    def __init__(self, computer: Computer) -> None:
        world = computer.world
        super().__init__(computer.cluster, world.judge, world.chance, world.trace, Counter())
        self.identity = computer.name if world.apart else "simulated"
        self.computer, self.mine, self.frozen = computer, 0, False

    def reconcile(self, expected: Sequence[Assignment], owner: int = 0) -> Sequence[Attempt]:
        self.mine, self.computer.world.judge.asked = owner, self.identity
        return super().reconcile(expected, owner)

    def _ready(self, call: str) -> None:
        super()._ready(call)
        world = self.computer.world
        overtaken = world.place.writer is not self.computer.store
        if overtaken and not self.frozen:
            raise BrokenPromiseError("one that was overtaken orders nothing", call)
        self.frozen |= world.perhaps_freeze(self.computer, 0.01)
        if self.mine < self.cluster.owner:
            raise EngineError("a newer owner of the journal was here")
        # On a machine of its own it hears of no newer one: it does what it is told, and the journal
        # has given that up.
        late = world.apart and world.place.writer is not self.computer.store
        self.judge = Lenient() if late else world.judge


class Leaders:
    """The world of a seed."""

    def __init__(self, seed: int) -> None:
        self.draws = draws = Random(f"leaders {seed}")
        self.trace = trace = Trace(wanted=False)
        trace.start = trace.now = START
        self.ledger = Ledger()
        self.judge = ApartJudge(self.ledger)
        self.chance = Chance(seed, {}, 10**9, trace)
        self.cluster = self.judge.cluster = Cluster(MACHINES, 4.0, self.chance, self.judge, trace)
        self.apart = seed % 4 == 3
        self.judge.blind_until = 10**18
        self.place = Place()
        self.writer: Computer | None = None
        self.moved = START  # when the journal or its beat last went on
        self.grown = [(START - SECOND, 0)]  # when the journal went on, to which entry
        self.over: tuple[int, int] = (0, 0)  # an epoch whose session the database calls over: since
        self.lie = (0.0, START, 1.0)  # the database's clock: what it said then, and its rate since
        self.troubled = True
        self.met: Counter[str] = Counter()
        self.computers = [Computer(self, f"http://{name}") for name in "abc"[: 2 + seed % 2]]
        self.asks = [self._ask(number) for number in range(draws.randint(4, 9))]
        self.done: dict[str, tuple[int, ...]] = {}

    @property
    def now(self) -> int:
        """The true time."""
        return self.trace.now

    def database_clock(self) -> float:
        """Seconds, as the database says. Nothing may depend on it."""
        said, since, rate = self.lie
        return said + rate * (self.now - since) / SECOND

    def _ask(self, number: int) -> tuple[int, SubmitJobs]:
        draws = self.draws
        once = draws.random() < 0.6
        job = Job(
            f"j{number}", {"cpu": 1}, tasks=draws.randint(1, 3), command="x", rerunnable=not once
        )
        return START + draws.randrange(LASTS), SubmitJobs(Caller(), (job,), f"key{number}")

    # What is checked

    def taken_over(self, before: Standing, after: Standing | None, over: bool) -> None:
        """Somebody raised the epoch: only where the one before let go, or was silent."""
        if after is None or after.epoch != before.epoch or not before.held:
            return
        quiet = (self.now - self.moved) / SECOND
        wanted = (GRACE if over else RUN_OUT) / max(RATES) - 1e-6
        if quiet < wanted:
            raise BrokenPromiseError("nobody is overtaken who beats", f"{quiet} s after a beat")
        self.met["taken over by session" if over else "taken over by silence"] += 1

    def session_over(self, epoch: int) -> bool:
        """What the database says of the session of the writer."""
        return self.over[0] == epoch or (epoch == self.place.epoch and self._is_gone())

    def _is_gone(self) -> bool:
        writer = self.writer
        return writer is not None and (writer.killed or not self._leads(writer))

    def _somebody_leads(self) -> None:
        """Where one could lead for long enough, somebody does."""
        well = [each.well_since for each in self.computers if self._is_well(each)]
        if well and self.now - max(self.moved, min(well)) > MOST:
            raise BrokenPromiseError(
                "somebody leads within 10 s", f"{(self.now - self.moved) / SECOND} s passed"
            )

    def _is_well(self, each: Computer) -> bool:
        back = max(each.frozen_until, each.cut_off_until)
        each.well_since = max(each.well_since, back)
        if each.service is None or each.busy or each.answer_at:
            each.well_since = max(each.well_since, self.now)
        return self.now > each.well_since

    # Troubles

    def perhaps_freeze(
        self,
        computer: Computer,
        chance: float,
        seconds: Sequence[float] = (1, 2.5, 5, 8, 14, 30),
    ) -> bool:
        """Now and then it freezes here, and everything else goes on; whether it did. It may be cut
        off from the database when it thaws."""
        if not self.troubled or computer.busy or self.draws.random() >= chance:
            return False
        self.met["frozen in a call"] += 1
        computer.frozen_until = self.now + int(self.draws.choice(seconds) * SECOND)
        if self.draws.random() < 0.3:
            self.met["cut off when it thaws"] += 1
            computer.cut_off_until = computer.frozen_until + self.draws.randrange(15 * SECOND)
        computer.busy = True
        self._until(computer.frozen_until)
        computer.busy = False
        if computer.killed:
            computer.killed = False
            raise CrashError("a call")
        return True

    def _trouble(self) -> None:
        draws = self.draws
        computer = draws.choice(self.computers)
        which = draws.choice(("killed", "frozen", "cut off", "session lost", "clock lies", "wall"))
        self.met[which] += 1
        if which == "killed" and computer.busy:
            computer.killed = True
        elif which == "killed":
            computer.lose()
        elif which == "frozen":
            computer.frozen_until = self.now + draws.randrange(15 * SECOND)
        elif which == "cut off":
            computer.cut_off_until = self.now + draws.randrange(15 * SECOND)
        elif which == "session lost":
            self.over = (self.place.epoch, self.now)
        elif which == "clock lies":
            jump = draws.choice((-3600.0, -5.0, 0.0, 1.0, 86400.0))
            self.lie = self.database_clock() + jump, self.now, draws.choice((0.2, 1.0, 3.5))
        else:
            computer.wall += draws.choice((-600, -3, 3, 600)) * SECOND

    # Time

    def run(self) -> None:
        """Troubles, then calm until all is done. Raises BrokenPromiseError."""
        end, trouble = START + LASTS, START
        while self.now < end:
            trouble += self.draws.randrange(2 * SECOND, 16 * SECOND)
            self._until(max(self.now, trouble))
            if self.now < end:
                self._trouble()
        self.troubled, self.chance.calm = False, True
        for each in self.computers:
            each.frozen_until = each.cut_off_until = 0
        end = self.now + CALM
        while self._undone():
            if self.now > end:
                raise BrokenPromiseError("work gets done once the troubles stop", self._undone())
            self._until(self.now + 5 * SECOND)
        (leader,) = (each for each in self.computers if self._leads(each))
        assert isinstance(leader.service, Service)
        agree(leader.service, self.ledger, thorough=True)

    def _leads(self, each: Computer) -> bool:
        service = each.service
        return isinstance(service, Service) and service.store is self.place.writer

    def _undone(self) -> str:
        """What is not done; empty if nothing is."""
        if len(self.done) < len(self.asks):
            return "not all was accepted"
        if sum(self._leads(each) for each in self.computers) != 1:
            return "nobody leads"
        open_ = [line.name for line in self.ledger.jobs.values() if not line.over()]
        return f"{open_} go on" if open_ else ""

    def _until(self, end: int) -> None:
        """All that happens up to then, where not everybody is in the middle of something."""
        while True:
            moments = [
                (max(each.step_at, each.frozen_until), 0, n)
                for n, each in enumerate(self.computers)
                if not each.busy
            ]
            moments += [
                (max(each.beat_at, each.frozen_until), 1, n)
                for n, each in enumerate(self.computers)
                if not each.busy and isinstance(each.service, Service)
            ]
            moment, what, n = min(moments, default=(end, 0, 0))
            if moment >= end:
                break
            self._go(max(moment, self.now))
            computer = self.computers[n]
            if what == 1:
                self._beat(computer)
            else:
                self._turn(computer)
            self._somebody_leads()
        self._go(max(end, self.now))

    def _go(self, now: int) -> None:
        self.trace.now = self.ledger.now = now
        for cluster in {id(each.cluster): each.cluster for each in self.computers}.values():
            cluster.advance(now)

    def _beat(self, computer: Computer) -> None:
        computer.beat_at = self.now + int(BEAT * SECOND)
        assert isinstance(computer.service, Service)
        try:
            computer.service.lease.renew()
        except CrashError:
            computer.lose()

    def _turn(self, computer: Computer) -> None:
        computer.step_at = self.now + POLL
        for each in [each for each in computer.answer_at if each[0] <= self.now]:
            computer.answer_at.remove(each)
            each[2](each[1])
        try:
            if computer.service is None:
                self._begin(computer)
            else:
                self._step(computer, computer.service)
        except CrashError:
            computer.lose()
        except TakenJournalError:
            self.met["began anew"] += 1
            if computer.service is not None:
                computer.service.close()
            computer.service = None

    def _begin(self, computer: Computer) -> None:
        """The process begins, as a follower where another one leads."""
        computer.well_since = self.now
        try:
            computer.reach()
            if self.place.writer is None:
                self._lead(computer, None, None)
                return
            computer.service = Follower(
                Looking(computer),  # type: ignore[arg-type]  # a reader in memory
                Settings(),
                clock=computer.clock,
                aside=computer.aside,
            )
        except TakenJournalError:
            raise
        except JournalError:
            computer.service = None  # it tries again

    def _lead(self, computer: Computer, follower: Follower | None, gone: Standing | None) -> None:
        since = computer.clock()
        store = computer.store = Writing(computer, self.place, gone)
        recovered = None if follower is None else follower.recovered
        lease = Lease(store, beating=True, since=since, clock=computer.clock)
        engine = Launcher(computer)
        service = Service(store, engine, Settings(), recovered=recovered, lease=lease)
        computer.service, computer.beat_at = service, self.now
        lease.renew()
        self.met["led"] += 1

    def _step(self, computer: Computer, service: Service | Follower) -> None:
        due = [ask for time, ask in self.asks if time <= self.now and self.draws.random() < 0.3]
        fresh = [ask for ask in due if ask.key not in self.done or self.draws.random() < 0.05]
        if isinstance(service, Service):
            assert isinstance(service.engine, Launcher)
            service.engine.frozen = False
        replies = service.step(self.now + computer.wall, fresh)
        if isinstance(service, Service):
            for fault in service.suspects.faults:
                raise BrokenPromiseError("engine and service fail as foreseen", fault)
        self._read(computer, service)
        for ask, reply in zip(fresh, replies, strict=True):
            if isinstance(reply, Done):
                self._accepted(ask, reply)
        if isinstance(service, Follower) and service.free is not None:
            try:
                self._lead(computer, service, service.free)
            except TakenJournalError:
                service.free = None  # another one was quicker, or it was not gone
            except JournalError:
                service.begin_again()

    def _read(self, computer: Computer, service: Service | Follower) -> None:
        """Somebody reads what it knows, and is told whether that is all there is."""
        seq, last = service.records.seq, self.place.standing().seq
        self.perhaps_freeze(computer, 0.002)
        if isinstance(service, Service):
            self.met["read while in doubt" if service.stale() else "read"] += 1
            if seq < last and not service.stale():
                raise BrokenPromiseError("what is called fresh is fresh", f"{seq} of {last}")
        else:
            then = self.now - service.stale() / computer.rate * SECOND
            if seq < self.grown[bisect(self.grown, then - 1, key=itemgetter(0)) - 1][1]:
                raise BrokenPromiseError("a follower says how old its answers are", str(seq))

    def _accepted(self, ask: SubmitJobs, reply: Done) -> None:
        assert isinstance(reply.value, SubmittedJobs)
        assert ask.key is not None
        numbers = reply.value.ids
        if any(number not in self.ledger.jobs for number in numbers):
            raise BrokenPromiseError("a reply says what is durable", f"{ask.key} is {numbers}")
        if self.done.setdefault(ask.key, numbers) != numbers:
            raise BrokenPromiseError("a key is one submission", f"{ask.key} is {numbers}")
