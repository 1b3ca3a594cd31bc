"""Journals that a service and a simulation wrote, to be read by others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import Event, TaskFinished, TenantChanged, TimePassed
from fairlead.scheduling.options import Options as CoreOptions
from fairlead.scheduling.state.ids import Unit
from fairlead.service.journal.codec import entry_of
from fairlead.service.journal.entry import Entry
from fairlead.service.journal.memory import Place
from fairlead.service.journal.places import open_store
from fairlead.service.records.book import Records
from fairlead.service.recovery.configuration import start_body
from fairlead.service.recovery.recover import Recovery
from fairlead.service.recovery.snapshots import take
from fairlead.service.requests import CancelJob, DrainMachine, PutTenant
from fairlead.service.settings import Settings
from fairlead.simulation.engine.options import Options
from fairlead.simulation.engine.run import simulate
from fairlead.simulation.measure.result import Result
from fairlead.simulation.measure.sinks import Kept
from fairlead.simulation.workloads.registry import generate
from tests.engines.world import Fate
from tests.service.fairness.at_once import AtOnce
from tests.service.loop.stage import ADMIN, SECOND, Stage, job
from tests.simulation.engine.test_replay import jobs_of, machine_events, that_jobs_can_write

GOOD, BAD = Fate(SECOND), Fate(SECOND // 2, code=3)


def lived(place: Place | None = None, snapshot_every: int = 0) -> list[Entry]:
    """What a service wrote that saw something of everything, and was restarted. `place`: where it
    keeps its journal, and a snapshot every so many entries."""
    machines = tuple(Machine(name, {"cpu": 4, "memory": 2**30}) for name in "abc")
    options = CoreOptions(preempt_after=2 * SECOND, reserve_after=SECOND)
    settings = Settings(placement="price-guided", options=options, snapshot_every=snapshot_every)
    fates = {"long": [Fate(None)], "bad": [BAD], "x": [GOOD]}
    stage = Stage(machines, settings, fates, AtOnce())
    if place is not None:
        stage.place = place
        stage.restart()
    for name, weight in (("ann", 1), ("bob", 3)):
        stage.step(PutTenant(ADMIN, Tenant(name, weight=weight)))
    stage.submit(job("long", 20, tenant="ann"))
    stage.settle(3)
    stage.submit(job("x", 30, tenant="bob"), job("bad", 3, tenant="bob", retries=1), key="once")
    stage.settle(6)
    stage.step(DrainMachine(ADMIN, "b"))
    stage.restart()
    stage.settle(3)
    stage.submit(Job("big", {"cpu": 4}, tasks=2, command="y", tenant="bob", duration="3s"))
    stage.settle(2)
    stage.step(DrainMachine(ADMIN, "b", back=True), CancelJob(ADMIN, "long"))
    stage.settle(10)
    return stage.entries()


def snapshot_of(entries: Sequence[Entry]) -> bytes:
    """The snapshot of what these entries, which end with a step, have led to."""
    recovery = Recovery(None, Records())
    for entry in entries:
        recovery.take(entry)
    recovery.finish()
    assert recovery.core is not None
    return take(recovery.core, recovery.records).encode()


def kept(entries: Sequence[Entry], path: Path) -> Path:
    """A journal of these entries in a file."""
    store = open_store(path)
    store.append(entries)
    store.close()
    return path


def simulated(spec: str, seed: int, policy: str) -> tuple[Result, list[Entry]]:
    """What a simulation found, and the journal of a service to which the same happened."""
    workload = that_jobs_can_write(generate(spec, seed))
    sink, options = Kept(), Options()
    result = simulate(workload, policy=policy, sinks=[sink], options=options)
    records = sink.tasks_kept
    units = [Unit(r.name, r.unit, r.piece) for r in workload.resources]
    chosen = options.of_core()
    settings = Settings(policy=policy, placement=result.placement, options=chosen)
    core = Core(units, policy, result.placement, chosen)
    instants: dict[int, list[Event]] = defaultdict(list)
    instants[0] = [TenantChanged(0, tenant) for tenant in workload.tenants]
    columns = (getattr(records, name).tolist() for name in ("job", "task", "end", "lost"))
    for number, task, ended, lost in zip(*columns, strict=True):
        if not lost:
            instants[ended].append(TaskFinished(ended, sink.names[number], task))
    for event in (*machine_events(workload), *jobs_of(workload)):
        instants[event.time].append(event)

    def written() -> Iterator[Entry]:
        seq, step = 1, 1
        yield Entry(1, 1, 0, "service_started", start_body(units, settings))
        while True:
            wake = core.wake()
            time = min([*instants, *([] if wake is None else [wake])], default=result.end + 1)
            if time > result.end:
                return
            told = instants.pop(time, None) or [TimePassed(time)]
            for event in told:
                core.apply(event)
            for said in (*told, *core.decide()):
                seq += 1
                yield entry_of(seq, step, time, said)
            step += 1

    return result, list(written())
