"""How the runs of a study are dealt out."""

from __future__ import annotations

import heapq
from dataclasses import replace

import pytest

from fairlead.simulation.engine.options import Options
from fairlead.simulation.ideal.kinds import Kind
from fairlead.simulation.studies.source import Source, source_of
from fairlead.simulation.studies.study import Study, parts_of
from fairlead.simulation.studies.workers import RUN_COSTS, WORKER_COSTS, is_little, run_study
from fairlead.simulation.workload import Workload

POLICIES = ("tsf", "drf", "fifo")
DRAWN = source_of(["overload(machines=2, jobs=2, each=2)"])
READ = Source(("a.csv",), generator=False)


def study(source: Source, seeds: int) -> Study:
    return Study(source, POLICIES, "best-fit", tuple(range(seeds)))


@pytest.mark.parametrize("source", [DRAWN, READ])
@pytest.mark.parametrize("seeds", [1, 2, 5])
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_each_run_is_in_one_part_and_no_worker_is_without(
    source: Source, seeds: int, workers: int
) -> None:
    parts = parts_of(study(source, seeds), workers)
    runs = [(part.seed, policy) for part in parts for policy in part.policies]
    assert runs == [(seed, policy) for seed in range(seeds) for policy in POLICIES]
    assert len(parts) >= min(workers, seeds * len(POLICIES))


def test_one_workload_is_made_for_all_policies_where_that_keeps_nobody_waiting() -> None:
    assert [len(part.policies) for part in parts_of(study(READ, 5), 2)] == [3] * 5
    assert [len(part.policies) for part in parts_of(study(DRAWN, 5), 1)] == [3] * 5
    assert [len(part.policies) for part in parts_of(study(DRAWN, 5), 2)] == [3] * 3 + [1] * 6


@pytest.mark.parametrize("seeds", [3, 4, 5, 6, 7])
@pytest.mark.parametrize("workers", [2, 3])
def test_workers_end_within_one_run_of_each_other(seeds: int, workers: int) -> None:
    busy = [0] * workers
    for part in parts_of(study(DRAWN, seeds), workers):
        heapq.heapreplace(busy, busy[0] + len(part.policies))
    assert max(busy) - min(busy) <= 1


def test_a_few_short_runs_are_left_to_one_process() -> None:
    usual = study(DRAWN, 1)
    assert is_little(usual, 2, 1350)
    assert is_little(usual, 1, WORKER_COSTS - RUN_COSTS)
    assert not is_little(usual, 1, WORKER_COSTS - RUN_COSTS + 1)
    assert not is_little(usual, WORKER_COSTS // RUN_COSTS, 1)
    assert not is_little(usual, 2, None)  # nobody counted them
    for slow in (
        replace(usual, ideal=Kind.RESTRICTED),
        replace(usual, distance=1),
        replace(usual, options=Options(check=True)),
    ):
        assert not is_little(slow, 2, 1350)


def test_a_workload_that_is_made_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large trace takes longer to read than to run; what a seed draws is drawn for each."""
    drawn = study(DRAWN, 2)
    made = DRAWN.workload(0)
    seeds = []

    def workload(_: Source, seed: int) -> Workload:
        seeds.append(seed)
        return made

    monkeypatch.setattr(Source, "workload", workload)
    assert len(run_study(drawn, 1, workload=made)) == 6
    assert seeds == [1]
    assert len(run_study(study(READ, 2), 1, workload=made)) == 6
    assert seeds == [1]
