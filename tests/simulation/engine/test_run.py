"""Runs by hand, and what holds of every run: tasks are conserved, seeds decide."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from fairlead.model.errors import InputError
from fairlead.simulation.engine.failures import Failures, read_failures
from fairlead.simulation.engine.options import Options
from fairlead.simulation.engine.run import simulate
from fairlead.simulation.measure.result import Result
from fairlead.simulation.measure.sinks import NEVER, JobRecords, Kept, TaskRecords
from fairlead.simulation.workload import Workload
from fairlead.simulation.workloads.registry import generate

SECOND = 1_000_000


def kept(workload: Workload, **given: object) -> tuple[Result, Kept]:
    """A run, checked all the way, with all its records."""
    options = given.pop("options", Options())
    assert isinstance(options, Options)
    sink = Kept(every=int(str(given.pop("every", SECOND))))
    result = simulate(
        workload,
        sinks=[sink],
        options=replace(options, check=True),
        **given,  # type: ignore[arg-type]  # the words of simulate()
    )
    return result, sink


def held(sink: Kept, start: int, stop: int) -> list[dict[str, int]]:
    """The tasks that each job holds at each sample between two moments, in seconds."""
    return [
        {
            sink.names[number]: count
            for number, count in zip(moment.job.tolist(), moment.held.tolist(), strict=True)
        }
        for moment in sink.samples
        if start * SECOND <= moment.time <= stop * SECOND
    ]


def test_kdf_6_3_starts_159_tasks_and_has_318_and_3_done_after_a_minute() -> None:
    _, sink = kept(generate("kdf-6.3", 0), policy="kdf(k=2)")
    tasks = sink.tasks_kept
    at_once = Counter(tasks.job[tasks.start == 0].tolist())
    assert at_once == {0: 159}
    at_40 = Counter(tasks.job[tasks.start == 40 * SECOND].tolist())
    assert at_40 == {1: 3}
    assert Counter(tasks.job[tasks.start == 50 * SECOND].tolist()) == {}
    done = Counter(tasks.job[tasks.end <= 60 * SECOND].tolist())
    assert done == {0: 318, 1: 3}
    # On the largest servers: only there a whole CPU is left beside job 1.
    assert {int(m) for m in tasks.machine[tasks.start == 40 * SECOND]} == {47, 48, 49}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_tsf_table_ii_goes_through_its_phases(seed: int) -> None:
    _, sink = kept(generate("table-ii", seed), policy="tsf", every=5 * SECOND)
    for now in held(sink, 40, 65):
        assert (now["job-1"], now["job-2"]) == (50, 50)  # 2/3 of 75 and 1/2 of 100
    for now in held(sink, 115, 149):
        assert now == {"job-1": 75}
    last = held(sink, 190, 235)
    assert {now["job-1"] for now in last} == {45}  # 3/5
    for job, alone in (("job-3", 100), ("job-4", 75)):
        mean = np.mean([now[job] / alone for now in last])
        assert 0.17 <= mean <= 17 / 75 + 1e-9


SPECS = [
    ("random(jobs=30)", Options()),
    ("random(jobs=30, machines=3)", Options(reserve_after=5 * SECOND)),
    ("random(jobs=25)", Options(failures=Failures(20 * SECOND, 5 * SECOND))),
    ("random(jobs=25, churn=false)", Options(evictions=60 * SECOND, whole=False)),
    ("random(jobs=25, gangs=false, tenants=false)", Options(until=40 * SECOND)),
]


@pytest.mark.parametrize(("spec", "options"), SPECS)
def test_every_task_ends_once_and_is_where_it_may_be(
    spec: str, options: Options, cases: int
) -> None:
    for seed in range(cases):
        workload = generate(spec, seed)
        result, sink = kept(workload, seed=seed, options=options, every=10 * SECOND)
        conserved(workload, result, sink.jobs_kept, sink.tasks_kept)


def conserved(workload: Workload, result: Result, jobs: JobRecords, tasks: TaskRecords) -> None:
    """All counts of a run agree with each other and with its workload."""
    total = {}
    durations = {}
    number = 0
    for batch in workload.batches():
        for i in range(len(batch)):
            total[number] = int(batch.tasks[i])
            durations[number] = batch.durations[batch.first[i] : batch.first[i + 1]]
            number += 1
    assert jobs.number.tolist() == [n for n in range(number) if n in set(jobs.number.tolist())]
    assert result.jobs == len(jobs)
    assert result.tasks == sum(total[n] for n in jobs.number.tolist())
    ended = [
        (job, task)
        for job, task, lost in zip(
            tasks.job.tolist(), tasks.task.tolist(), tasks.lost.tolist(), strict=True
        )
        if not lost
    ]
    assert len(set(ended)) == len(ended) == result.finished == int(jobs.finished.sum())
    assert int(tasks.lost.sum()) == result.lost
    assert result.finished <= result.placed <= result.tasks
    done = jobs.completed != NEVER
    assert (jobs.finished[done] == jobs.tasks[done]).all()
    assert (jobs.finished[~done] < jobs.tasks[~done]).all()
    attempts: Counter[tuple[int, int]] = Counter()
    for job, task, attempt, start, end, lost in zip(
        *(getattr(tasks, name).tolist() for name in ("job", "task", "attempt", "start", "end")),
        tasks.lost.tolist(),
        strict=True,
    ):
        attempts[job, task] += 1
        assert attempts[job, task] == attempt
        assert task < total[job]
        takes = durations[job][task if len(durations[job]) > 1 else 0]
        assert end - start == takes if not lost else end - start <= takes
    assert (tasks.waiting_since <= tasks.start).all()


def test_the_seed_decides_what_fails_and_nothing_else_does() -> None:
    workload = generate("tsf-study(machines=20, jobs=20, tasks=200)", 3)
    options = Options(failures=Failures(24 * 3600 * SECOND, 600 * SECOND))
    results = [
        simulate(workload, seed=seed, options=options, sinks=sinks)
        for seed, sinks in ((1, []), (1, [Kept(every=60 * SECOND)]), (2, []))
    ]
    assert results[0].lost > 0
    assert replace(results[0], seconds=0.0) == replace(results[1], seconds=0.0)
    assert results[0].digest != results[2].digest


def test_what_waits_for_ever_ends_the_run_and_is_told() -> None:
    workload = generate("table-ii", 0)
    machines = replace(workload.machines, capacity=np.minimum(workload.machines.capacity, 1))
    result, sink = kept(replace(workload, machines=machines))
    # Half a CPU a node: jobs 2 and 3 fit, jobs 1 and 4 never do.
    assert sink.jobs_kept.finished.tolist() == [0, 150, 100, 0]
    assert (result.tasks, result.placed) == (1350, 250)
    assert sink.jobs_kept.first_start.tolist()[0] == NEVER


def test_a_workload_without_jobs_ends_at_once() -> None:
    workload = replace(generate("table-ii", 0), batches=lambda: iter(()))
    assert simulate(workload).tasks == 0


@pytest.mark.parametrize("text", ["mtbf=1h", "mtbf=1h,repair=0s", "mtbf=x,repair=1s", "1h", ""])
def test_failures_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="mtbf=240h,repair=1h"):
        read_failures(text)


def test_failures_are_read() -> None:
    assert read_failures("repair=90s, mtbf=1.5h") == Failures(5400 * SECOND, 90 * SECOND)
