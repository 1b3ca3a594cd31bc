"""Lives of the placing engine over the model of Slurm, with faults: one for each seed."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

from fairlead.engines.interface import Assignment, Attempt, Cause, Ended, EngineError, Lost, Started
from fairlead.engines.slurm.placing.placer import Placer
from fairlead.engines.slurm.placing.rounds import Allowance
from fairlead.model.values import FrozenMap
from tests.engines.slurm.model import SlurmModel

STEPS, QUIET = 100, 400
LIMIT = 1000

FAULTS = {
    "read": ("before",),
    "submit": ("before", "after", "killed", "late"),
    "cancel": ("before", "after", "killed", "lost"),
}
"""Where a command may fail: before Slurm has it, after, so that the service is killed then, so that
it comes there later, or so that slurmctld is killed right after it."""


class KilledError(BaseException):
    """The service is killed in the middle of what it does."""


class FoundError(BaseException):
    """Something is wrong in a life that was only to show that."""


class Faulty:
    """What lives over the model of Slurm share: where commands fail, what was met, what is wrong.
    `kinds`: how each command may fail. `whole`: whether it goes on after what is wrong."""

    def __init__(self, seed: int, kinds: Mapping[str, Sequence[str]], whole: bool) -> None:
        self.random, self._kinds, self._whole = random.Random(seed), kinds, whole
        self.model = SlurmModel(faulty=self._fault, killed=KilledError)
        self.faults = False
        self.problems: list[str] = []
        self.tally: dict[str, int] = {}

    def _fault(self, what: str) -> str | None:
        if not self.faults or self.random.random() > 0.06:
            return None
        fault = self.random.choice(self._kinds[what])
        self._note(f"{what} fails {fault}")
        return fault

    def _note(self, what: str) -> None:
        self.tally[what] = self.tally.get(what, 0) + 1

    def _mend(self) -> None:
        """Nothing fails from now on, and all nodes are there."""
        self.faults = False
        self.model.begin()
        for name in list(self.model.down):
            self.model.mend_node(name)

    def _check(self, good: bool, problem: str) -> None:
        if not good and problem not in self.problems:
            self.problems.append(problem)
            if not self._whole:
                raise FoundError


class Life(Faulty):
    """Somebody launches and cancels attempts, and believes what is reported. `problems`: where that
    was not so."""

    def __init__(self, seed: int, folder: Path, whole: bool) -> None:
        super().__init__(seed, FAULTS, whole)
        self.folder, self.owner = folder, 0
        self.expected: dict[Attempt, Assignment] = {}
        self.steady = seed % 3 == 0  # what one engine forgets to do, the next one often does
        self.cancelled: set[Attempt] = set()
        self.ends: dict[Attempt, Ended | Lost] = {}
        self.strangers: set[int] = set()
        self.before: dict[Attempt, int] = {}
        self.count = 0
        self.engine = self._open()
        self.faults = True

    def run(self) -> None:
        """All of it."""
        for _ in range(STEPS):
            self._happen()
            self._step()
        self._mend()
        self.cancelled |= self.expected.keys()
        self._step()
        self.engine.reconcile(list(self.expected.values()), self.owner)
        self.engine.cancel(list(self.expected))
        for _ in range(QUIET):
            if not self.expected:
                break
            self._step()
        for attempt in self.expected:
            self.problems.append(f"{attempt} has no end: {self.engine.poll()}")
        for _ in range(10):
            self._step()
        self.problems += [f"{each.attempt} runs" for each in self.model.processes.values()]
        self.engine.close()

    def _open(self) -> Placer:
        self.owner += 1
        return Placer(
            self.folder / "state", "fair", 1, self.model, lambda: Allowance(LIMIT),
            threaded=False, clock=self._clock,
        )  # fmt: skip

    def _clock(self) -> float:
        return self.model.now

    def _happen(self) -> None:
        model, draw = self.model, self.random.random()
        if draw < 0.15:
            model.save()
        elif draw < 0.22 and model.up:
            self._note("slurmctld is killed")
            model.kill()
        elif draw < 0.45 and not model.up:
            model.begin()
        elif draw < 0.49:
            self._note("a node fails")
            model.fail_node(self.random.choice(model.nodes))
        elif draw < 0.60:
            for name in list(model.down):
                model.mend_node(name)
        elif draw < 0.64 and model.mind.jobs:
            number = self.random.choice(sorted(model.mind.jobs))
            if number not in self.strangers:
                self._note("somebody cancels")
                self.faults = False
                model.by_hand(number)
                self.faults = True
        elif draw < 0.68 and model.up:
            self.strangers.add(model.stranger())

    def _step(self) -> None:
        """A step of the service, which may be killed in it."""
        try:
            with suppress(EngineError):
                self._ask()
            self.engine.go_round()
        except KilledError:
            self._note("the service is killed")
            self.engine.close()
            self._begin()
        if self.faults and not self.steady and self.random.random() < 0.04:
            self._note("the service begins anew")
            self.engine.close()
            self._begin()
        self.model.pass_time(self.random.choice([0.1, 1, 1, 5]))
        self._judge()

    def _begin(self) -> None:
        while True:
            try:
                self.engine = self._open()
            except EngineError:
                self.model.begin()
            else:
                return

    def _ask(self) -> None:
        try:
            reports = self.engine.poll()
        except EngineError:
            for attempt in self.engine.reconcile(list(self.expected.values()), self.owner):
                if attempt in self.cancelled:
                    self.engine.cancel([attempt])
                else:
                    self.engine.launch([self.expected[attempt]])
            self.engine.cancel([each for each in self.cancelled if each in self.expected])
            return
        for report in reports:
            if isinstance(report, Started):
                self._check(report.attempt in self.expected, f"{report} of nobody")
                self._check(str(report.attempt) in self.model.starts, f"{report} did not start")
        done = reports if self.random.random() < 0.7 else ()
        self.engine.acknowledge(done)
        for report in done:  # only now it is believed
            if not isinstance(report, Started):
                self._hear(report)
                self.expected.pop(report.attempt, None)
        if self.faults and len(self.expected) < 8 and self.random.random() < 0.6:
            self._launch()
        if self.faults and self.expected and self.random.random() < 0.1:
            attempt = self.random.choice(sorted(self.expected))
            self.cancelled.add(attempt)
            self.engine.cancel([attempt])

    def _launch(self) -> None:
        self.count += 1
        attempt = Attempt(self.count, 0, 1)
        self.before[attempt] = self.model.disasters
        self.expected[attempt] = Assignment(
            attempt,
            self.random.choice(self.model.nodes),
            "job",
            "tenant",
            FrozenMap({"cpu": Fraction(1)}),
            (
                "last",
                str(self.random.choice([*range(40), *[10**6] * 10])),
                str(self.random.choice([0, 0, 3])),
            ),
        )
        self.engine.launch([self.expected[attempt]])

    def _hear(self, end: Ended | Lost) -> None:
        """An end, which is believed from now on."""
        attempt, name = end.attempt, str(end.attempt)
        before = self.ends.setdefault(attempt, end)
        self._check(type(before) is type(end), f"{before} became {end}")
        running = [each.number for each in self.model.processes.values() if each.attempt == name]
        self._check(not running, f"{end}, and it runs")
        started = name in self.model.starts
        if isinstance(end, Lost):
            self._check(end.started or not started, f"{end}, and it had started")
            spared = self.model.disasters == self.before[attempt]
            self._check(not (end.started and spared), f"{end}, and nothing had happened")
        elif end.cause is Cause.EXITED:
            self._check(self.model.ended.get(name) == end.code, f"{end} is not how it ended")
        elif end.cause is Cause.STOPPED:
            self._check(attempt in self.cancelled, f"{end}, and nobody wanted that")

    def _judge(self) -> None:
        for name, count in self.model.starts.items():
            self._check(count == 1, f"{name} started {count} times")
        running = {each.attempt for each in self.model.processes.values()}
        for attempt, end in self.ends.items():
            self._check(str(attempt) not in running, f"{end}, and it runs later")
            if isinstance(end, Lost) and not end.started:
                self._check(str(attempt) not in self.model.starts, f"{end}, and it started later")
        for number in self.strangers:
            job = self.model.mind.jobs.get(number)
            gone = job is not None and not job.comment and job.state == "CANCELLED"
            self._check(not gone, f"job {number} of somebody else was cancelled")


def live(seed: int, whole: bool = True) -> tuple[list[str], dict[str, int]]:
    """The problems of the life with this seed, or the first one, and what happened in it."""
    with tempfile.TemporaryDirectory(prefix="fairlead-lives-") as folder:
        life = Life(seed, Path(folder), whole)
        with suppress(FoundError):
            life.run()
        return life.problems, life.tally


def lived(
    live: Callable[[int], tuple[list[str], dict[str, int]]], seeds: Iterable[int]
) -> Counter[str]:
    """What these lives met, in which nothing was wrong."""
    met: Counter[str] = Counter()
    for seed in seeds:
        problems, tally = live(seed)
        assert problems == [], f"seed {seed}"
        met.update(tally)
    return met
