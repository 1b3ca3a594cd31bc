"""Whole workloads under the ideal schedulers, and how a run is compared with them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from fairlead.model.errors import InputError
from fairlead.model.tenant import Tenant
from fairlead.simulation.engine.run import simulate
from fairlead.simulation.ideal import records
from fairlead.simulation.ideal.compare import Allocations, Bin, apart, slowdowns
from fairlead.simulation.ideal.kinds import Kind
from fairlead.simulation.ideal.run import run_ideal
from fairlead.simulation.measure.moment import Moment
from fairlead.simulation.measure.sinks import JobRecords, Kept
from fairlead.simulation.workload import Ints, Workload
from fairlead.simulation.workloads.registry import generate
from tests.simulation.by_hand import SECOND, workload


def completed(given: Workload, kind: Kind, policy: str = "tsf") -> list[float]:
    """When each job was over, in seconds."""
    kept = Kept(tasks=False)
    run_ideal(given, kind, policy, sinks=[kept])
    times: list[float] = (kept.jobs_kept.completed / SECOND).tolist()
    return times


LATE = workload([[1], [1]], [(0, 2, [1], [10]), (1, 1, [1], [4])])


def test_what_may_be_done_decides_when_a_late_job_is_over() -> None:
    assert completed(LATE, Kind.RESTRICTED) == [10.0, 14.0]
    assert completed(LATE, Kind.MIGRATION) == [10.0, 14.0]
    # Paused at 1 s with 9 s left, the second task goes on at 5 s.
    assert completed(LATE, Kind.PREEMPTION) == [14.0, 5.0]


def test_a_task_that_moves_makes_room_without_losing_time() -> None:
    one = workload(
        [[1], [1]],
        [(0, 1, [1], [10]), (1, 1, [1], [4])],
        needs=[0, 1],
        labels=[{"ssd": "yes"}, {}],
    )
    assert completed(one, Kind.RESTRICTED) == [10.0, 14.0]
    assert completed(one, Kind.MIGRATION) == [10.0, 5.0]


def test_a_tenant_of_twice_the_weight_gets_twice_as_much() -> None:
    weighted = workload(
        [[1]] * 3,
        [(0, 4, [1], [1]), (0, 4, [1], [1])],
        tenants=(Tenant("a", weight=2), Tenant("b")),
        tenant=[0, 1],
    )
    assert completed(weighted, Kind.RESTRICTED) == [2.0, 3.0]


@pytest.mark.parametrize("kind", list(Kind))
def test_every_task_of_a_study_is_run_once_and_lies_on_a_machine(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere: list[Ints] = []
    monkeypatch.setattr(records, "_take_anywhere", lambda _free, amounts: elsewhere.append(amounts))
    study = generate("choosy-study(machines=40, jobs=25)", 1)
    kept = Kept(tasks=False, every=60 * SECOND)
    result = run_ideal(study, kind, sinks=[kept])
    assert result.placed == result.finished == result.tasks == study.tasks
    jobs = kept.jobs_kept
    assert (jobs.completed >= jobs.first_start).all()
    assert (jobs.first_start >= jobs.submitted).all()
    for moment in kept.samples:
        assert (moment.free >= 0).all()
        assert int(moment.held.sum()) == 40 - int(moment.free.sum())
    assert len(elsewhere) == len(kept.samples)
    assert not np.any(elsewhere)


@pytest.mark.parametrize("kind", [Kind.RESTRICTED, Kind.PERIODIC, Kind.PREEMPTION])
def test_tasks_that_differ_follow_the_exact_allocation(kind: Kind) -> None:
    kept = Kept(tasks=False, every=10 * SECOND)
    result = run_ideal(generate("table-ii", 0), kind, sinks=[kept])
    assert result.finished == result.tasks
    held = {moment.time // SECOND: moment.held.tolist() for moment in kept.samples}
    assert held[50] == [50, 50]  # shares 2/3 and 1/2
    assert held[120] == [75]
    assert all((moment.free >= 0).all() for moment in kept.samples)
    if kind is not Kind.RESTRICTED:
        # The optimum in whole tasks is 45, 23 and 17: 17/75 for whoever has less.
        assert min(held[200][1] / 100, held[200][2] / 75) >= 0.22


def test_migration_of_tasks_that_differ_is_refused() -> None:
    with pytest.raises(InputError, match="differ in size"):
        run_ideal(generate("table-ii", 0), Kind.MIGRATION)


def test_records_of_tasks_are_refused_where_tasks_move() -> None:
    with pytest.raises(InputError, match="no machine to tell of"):
        run_ideal(LATE, Kind.MIGRATION, sinks=[Kept(tasks=True)])


def test_the_same_workload_gives_the_same_digest() -> None:
    study = generate("choosy-study(machines=30, jobs=12)", 3)
    digests = {run_ideal(study, Kind.PREEMPTION).digest for _ in range(2)}
    assert len(digests) == 1


def test_two_runs_of_a_workload_are_compared_moment_by_moment() -> None:
    ours, ideal = Allocations(SECOND), Allocations(SECOND)
    run_ideal(LATE, Kind.RESTRICTED, sinks=[ours])
    run_ideal(LATE, Kind.PREEMPTION, sinks=[ideal])
    found = apart(ours, ideal)
    at = {time // SECOND: place for place, time in enumerate(found.time.tolist())}
    assert found.rmse[at[0]] == 0.0
    # At 2 s the restricted one has 2 and 0 of 2, the ideal 1 and 1.
    assert found.rmse[at[2]] == pytest.approx(50.0)
    assert found.rmse_sorted[at[2]] == pytest.approx(50.0)
    assert found.jobs[at[2]] == 2
    assert all(before < after for before, after in pairwise(found.time.tolist()))
    assert apart(ours, ours).mean == 0.0


class Counted(Allocations):
    """Counts how often it is told."""

    def __init__(self, until: int) -> None:
        super().__init__(SECOND, until)
        self.told = 0

    def sample(self, moment: Moment) -> None:
        self.told += 1
        super().sample(moment)


def test_who_has_seen_enough_is_told_no_more() -> None:
    online, ideal = Counted(2 * SECOND), Counted(2 * SECOND)
    simulate(LATE, sinks=[online])
    run_ideal(LATE, Kind.RESTRICTED, sinks=[ideal])
    for sink in (online, ideal):
        assert list(sink.at) == [0, SECOND, 2 * SECOND]
        assert sink.told == 4  # the last one told it that it was over


def test_times_are_compared_by_how_long_jobs_take_under_the_ideal() -> None:
    def records(times: list[int]) -> JobRecords:
        none = np.zeros(len(times), np.int64)
        return JobRecords(
            **dict.fromkeys(JobRecords.__dataclass_fields__, none)
            | {"number": np.arange(len(times)), "completed": np.array(times) * SECOND}
        )

    found = {each.bin: each for each in slowdowns(records([12, 30, 700]), records([10, 20, 700]))}
    assert found[Bin.UNDER_30].jobs == 2
    assert found[Bin.UNDER_30].mean == pytest.approx(1.35)
    assert found[Bin.UNDER_30].deviation == pytest.approx(0.15)
    assert found[Bin.LONGER].mean == 1.0
    assert found[Bin.UNDER_120].jobs == 0
