"""One run: the whole service in a simulated world, from its seed. Nothing here reads a clock, and
nothing happens beside anything else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from fairlead.engines.interface import Engine, EngineError
from fairlead.model.errors import FairleadError, InputError
from fairlead.scheduling.core import Core
from fairlead.scheduling.transitions import MachineState
from fairlead.service.fairness.interface import Adviser
from fairlead.service.journal.entry import (
    CorruptJournalError,
    Entry,
    JournalError,
    Store,
    TakenJournalError,
)
from fairlead.service.loop.loop import Service
from fairlead.service.recovery.replay import replay
from fairlead.service.requests import DrainMachine, DrainMachines, SubmitJobs
from fairlead.service.settings import Settings
from tests.vopr.adviser import SimAdviser
from tests.vopr.agreement import agree
from tests.vopr.clients import Clients, about
from tests.vopr.cluster import Cluster
from tests.vopr.engine import SimEngine
from tests.vopr.faults import SECOND, BrokenPromiseError, Chance, CrashError, Fault, Trace
from tests.vopr.front import Front, TokenFile
from tests.vopr.judge import LOOKED_BY, Judge
from tests.vopr.ledger import Ledger
from tests.vopr.midway import Onlooker
from tests.vopr.network import Network
from tests.vopr.plan import ADMIN, START, Incident, Plan
from tests.vopr.readers import Readers
from tests.vopr.store import Disk, SimStore

IDLE = 30 * SECOND
"""The service is looked after at least so often."""

AT_ONCE = 50
"""So many steps in a row without a moment passing and without an entry are a busy loop."""

MOST_STEPS = 20_000

COPIED_OFTEN = 3
"""In one of so many lives the core is copied for those who look in the midst of a step wherever
that is asked about a job, in the others where about several: copies were a sixth of a life, and one
in ten was looked at."""

LATEST = 100 * SECOND
"""So long after it was sent first a request is answered, and none of its copies is on its way."""

Make = Callable[[Store, Engine, Settings, Adviser], Service]


@dataclass
class Life:
    """The service from a start to its death, and what it holds."""

    service: Service
    store: SimStore
    engine: SimEngine
    front: Front

    @property
    def core(self) -> Core:
        """The service's core."""
        assert self.service.core is not None
        return self.service.core


class Simulation:
    """The world of one plan. `make` builds the service: tests give one with a planted bug."""

    def __init__(self, plan: Plan, trace: Trace, make: Make = Service) -> None:
        self.plan = plan
        self.trace = trace
        self.make = make
        trace.start = trace.now = START
        rates = {fault: rate for fault, rate in plan.rates.items() if fault not in plan.off}
        self.chance = Chance(plan.seed, rates, plan.most, trace)
        self.ledger = Ledger()
        self.judge = Judge(self.ledger)
        self.cluster = Cluster(
            (*plan.machines, *plan.joins), plan.pace, self.chance, self.judge, trace
        )
        for machine in plan.joins:
            del self.cluster.nodes[machine.name]
        self.judge.cluster = self.cluster
        self.network = Network(self.chance, trace)
        self.file = TokenFile()
        self.clients = Clients(
            self.ledger, self.chance, trace, self.network, lambda: self.file.text
        )
        self.clients.plan(plan.asks)
        self.readers = Readers(
            self.clients,
            self.ledger,
            self.chance,
            trace,
            self.network,
            lambda: self.disk.place.start,
            self._behind,
        )
        self.readers.plan(plan.looks)
        seen = Ledger()
        checks = Readers(
            *(self.clients, seen, self.chance, trace, self.network),
            removed=lambda: self.disk.place.start,
            behind=lambda: False,
        )
        self.onlooker = Onlooker(checks, seen, self.chance, trace)
        self.disk = Disk()
        self.settings = plan.settings
        self.life: Life | None = None
        self.restart_at = self.step_at = START
        self.offset = 0  # of the service's clock
        self.down_until = 0
        self.incidents = [each for each in plan.incidents if each.fault not in plan.off]
        self.steps = self.lives = self.moments = 0
        self.calls: Counter[str] = Counter()
        self.at_once = 0
        self.digest: tuple[int, str] | None = None  # of the dead service, at its last entry

    def run(self) -> None:
        """Faults, then calm until all is done. Raises BrokenPromiseError."""
        try:
            self._run()
        finally:
            self._cut()
            self.onlooker.close()

    def _run(self) -> None:
        while self.trace.now < self.plan.end:
            self._go_on(self.plan.end)
        self._calm()
        bound = self._bound()
        while not self._all_done():
            if self.trace.now > bound:
                raise BrokenPromiseError("work gets done once the faults stop", self._undone())
            self._go_on(bound + 1)
        self._last_look()

    # Time

    def _go_on(self, end: int) -> None:
        """To the next moment at which anything happens, and the service's step there."""
        self.moments += 1
        if self.moments > 10 * MOST_STEPS:
            raise BrokenPromiseError("a run comes to an end", f"{self.moments} moments passed")
        now, life = self.trace.now, self.life
        later = self.cluster.next()
        if later is not None:
            self.step_at = min(self.step_at, -(-later // self.plan.poll) * self.plan.poll)
        moments = [end, self.clients.next(), self.readers.next(), self.network.next()]
        moments += [self.incidents[0].time if self.incidents else None]
        if life is None:
            moments.append(self.restart_at)
        else:
            moments += [self.step_at, life.front.loop.next()]
        next_one = min(moment for moment in moments if moment is not None)
        self._now(max(now + (1000 if self.at_once > 5 else 0), next_one))
        while self.incidents and self.incidents[0].time <= self.trace.now:
            self._incident(self.incidents.pop(0))
        if self.life is None and self.trace.now >= self.restart_at:
            self._start()
        self.network.advance(self.trace.now)
        self.clients.due(self.trace.now)
        self.readers.due(self.trace.now)
        if self.life is not None:
            self._live(self.life)

    def _now(self, now: int) -> None:
        self.trace.now = self.ledger.now = now
        self.cluster.advance(now)

    def _incident(self, incident: Incident) -> None:
        fault = incident.fault
        if self.chance.left <= 0:
            return
        if fault in (Fault.CLOCK_FORWARD, Fault.CLOCK_BACK):
            self.chance.count(fault)
            self.offset += incident.lasts
            if fault is Fault.CLOCK_BACK:  # the service's time waits for it, half as fast
                self.judge.looked_by = 2 * LOOKED_BY
            self.step_at = self.trace.now  # whoever waits for a time looks at the clock again
        elif fault is Fault.ENGINE_DOWN:
            self.chance.count(fault)
            self.down_until = self.trace.now + incident.lasts
            if self.life is not None:
                self.life.engine.down_until = self.down_until
        elif fault is Fault.CRASH_BETWEEN:
            if self.life is not None:
                self.chance.count(fault)
                self._dead("between two steps")
        else:
            self.cluster.happen(fault, incident.node, incident.lasts)

    # Lives

    def _start(self) -> None:
        disk, chance = self.disk, self.chance
        place = disk.place
        spare = len(place.snapshots) > 1 or (place.snapshots and not place.start)
        if spare and chance.hit(Fault.SNAPSHOT_LOST):
            del place.snapshots[max(place.snapshots)]
        if place.rows and chance.hit(Fault.READ_CORRUPT):
            disk.damage(chance.stream("damage").random())
        if place.rows and chance.hit(Fault.READ_FAILS):
            disk.broken = True
        before = disk.last
        store = SimStore(disk, chance, self.trace, self._durable, self._wait, self._written)
        engine = SimEngine(self.cluster, self.judge, chance, self.trace, self.calls)
        engine.down_until = self.down_until
        self.lives += 1
        self.trace.say(f"== life {self.lives}, {before} entries are durable")
        adviser = SimAdviser(chance, self.trace)
        wanted = self._settings()
        try:
            try:
                service = self.make(store, engine, wanted, adviser)
            except InputError:
                if wanted == self.settings:
                    raise
                # Another policy that has no scale for a job that is there: it stays as it was.
                if disk.last != before:
                    raise BrokenPromiseError(
                        "what is refused changes nothing", str(wanted)
                    ) from None
                wanted = self.settings
                service = self.make(store, engine, wanted, adviser)
            self.settings = wanted
            if chance.hit(Fault.CRASH_IN_RECOVERY):
                raise CrashError("recovery")
        except CrashError:
            self._dead("it died while it started")
            return
        except (JournalError, EngineError) as error:
            self._refused(store, error, before)
            return
        if store.complained:
            raise BrokenPromiseError("a journal that cannot be read is refused", "it started")
        disk.repair()  # nobody read what was damaged
        large = 1 if self.plan.seed % COPIED_OFTEN == 1 else 2
        service.serve_meanwhile(self.onlooker, every=1, large=large)
        front = Front(service, self.plan.api, self.file, chance, self.trace)
        self.life = Life(service, store, engine, front)
        self.step_at = self.trace.now
        self.judge.blind_until = self.trace.now
        self._recovered(service, before)

    def _settings(self) -> Settings:
        """Now and then it is started under another policy, placement or option."""
        draws = self.chance.stream("settings")
        if self.chance.calm or not self.lives or draws.random() > 0.2:
            return self.settings
        other = draws.choice(self.plan.others)
        return replace(
            self.settings, policy=other.policy, placement=other.placement, options=other.options
        )

    def _refused(self, store: SimStore, error: FairleadError, before: int) -> None:
        """It refused to start; somebody mends what was wrong."""
        if not store.complained and not store.failed:
            raise BrokenPromiseError("a good journal is read", str(error)) from error
        if isinstance(error, CorruptJournalError) and self.disk.last != before:
            raise BrokenPromiseError("a corrupt journal is left alone", str(error)) from error
        self.disk.repair()
        self._dead(f"it did not start: {error}")

    def _recovered(self, service: Service, before: int) -> None:
        """All that was durable is there again, and nothing else."""
        if self.digest is not None and self.digest[0] == before:
            core = service.core
            if core is None or core.digest() != self.digest[1]:
                raise BrokenPromiseError(
                    "recovery gives the same state", f"another digest at entry {before}"
                )
        agree(service, self.ledger, thorough=True)

    def _durable(self, entry: Entry) -> None:
        self.judge.durable(entry)
        self.onlooker.durable(entry)

    def _written(self) -> None:
        """An append is durable, and the core is where it says: now and then its digest is kept, to
        see that a service that recovers comes to the same."""
        if self.life is not None and self.chance.stream("digest").random() < 0.25:
            self.digest = self.disk.last, self.life.core.digest()

    def _dead(self, why: str) -> None:
        self.trace.say(f"== it is dead: {why}")
        self._cut()
        wait = self.chance.stream("restart").choice((0, SECOND // 10, SECOND, 5 * SECOND))
        self.restart_at = self.trace.now + wait

    def _cut(self) -> None:
        """The process is gone, with all its connections."""
        life, self.life = self.life, None
        self.network.cut()
        if life is not None:
            life.front.kill()

    def _behind(self) -> bool:
        """Whether the service does not know all that is durable."""
        return self.life is not None and self.life.service.records.seq != self.disk.last

    def _wait(self, time: int) -> None:
        """Time passes within a step."""
        self._now(self.trace.now + time)

    # Steps

    def _live(self, life: Life) -> None:
        """Handlers go on, and the service makes a step if there is anything to do."""
        try:
            life.front.go_on()
            if not life.front.crashed and (
                self.trace.now >= self.step_at or life.front.door.waiting()
            ):
                self._step(life)
            if life.front.crashed:
                raise CrashError("reply")
        except CrashError as crash:
            self._dead(f"in {crash}")
        except TakenJournalError:
            if not life.store.taken:
                raise
            self._dead("another one writes its journal")

    def _step(self, life: Life) -> None:
        now, before = self.trace.now, self.disk.last
        self.step_at = now + IDLE
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise BrokenPromiseError("a run comes to an end", f"{MOST_STEPS} steps were made")
        life.front.turn(now + self.offset)
        for fault in life.service.suspects.faults:
            raise BrokenPromiseError("engine and service fail as foreseen", fault)
        if self.network.server is not life.front:
            life.front.begin()
            self.network.server = life.front
        if life.store.taken:
            raise BrokenPromiseError("a service whose journal is taken stops", "it went on")
        if not life.store.failed:
            if self.disk.last != before:
                agree(life.service, self.ledger, thorough=self.steps % 8 == 0)
            self.judge.check_stops()
        if life.store.failed or not life.engine.reconciled:
            self.judge.blind_until = self.trace.now
        if self.plan.checked and self.steps % 4 == 0 and life.service.core is not None:
            life.core.check()
        self._not_busy(life, now, before)

    def _not_busy(self, life: Life, now: int, before: int) -> None:
        """It sleeps when there is nothing to do."""
        wake = life.service.wake()
        self.step_at = min(self.step_at, wake - self.offset)
        if life.front.door.waiting():
            self.step_at = self.trace.now
        idle = self.disk.last == before and self.trace.now == now
        busy = idle and wake <= now + self.offset
        self.at_once = self.at_once + 1 if busy else 0
        if self.at_once > AT_ONCE:
            raise BrokenPromiseError("no busy loop", f"{AT_ONCE} steps at {now} did nothing")

    # The end

    def _calm(self) -> None:
        """No fault happens any more, and all is repaired."""
        self.trace.say("== the faults stop")
        self.chance.calm = True
        self.incidents.clear()
        self.down_until = 0
        if self.life is not None:
            self.life.engine.down_until = 0
        for name, node in self.cluster.nodes.items():
            if not node.silent:  # one that hangs or is cut off comes back in its time
                self.cluster.heal(name)
        self.disk.repair()
        last = max((each.time for each in self.clients.waiting), default=self.trace.now)
        drains = [
            about(each.request)
            for each in self.plan.asks
            if isinstance(each.request, DrainMachine | DrainMachines)
        ]
        names = frozenset[str]().union(*drains)
        for machine in self.plan.machines:
            if machine.name in names:
                self.clients.add(last + LATEST, DrainMachine(ADMIN, machine.name, True))

    def _bound(self) -> int:
        """By then all must be done: quarantines of ten minutes, slow launches, all tasks one after
        the other at their longest. Jumps of the clock make nothing later."""
        tasks = sum(
            int(job.tasks or 0)
            for each in (*self.clients.waiting, *self.clients.asked.values())
            if isinstance(each.request, SubmitJobs)
            for job in each.request.jobs
        ) + sum(line.count for line in self.ledger.jobs.values())
        # The longest task takes ten times the pace, and each may be tried four times.
        work = int(tasks * (self.plan.pace * 10 + 1) * SECOND)
        return self.trace.now + 2500 * SECOND + work

    def _all_done(self) -> bool:
        if self.life is None or self.clients.pending() or self.life.store.failed:
            return False
        return not self._undone()

    def _undone(self) -> str:
        """What is not done yet; empty if nothing is."""
        if self.life is None:
            return "the service is not there"
        pending = self.clients.pending()
        if pending is not None:
            return f"{pending} was not answered"
        for line in self.ledger.jobs.values():
            if not line.over():
                return f"job {line.name} is {line.states()}"
        for name, machine in self.ledger.machines.items():
            if machine.state is not MachineState.UP:
                return f"machine {name} is {machine.state.name}"
        for node in self.cluster.listed():
            if node.machine.name not in self.ledger.machines:
                return f"machine {node.machine.name} never joined"
        if self.cluster.reports:
            return f"{next(iter(self.cluster.reports))} was not acknowledged"
        return self.readers.behind()

    def _last_look(self) -> None:
        """After all: every accepted task has one result, or was taken back with its job."""
        assert self.life is not None
        for number, name in self.clients.promised.items():
            line = self.ledger.jobs.get(number) or self.ledger.forgotten.get(number)
            if line is None:
                raise BrokenPromiseError("what was accepted is there", f"job {number}, {name}")
            for task in range(line.count):
                known = line.task(task)
                if not known.result and not line.cancelled and not line.rejected:
                    raise BrokenPromiseError("every accepted task has a result", f"{name} {task}")
        agree(self.life.service, self.ledger, thorough=True)
        self.life.core.check()
        if self.plan.seed % 8 == 0 and not self.disk.place.start:
            self._replay(self.life)

    def _replay(self, life: Life) -> None:
        """All entries, told to a new core, decide the same (`replay` compares each decision) and
        end in the same state."""
        if replay(life.store.read()).digest != life.core.digest():
            raise BrokenPromiseError("a replay ends in the same state", "another digest at the end")
