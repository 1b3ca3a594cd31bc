"""What is simulated is what is deployed: the events of a run, told to the core one at a time, give
the same decisions and the same digest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from fairlead.model.constraint import Requirement, Selector
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Decision, Launch, Stop
from fairlead.scheduling.events import (
    AdviceChanged,
    Event,
    GuaranteesChanged,
    JobSubmitted,
    MachineChanged,
    MachineJoined,
    MachineLeft,
    TaskFinished,
    TaskStopped,
    TenantChanged,
    TimePassed,
)
from fairlead.scheduling.placement.registry import DEFAULT
from fairlead.scheduling.state.ids import Unit
from fairlead.scheduling.state.terms import Listed, NotListed, Term
from fairlead.simulation.engine.options import Options
from fairlead.simulation.engine.run import simulate
from fairlead.simulation.measure.sinks import Kept
from fairlead.simulation.workload import JobBatch, MachineEvent, Workload
from fairlead.simulation.workloads.registry import generate

SECOND = 1_000_000
FEW = "random(jobs=25, machines=3)"

Placed = tuple[int, str, int, str, int]
"""Time, job, task, machine, attempt."""


def machine_events(workload: Workload) -> Iterator[Event]:
    """The workload's machine events, by names."""
    table = workload.machines
    for row in range(len(table.time)):
        time, which = int(table.time[row]), int(table.machine[row])
        name = table.names[which]
        capacity = {
            resource.name: int(count) * resource.unit
            for resource, count in zip(workload.resources, table.capacity[row], strict=True)
        }
        machine = Machine(name, capacity, labels=dict(table.labels[which]))
        kind = MachineEvent(int(table.kind[row]))
        if kind == MachineEvent.REMOVE:
            yield MachineLeft(time, name)
        else:
            yield (MachineJoined if kind == MachineEvent.ADD else MachineChanged)(time, machine)


def parts(terms: list[Term]) -> dict[str, Any]:
    """A job's constraint from the terms that it needs."""
    found: dict[str, Any] = {}
    where = tuple(term for term in terms if isinstance(term, Requirement))
    if where:
        found["where"] = Selector(where)
    for term in terms:
        if isinstance(term, Listed):
            assert "machines" not in found  # the generator gives one list to a job
            found["machines"] = sorted(term.machines)
        elif isinstance(term, NotListed):
            assert "exclude" not in found
            found["exclude"] = sorted(term.machines)
    return found


def chosen(words: object, terms: tuple[Term, ...]) -> list[Term]:
    """The terms whose bits are set."""
    bits = int.from_bytes(words.astype("<u8").tobytes(), "little")  # type: ignore[attr-defined]
    return [term for place, term in enumerate(terms) if bits >> place & 1]


def that_jobs_can_write(workload: Workload) -> Workload:
    """The workload without preferences for lists of machines, which a job cannot express."""

    def batches() -> Iterator[JobBatch]:
        terms = workload.terms
        for batch in workload.batches():
            terms += batch.terms
            prefers = batch.prefers
            if prefers is not None:
                prefers = prefers.copy()
                for row in prefers:
                    if not all(isinstance(term, Requirement) for term in chosen(row, terms)):
                        row[:] = 0
            yield replace(batch, prefers=prefers)

    return replace(workload, batches=batches)


def jobs_of(workload: Workload) -> Iterator[JobSubmitted]:
    """The workload's submissions, by names."""
    number, terms = 0, workload.terms
    for batch in workload.batches():
        terms += batch.terms
        for i in range(len(batch)):
            yield JobSubmitted(int(batch.submit[i]), job_of(workload, batch, i, number, terms))
            number += 1


def job_of(
    workload: Workload, batch: JobBatch, i: int, number: int, terms: tuple[Term, ...]
) -> Job:
    """One job of a batch."""
    tenant = int(batch.tenant[i])
    prefer = [] if batch.prefers is None else chosen(batch.prefers[i], terms)
    patience = 0 if batch.patience is None else int(batch.patience[i])
    expected = 0 if batch.expected is None else int(batch.expected[i])
    soft: dict[str, Any] = (
        {
            "prefer": Selector(tuple(t for t in prefer if isinstance(t, Requirement))),
            "prefer_for": Fraction(patience, 10**6),
        }
        if prefer and patience
        else {}
    )
    return Job(
        batch.names[i] if batch.names is not None else str(number),
        demand={
            resource.name: int(count) * resource.unit
            for resource, count in zip(workload.resources, batch.demand[i], strict=True)
            if count
        },
        tasks=int(batch.tasks[i]),
        tenant=None if tenant < 0 else workload.tenants[tenant].name,
        spread=bool(batch.spread[i]),
        gang=int(batch.gang[i]),
        duration=Fraction(expected, 10**6) if expected else None,
        **soft,
        **parts(chosen(batch.needs[i], terms)),
    )


def replayed(
    workload: Workload,
    policy: str,
    options: Options,
    placement: str,
    sink: Told,
    end: int,
) -> tuple[list[Placed], str]:
    """The decisions and the digest of the core that is told the run's events, one at a time."""
    records, names = sink.tasks_kept, sink.names
    core = Core(
        [Unit(r.name, r.unit, r.piece) for r in workload.resources],
        policy,
        placement,
        options.of_core(),
    )  # not checked: that takes most of the time, and whole worlds are checked elsewhere
    holders = core.book.holders(workload.terms)
    for term in workload.terms:  # as the run numbers them
        core.book.bits([term], holders)
    for tenant in workload.tenants:
        core.apply(TenantChanged(0, tenant))
    instants: dict[int, list[Event]] = defaultdict(list)
    for job, task, ended, lost in zip(
        *(getattr(records, name).tolist() for name in ("job", "task", "end", "lost")), strict=True
    ):
        if not lost:
            instants[ended].append(TaskFinished(ended, names[job], task))
    for event in (*machine_events(workload), *jobs_of(workload), *sink.events):
        instants[event.time].append(event)
    placed: list[Placed] = []
    while True:
        wake = core.wake()
        time = min([*instants, *([] if wake is None else [wake])], default=end + 1)
        if time > end:  # what comes after the run's end: machines, when all jobs are over
            break
        for event in instants.pop(time, [TimePassed(time)]):
            core.apply(event)
        decided = core.decide()
        while stops := [said for said in decided if isinstance(said, Stop)]:
            placed += launches(time, decided)
            for stop in stops:
                core.apply(TaskStopped(time, stop.job, stop.task))
            decided = core.decide()
        placed += launches(time, decided)
    return placed, core.digest()


def launches(time: int, decided: list[Decision]) -> list[Placed]:
    """What was launched."""
    return [
        (time, said.job, said.task, said.machine, said.attempt)
        for said in decided
        if isinstance(said, Launch)
    ]


class Told(Kept):
    """Keeps what the core was told of the exact allocation, too."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[AdviceChanged | GuaranteesChanged] = []

    def event(self, event: AdviceChanged | GuaranteesChanged) -> None:
        self.events.append(event)


POLICIES = ("tsf", "drf", "fifo")
CASES = [
    *((policy, "random(jobs=25)", Options(), DEFAULT) for policy in POLICIES),
    *(
        (policy, FEW, Options(reserve_after=3 * SECOND, reserve_for=SECOND, whole=False), DEFAULT)
        for policy in POLICIES
    ),
    ("slots(cpu=1)", "random(jobs=25)", Options(), DEFAULT),
    *((policy, "random(jobs=25, pools=true)", Options(), DEFAULT) for policy in ("tsf", "drf")),
    ("tsf", "random(jobs=25)", Options(), "price-guided"),
    ("drfh", FEW, Options(advise=10 * SECOND), "price-guided"),
    ("tsf", FEW, Options(preempt_after=2 * SECOND), DEFAULT),
    ("drfh", "random(jobs=25)", Options(preempt_after=5 * SECOND, advise=3 * SECOND), DEFAULT),
    ("tsf", "random(jobs=25, pools=true)", Options(preempt_after=2 * SECOND), "price-guided"),
]


@pytest.mark.parametrize(("policy", "spec", "options", "placement"), CASES)
def test_one_event_at_a_time_gives_the_same(
    policy: str, spec: str, options: Options, placement: str, cases: int
) -> None:
    for seed in range(cases):
        workload = that_jobs_can_write(generate(spec, seed))
        sink = Told()
        result = simulate(
            workload, policy=policy, placement=placement, sinks=[sink], options=options
        )
        records = sink.tasks_kept
        placed, digest = replayed(workload, policy, options, placement, sink, result.end)
        columns = zip(
            *(getattr(records, n).tolist() for n in ("start", "job", "task", "machine", "attempt")),
            strict=True,
        )
        simulated = {
            (start, sink.names[job], task, workload.machines.names[machine], attempt)
            for start, job, task, machine, attempt in columns
        }
        # Those that still ran at the end have no record.
        assert simulated <= set(placed)
        assert len(placed) == result.launches
        assert digest == result.digest
