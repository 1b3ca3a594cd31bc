"""The example of `fairlead start` in simulated time: its cluster, and tenants that submit whenever
too little of theirs waits."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heappop, heappush
from random import Random
from statistics import mean

from benchmarks.cases import Measured
from fairlead.cli.commands.start import CLUSTER
from fairlead.cli.serving.example_work import ENOUGH, KINDS, PAUSE, Kind
from fairlead.model.job import Job
from fairlead.model.reading import read_parts
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Launch
from fairlead.scheduling.events import JobSubmitted, MachineJoined, TaskFinished, TenantChanged
from fairlead.scheduling.state.ids import Unit

SECOND = 1_000_000  # microseconds
UNITS = (Unit("cpu"), Unit("memory"), Unit("accelerator"))


@dataclass
class _Example:
    """The core, and who works in it."""

    core: Core
    random: Random
    kind: dict[str, Kind] = field(default_factory=dict)  # of a job
    came: dict[str, int] = field(default_factory=dict)
    lasts: dict[str, int] = field(default_factory=dict)
    waiting: Counter[str] = field(default_factory=Counter)  # tasks, by the name of their kind
    waits: dict[str, list[float]] = field(default_factory=dict)
    ends: list[tuple[int, int, str, int]] = field(default_factory=list)

    def launch(self, now: int) -> None:
        """What the core decides."""
        for each in self.core.decide():
            assert isinstance(each, Launch)
            kind = self.kind[each.job].name
            self.waiting[kind] -= 1
            self.waits.setdefault(kind, []).append((now - self.came[each.job]) / SECOND)
            count = sum(map(len, self.waits.values()))
            heappush(self.ends, (now + self.lasts[each.job], count, each.job, each.task))

    def submit(self, now: int) -> None:
        """A job of each kind of which too little waits."""
        for kind in KINDS:
            if self.waiting[kind.name] >= ENOUGH:
                continue
            name = f"{kind.name}-{len(self.kind)}"
            seconds = self.random.uniform(*kind.seconds)
            self.kind[name], self.came[name] = kind, now
            self.lasts[name] = round(seconds * SECOND)
            self.waiting[kind.name] += kind.tasks
            job = Job(name, kind.demand, tenant=kind.tenant, where=kind.where, tasks=kind.tasks)
            self.core.apply(JobSubmitted(now, job))

    def end_before(self, now: int) -> None:
        """Tasks end, and others take their places."""
        while self.ends and self.ends[0][0] <= now:
            time, _, job, task = heappop(self.ends)
            self.core.apply(TaskFinished(time, job, task))
            self.launch(time)


def example(rule: str, seed: int, repeat: int, minutes: int) -> Measured:
    """How long tasks of each kind wait, in seconds, and how many start in a minute: means over the
    seeds. Only one machine of five can run `pretrain`, three `train`, all `simulate`."""

    def run() -> dict[str, float]:
        found = [_waits(rule, each, minutes) for each in range(seed, seed + repeat)]
        measured: dict[str, float] = {}
        for kind in KINDS:
            waits = [each[kind.name] for each in found]
            measured[f"{kind.name}: wait s"] = mean(map(mean, waits))
            measured[f"{kind.name}: a minute"] = mean(len(each) / minutes for each in waits)
        return measured

    return run


def _waits(rule: str, seed: int, minutes: int) -> dict[str, list[float]]:
    cluster, _ = read_parts([(str(CLUSTER), CLUSTER.read_text(encoding="utf-8"))])
    core = Core(UNITS, placement=rule)
    for tenant in cluster.tenants:
        core.apply(TenantChanged(0, tenant))
    for machine in cluster.machines:
        core.apply(MachineJoined(0, machine))
    at_work = _Example(core, Random(seed))
    pause = int(Fraction(PAUSE) * SECOND)
    for now in range(0, 60 * minutes * SECOND, pause):
        at_work.end_before(now)
        at_work.submit(now)
        at_work.launch(now)
    return at_work.waits
