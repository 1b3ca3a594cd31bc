"""What is truly so in the simulated cluster: nodes, the attempts that run on them, and what is
waiting to be reported. The engine (engine.py) is how the service sees it."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Protocol

from fairlead.engines.interface import (
    Assignment,
    Attempt,
    Cause,
    Ended,
    Health,
    Lost,
    Node,
    Report,
    Started,
)
from fairlead.model.machine import Machine
from tests.vopr.faults import SECOND, Chance, Fault, Trace

SCALE_DOWN = Fraction(1, 2)

LONG = (
    *(Fault.NODE_DIES, Fault.NODE_VANISHES, Fault.NODE_CUT_OFF),
    *(Fault.NODE_HANGS, Fault.NODE_HANGS_LONG),
)
"""Faults during which a node is not well."""


@dataclass
class Run:
    """One attempt at the engine, from the moment at which the engine took it."""

    assignment: Assignment
    machine: str
    over: bool = False  # nothing of it runs, and nothing will
    begun: int | None = None  # when it truly began
    dropped: bool = False  # the engine forgot that it was told to start it
    given_up: bool = False  # the service cannot know that it runs on
    asked_to_stop: bool = False

    @property
    def attempt(self) -> Attempt:
        return self.assignment.attempt


@dataclass
class SimNode:
    """A node as it truly is."""

    machine: Machine
    listed: bool = True
    health: Health = Health.READY
    silent: bool = False  # what is reported of it waits until it answers again
    cut_off: bool = False  # its attempts run on, though it is not listed
    changed: int = -(10**18)  # when it got other capacities
    well_since: int | None = -(10**18)  # None: it is in trouble
    runs: dict[Attempt, Run] = field(default_factory=dict)  # of those that are not over


class Watcher(Protocol):
    """Is told what truly happens, and raises BrokenPromiseError where it must not."""

    def began(self, run: Run) -> None:
        """An attempt truly began."""

    def ended(self, run: Run) -> None:
        """Nothing of the attempt runs any more."""


class Cluster:
    """The truth. Time passes by `advance` alone."""

    def __init__(
        self,
        machines: Iterable[Machine],
        pace: float,
        chance: Chance,
        watcher: Watcher,
        trace: Trace,
    ) -> None:
        self.now = 0
        self.pace = pace  # the mean duration of a task in seconds
        self.chance = chance
        self.watcher = watcher
        self.trace = trace
        self.nodes = {machine.name: SimNode(machine) for machine in machines}
        self.whole = {machine.name: machine for machine in machines}
        self.owner = 0  # of the journal: the newest that was here
        self.runs: dict[Attempt, Run] = {}
        self.reports: dict[Report, int] = {}  # since when they can be seen
        self.refused: set[Attempt] = set()  # cancelled before they began
        self.said: list[Report] = []  # all that was ever reported, for repeating it
        self.said_of: dict[Attempt, list[Report]] = {}
        self.causes: Counter[str] = Counter()
        self._later: list[tuple[int, int, Callable[[], None]]] = []
        self._number = 0

    # Time

    def at(self, time: int, what: Callable[[], None]) -> None:
        """It happens then."""
        self._number += 1
        heapq.heappush(self._later, (time, self._number, what))

    def advance(self, now: int) -> None:
        """All that happens up to that moment, in its order."""
        while self._later and self._later[0][0] <= now:
            time, _, what = heapq.heappop(self._later)
            self.now = max(self.now, time)
            what()
        self.now = max(self.now, now)

    def next(self) -> int | None:
        """When something happens or can be seen next."""
        moments = [self._later[0][0]] if self._later else []
        moments += [time for time in self.reports.values() if time > self.now]
        return min(moments, default=None)

    # Attempts

    def take(self, assignment: Assignment) -> None:
        """The engine was told to start this attempt, and knows of no other time."""
        attempt, node = assignment.attempt, self.nodes.get(assignment.machine)
        run = Run(assignment, assignment.machine)
        if node is None or not node.listed or node.health is not Health.READY:
            self.report(Lost(attempt, False, f"{assignment.machine} does not answer"))
            return
        if attempt in self.refused:
            self.report(Lost(attempt, False, "it was cancelled before it began"))
            return
        self.runs[attempt] = node.runs[attempt] = run
        chance = self.chance
        if chance.hit(Fault.LAUNCH_LOST):
            run.dropped = True
            self.at(self.now + 20 * SECOND, lambda: self._found_missing(run))
        elif chance.hit(Fault.LAUNCH_INSTANT):
            self._begin(run, instant=True)
        elif chance.hit(Fault.LAUNCH_SLOW):
            wait = chance.stream("slow").randrange(SECOND, 90 * SECOND)
            self.at(self.now + wait, lambda: self._begin(run))
        else:
            wait = chance.stream("start").randrange(1000, 20_000)
            self.at(self.now + wait, lambda: self._begin(run))

    def _found_missing(self, run: Run) -> None:
        if run.dropped and self.runs.get(run.attempt) is run and not run.over:
            self._over(run)
            self.report(Lost(run.attempt, False, "it never arrived"))

    def _begin(self, run: Run, instant: bool = False) -> None:
        if run.over or run.begun is not None:
            return
        draws = self.chance.stream(f"task {run.attempt}")
        if not self.chance.calm and draws.random() < 0.03:
            self._end(run, Cause.NOT_STARTED, 127)
            return
        run.begun = self.now
        self.watcher.began(run)
        if not self.chance.hit(Fault.START_UNREPORTED):
            self.report(Started(run.attempt, self.now), 0 if instant else None)
        if self.chance.hit(Fault.TASK_LOST):
            self.at(self.now + draws.randrange(3 * SECOND), lambda: self._lose(run, "it vanished"))
            return
        cause, code = self._ending(draws.random())
        if instant:
            self._end(run, cause, code, 0)
            return
        seconds = min(draws.expovariate(1 / self.pace), 10 * self.pace)
        self.at(self.now + 1000 + int(seconds * SECOND), lambda: self._done(run, cause, code))
        self._perhaps_cut_off(run.machine, seconds)

    def _done(self, run: Run, cause: Cause, code: int) -> None:
        """It has done its work; on a node that hangs nothing goes on."""
        if not run.over and self.nodes[run.machine].health is Health.TROUBLED:
            self.at(self.now + 5 * SECOND, lambda: self._done(run, cause, code))
        else:
            self._end(run, cause, code)

    def _ending(self, chance: float) -> tuple[Cause, int]:
        if self.chance.calm or chance < 0.8:
            return Cause.EXITED, 0
        if chance < 0.9:
            return Cause.EXITED, 3
        if chance < 0.94:
            return Cause.SIGNALLED, 9
        return (Cause.TIME_LIMIT, 9) if chance < 0.97 else (Cause.MEMORY, 9)

    def _end(self, run: Run, cause: Cause, code: int, delay: int | None = None) -> None:
        """The attempt ends by itself or because it was told to."""
        if run.over:
            return
        self._over(run)
        self.causes[cause.value if code or cause is not Cause.EXITED else "well"] += 1
        ended = Ended(run.attempt, cause, code, self.now, run.begun)
        self.report(ended, delay)
        if self.chance.hit(Fault.REPORT_OTHER):
            other = replace(ended, cause=Cause.EXITED, code=0 if ended.code else 1)
            self.report(other, self.chance.stream("other").randrange(20 * SECOND))

    def _lose(self, run: Run, why: str, started: bool = True) -> None:
        if run.over:
            return
        self._over(run)
        fault = self.chance.stream("fault").random() < 0.5
        self.causes["lost"] += 1
        self.report(Lost(run.attempt, started, why, machine_at_fault=fault))

    def _over(self, run: Run) -> None:
        run.over = True
        self.nodes[run.machine].runs.pop(run.attempt, None)
        self.watcher.ended(run)

    def stop(self, attempt: Attempt) -> None:
        """The engine was told to cancel it."""
        run = self.runs.get(attempt)
        if run is not None:
            run.asked_to_stop = True
        if run is None:
            self.refused.add(attempt)
            self.report(Lost(attempt, False, "it is not here"))
        elif run.over:
            return
        elif run.begun is None:
            self._over(run)
            self.refused.add(attempt)
            self.report(Lost(attempt, False, "it was cancelled before it began"))
        elif self.nodes[run.machine].cut_off:
            return  # it hears of it when it is back
        elif self.chance.hit(Fault.CANCEL_TOO_LATE):
            self._end(run, Cause.EXITED, 0)
        else:
            slow = 60 * SECOND if self.chance.hit(Fault.CANCEL_SLOW) else SECOND // 10
            self.at(self.now + slow, lambda: self._end(run, Cause.STOPPED, 15))
            self._perhaps_gone(run.machine)

    def _perhaps_gone(self, name: str) -> None:
        """Where nodes vanish at all, some do so while a task on them is told to stop: at any other
        moment that would hardly be met."""
        chance = self.chance
        if Fault.NODE_VANISHES not in chance.rates or chance.calm or chance.left <= 0:
            return
        draws = chance.stream("gone while stopping")
        if draws.random() < 0.4:
            self.happen(Fault.NODE_VANISHES, name, draws.randrange(SECOND, 50 * SECOND))

    def _perhaps_cut_off(self, name: str, seconds: float) -> None:
        """Where nodes are cut off at all, some are while a long task begins there, and are back
        before it ends: at any other moment hardly anything runs on to the return."""
        chance = self.chance
        if seconds < 3 or Fault.NODE_CUT_OFF not in chance.rates or chance.calm or chance.left <= 0:
            return
        draws = chance.stream("cut off while running")
        if draws.random() < 0.4:
            lasts = int(seconds * draws.uniform(0.3, 0.9) * SECOND)
            self.at(self.now + SECOND // 2, lambda: self.happen(Fault.NODE_CUT_OFF, name, lasts))

    # Reports

    def report(self, report: Report, delay: int | None = None) -> None:
        """It can be seen after the delay (None: as the seed says), until it is forgotten."""
        if delay is None:
            delay = 0
            if self.chance.hit(Fault.REPORT_LATE):
                delay = self.chance.stream("late").randrange(60 * SECOND)
        if report not in self.reports:
            self.reports[report] = self.now + delay
        self.said.append(report)
        self.said_of.setdefault(report.attempt, []).append(report)

    def of(self, attempt: Attempt) -> list[Report]:
        """All that was ever reported of an attempt."""
        return self.said_of.get(attempt, [])

    def visible(self) -> list[Report]:
        """What can be seen now, oldest first."""
        found: list[Report] = []
        for report, since in self.reports.items():
            run = self.runs.get(report.attempt)
            if since <= self.now and not (run and self.nodes[run.machine].silent):
                found.append(report)
        return found

    def old_ends(self) -> list[Report]:
        """Ends that were reported before, first those of tasks of which a later attempt is here."""
        ends = [each for each in self.said if not isinstance(each, Started)]
        here = {(attempt.job, attempt.task): attempt.number for attempt in self.runs}
        late = [
            each
            for each in ends
            if here.get((each.attempt.job, each.attempt.task), 0) > each.attempt.number
        ]
        return [*late, *ends]

    def forget(self, report: Report) -> None:
        """It was acknowledged. After its end, the attempt is forgotten."""
        self.reports.pop(report, None)
        if isinstance(report, Started):
            return
        run = self.runs.get(report.attempt)
        if run is not None and run.over:
            del self.runs[report.attempt]
            for other in [each for each in self.reports if each.attempt == report.attempt]:
                if self.reports[other] <= self.now:
                    del self.reports[other]

    def abandon(self, attempt: Attempt) -> None:
        """Stopped and never spoken of again: nobody expects it."""
        run = self.runs.pop(attempt)
        if not run.over:
            self._over(run)
        for report in [each for each in self.reports if each.attempt == attempt]:
            del self.reports[report]

    # Nodes

    def kill(self, name: str, reported: bool) -> None:
        """All on the node is over at once, and reported lost or not."""
        for run in list(self.nodes[name].runs.values()):
            if reported:
                self._lose(run, f"{name} died", started=run.begun is not None)
            else:
                self._over(run)
                self.causes["lost"] += 1
                self.at(self.now + 300 * SECOND, partial(self._found_dead, run))

    def _found_dead(self, run: Run) -> None:
        if self.runs.get(run.attempt) is run:
            self.report(Lost(run.attempt, run.begun is not None, f"{run.machine} died"))

    def happen(self, fault: Fault, name: str, lasts: int) -> None:
        """Something happens to a node, and ends after a while."""
        node = self.nodes.get(name)
        if fault is Fault.NODE_JOINS:
            if node is None:
                self.nodes[name] = SimNode(self.whole[name])
                self.chance.count(fault)
            return
        if node is None or not node.listed or node.health is not Health.READY:
            return  # one trouble at a time
        self.chance.count(fault)
        if self.trace.wanted:
            self.trace.say(f"   {name}: {fault.name}")
        node.well_since = None if fault in LONG else self.now
        if fault is Fault.NODE_RESTARTS:
            self.kill(name, reported=True)
        elif fault in (Fault.NODE_DIES, Fault.NODE_VANISHES):
            node.listed = False
            self.kill(name, reported=fault is Fault.NODE_DIES)
            self.at(self.now + lasts, lambda: self.heal(name))
        elif fault is Fault.NODE_CUT_OFF:
            node.listed = False
            node.silent = node.cut_off = True
            for run in node.runs.values():
                run.given_up = True
            self.at(self.now + lasts, lambda: self.heal(name))
        elif fault in (Fault.NODE_HANGS, Fault.NODE_HANGS_LONG):
            node.health = Health.TROUBLED
            node.silent = True
            self.at(self.now + lasts, lambda: self.heal(name))
        elif fault in (Fault.NODE_SHRINKS, Fault.NODE_GROWS):
            node.machine, node.changed = _scaled(self.whole[name], fault), self.now
            self.at(self.now + lasts, lambda: self.heal(name))

    def heal(self, name: str) -> None:
        """The node is as it should be."""
        node = self.nodes[name]
        if not node.listed and not (node.cut_off and self.chance.hit(Fault.NODE_RETURNS_BUSY)):
            # A node that was not listed runs nothing of before when it is listed again; one that
            # was only cut off may.
            self.kill(name, reported=True)
        for run in node.runs.values():
            if run.asked_to_stop:
                wait = self.chance.stream("stopped late").randrange(20 * SECOND)
                self.at(self.now + wait, partial(self._end, run, Cause.STOPPED, 15))
        node.cut_off = False
        node.listed, node.health, node.silent = True, Health.READY, False
        node.well_since = self.now
        if node.machine != self.whole[name]:
            node.machine, node.changed = self.whole[name], self.now
        if self.trace.wanted:
            self.trace.say(f"   {name} is well")

    def listed(self) -> list[Node]:
        """The nodes as the engine lists them."""
        return [
            Node(node.machine, node.health, "" if node.health is Health.READY else "it hangs")
            for _, node in sorted(self.nodes.items())
            if node.listed
        ]


def _scaled(machine: Machine, fault: Fault) -> Machine:
    """The machine with half, or double, of what it has; devices stay whole."""
    factor = SCALE_DOWN if fault is Fault.NODE_SHRINKS else 1 / SCALE_DOWN
    capacity = {
        name: Fraction(int(amount * factor)) if name == "gpu" else amount * factor
        for name, amount in machine.capacity.items()
    }
    return Machine(machine.name, capacity, dict(machine.labels))
