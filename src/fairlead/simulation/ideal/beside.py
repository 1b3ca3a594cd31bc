"""The online core and ideal schedulers on one workload, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.simulation.engine.run import simulate
from fairlead.simulation.ideal.compare import Allocations, Apart, Slowdown, apart, slowdowns
from fairlead.simulation.ideal.kinds import Kind
from fairlead.simulation.ideal.run import run_ideal
from fairlead.simulation.measure.result import Result
from fairlead.simulation.measure.sinks import Kept
from fairlead.simulation.workload import Workload


@dataclass(frozen=True)
class Beside:
    """The core beside one ideal scheduler: allocations over time, and times of jobs."""

    kind: Kind
    ties: int | None
    ideal: Result
    apart: Apart
    slowdowns: tuple[Slowdown, ...]


def beside(
    workload: Workload,
    ideals: Sequence[tuple[Kind, int | None]],
    *,
    policy: str = "tsf",
    placement: str | None = None,
    every: int = 10_000_000,
    until: int | None = None,
) -> tuple[Result, tuple[Beside, ...]]:
    """The core's run, and how far it is from each ideal scheduler (its kind, and the seed of its
    ties or None). Allocations are compared each `every` microseconds up to `until`."""
    ours, jobs = Allocations(every, until), Kept(tasks=False)
    result = simulate(workload, policy=policy, placement=placement, sinks=[ours, jobs])
    found = []
    for kind, ties in ideals:
        theirs, its_jobs = Allocations(every, until), Kept(tasks=False)
        ideal = run_ideal(workload, kind, policy, sinks=[theirs, its_jobs], ties=ties)
        found.append(
            Beside(
                kind=kind,
                ties=ties,
                ideal=ideal,
                apart=apart(ours, theirs),
                slowdowns=slowdowns(jobs.jobs_kept, its_jobs.jobs_kept),
            )
        )
    return result, tuple(found)
