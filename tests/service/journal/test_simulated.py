"""The live loop, over a journal and an engine, decides at every moment as the simulator does, and
its journal replays to the simulation's digest."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence

import pytest

from fairlead.engines.interface import Assignment, Report, Started
from fairlead.model.job import Job
from fairlead.scheduling.events import MachineJoined, TenantChanged
from fairlead.scheduling.options import Options as CoreOptions
from fairlead.scheduling.state.ids import Unit
from fairlead.service.journal.codec import entry_of
from fairlead.service.journal.entry import Entry
from fairlead.service.journal.memory import MemoryStore, Place
from fairlead.service.loop.loop import Service
from fairlead.service.recovery.configuration import start_body
from fairlead.service.recovery.replay import replay
from fairlead.service.requests import Caller, Done, SubmitJobs
from fairlead.service.settings import Settings
from fairlead.simulation.engine.options import Options
from fairlead.simulation.engine.run import simulate
from fairlead.simulation.measure.sinks import Kept
from fairlead.simulation.workloads.registry import generate
from tests.engines.fake import Call, FakeEngine
from tests.engines.world import Fate, World
from tests.simulation.engine.test_replay import jobs_of, machine_events, that_jobs_can_write

Placed = tuple[int, str, int, str]
"""Time, job, task, machine."""


@dataclasses.dataclass
class Clock:
    """The time, and how long each task lasts (one that never ended: until it is stopped)."""

    lasted: dict[tuple[str, int], int]
    now: int = 0

    def time(self) -> int:
        return self.now

    def fate(self, assignment: Assignment) -> Fate:
        return Fate(self.lasted.get((assignment.name, assignment.attempt.task)))


class EndsOnly:
    """Reports of starts never come through: a simulation has none."""

    def doing(self, call: Call, size: int) -> int | None:  # noqa: ARG002  no call fails
        return None

    def reports(self, reports: Sequence[Report]) -> Sequence[Report]:
        return [report for report in reports if not isinstance(report, Started)]


def with_a_command(job: Job) -> Job:
    values = {field.name: getattr(job, field.name) for field in dataclasses.fields(job)}
    return Job(**(values | {"command": "x"}))


@pytest.mark.parametrize("policy", ["tsf", "drf", "fifo"])
def test_the_service_launches_when_and_where_the_simulator_does(policy: str, cases: int) -> None:
    for seed in range(3 * cases):
        workload = that_jobs_can_write(generate("random(jobs=25, churn=false)", seed))
        sink, options = Kept(), Options()
        result = simulate(workload, policy=policy, sinks=[sink], options=options)
        records = sink.tasks_kept
        columns = zip(
            *(getattr(records, n).tolist() for n in ("start", "end", "job", "task", "machine")),
            strict=True,
        )
        lasted: dict[tuple[str, int], int] = {}
        simulated: set[Placed] = set()
        for begin, end, number, task, machine in columns:
            name = sink.names[number]
            lasted[name, task] = end - begin
            simulated.add((begin, name, task, workload.machines.names[machine]))

        # The same live: machines and durations of the workload, a journal, and a clock by hand.
        clock = Clock(lasted)

        joined = [e.machine for e in machine_events(workload) if isinstance(e, MachineJoined)]
        settings = Settings(
            policy=policy,
            placement=result.placement,
            options=CoreOptions(reserve_after=options.reserve_after, whole=options.whole),
            tenants=workload.tenants,
            resources=tuple(r.name for r in workload.resources),
            devices=tuple(r.name for r in workload.resources if r.piece),
            node_interval=10**15,
        )
        store = MemoryStore(Place())
        units = [Unit(r.name, r.unit, r.piece) for r in workload.resources]
        # Told in the workload's order, as the simulator tells them.
        told = [TenantChanged(0, tenant) for tenant in workload.tenants]
        start = Entry(1, 1, 0, "service_started", start_body(units, settings))
        store.append([start, *(entry_of(2 + i, 1, 0, each) for i, each in enumerate(told))])
        world = World(joined, clock.time, clock.fate)
        service = Service(store, FakeEngine(world, EndsOnly()), settings)
        arrivals: dict[int, list[Job]] = defaultdict(list)
        for event in jobs_of(workload):
            arrivals[event.time].append(with_a_command(event.job))
        while clock.now <= result.end:
            jobs = tuple(arrivals.pop(clock.now, ()))
            requests = [SubmitJobs(Caller(), jobs)] if jobs else []
            assert all(isinstance(reply, Done) for reply in service.step(clock.now, requests))
            world.advance()  # what was launched starts now
            moments = [*arrivals, *filter(None, (world.wake(), service.wake()))]
            later = [each for each in moments if each > clock.now]
            clock.now = min(later, default=result.end + 1)

        entries = list(store.read())
        placed = [
            (entry.time, entry.body["job"], entry.body["task"], entry.body["machine"])
            for entry in entries
            if entry.kind == "launch"
        ]
        assert simulated <= set(placed)  # those that still ran at the end have no record
        assert len(placed) == result.launches
        assert service.core is not None
        assert service.core.digest() == result.digest
        assert replay(entries).digest == result.digest
