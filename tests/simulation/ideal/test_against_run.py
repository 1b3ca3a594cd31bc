"""The online core beside the restricted ideal scheduler on Choosy's own kind of workload."""

from __future__ import annotations

from fairlead.simulation.ideal.compare import Allocations, apart, slowdowns
from fairlead.simulation.ideal.kinds import Kind
from fairlead.simulation.ideal.run import run_ideal
from fairlead.simulation.run import simulate
from fairlead.simulation.sinks import Kept
from fairlead.simulation.workloads.registry import generate

PUBLISHED = 0.09
"""Percent: Choosy's mean RMSE against its restricted offline scheduler (section 7.1)."""

SECOND = 1_000_000


def test_the_core_is_as_close_to_the_restricted_ideal_as_choosy() -> None:
    study = generate("choosy-study(machines=60, jobs=60)", 2)
    ours, ideal = Allocations(10 * SECOND), Allocations(10 * SECOND)
    my_jobs, its_jobs = Kept(tasks=False), Kept(tasks=False)
    simulate(study, policy="cmmf:slot", placement="first-fit", sinks=[ours, my_jobs])
    run_ideal(study, Kind.RESTRICTED, "cmmf:slot", sinks=[ideal, its_jobs])
    found = apart(ours, ideal)
    assert len(found.time) > 100
    assert int(found.jobs.max()) > 10
    assert found.mean_sorted < PUBLISHED
    times = [each for each in slowdowns(my_jobs.jobs_kept, its_jobs.jobs_kept) if each.jobs]
    assert sum(each.jobs for each in times) == 60
    assert all(abs(each.mean - 1.0) < 0.02 for each in times)


def test_preemption_is_further_away_than_what_may_not_preempt() -> None:
    study = generate("choosy-study(machines=60, jobs=60)", 2)
    ours = Allocations(10 * SECOND)
    simulate(study, policy="cmmf:slot", placement="first-fit", sinks=[ours])
    far = []
    for kind in (Kind.RESTRICTED, Kind.PREEMPTION):
        ideal = Allocations(10 * SECOND)
        run_ideal(study, kind, "cmmf:slot", sinks=[ideal])
        far.append(apart(ours, ideal).mean)
    assert far[0] < far[1]
