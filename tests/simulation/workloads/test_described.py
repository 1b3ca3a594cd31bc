"""A cluster and jobs in YAML as a workload: arrivals, durations, defaults, refusals with places."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from fairlead.cli.main import Exit, main
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.times import Shape, Times
from fairlead.simulation.engine.run import simulate
from fairlead.simulation.ideal.kinds import Kind
from fairlead.simulation.ideal.run import run_ideal
from fairlead.simulation.measure.sinks import Kept
from fairlead.simulation.workload import JobBatch, Workload
from fairlead.simulation.workloads.described import draw_times, is_described, read_described

SECOND = 1_000_000

CLUSTER = """\
machines:
  - {name: "c[1-2]", capacity: {cpu: 4, memory: 8GiB, disk: 1TiB}}
  - {name: g1, capacity: {cpu: 4, memory: 8GiB, gpu: 2}, labels: {zone: east}}
devices: [gpu]
tenants:
  - {name: vision, weight: 2, limit: {cpu: 6}}
  - {name: ops}
"""

JOBS = """\
jobs:
  - name: train
    tenant: vision
    demand: {cpu: 0.5, gpu: 0.5, memory: 1GiB}
    tasks: 3
    where: zone = east
    duration: {median: 10m, p90: 1h}
  - {name: batch, tenant: ops, demand: {cpu: 1}, tasks: 4, arrive: 90s, duration: 30s}
  - {name: tick, demand: {cpu: 0.25}, tasks: 2, duration: 1s, arrive: 1m, every: 1m, repeat: 3}
"""


def workload(folder: Path, jobs: str, seed: int = 0, **options: str) -> Workload:
    (folder / "cluster.yaml").write_text(CLUSTER)
    (folder / "jobs.yaml").write_text(jobs)
    words = [str(folder / "cluster.yaml"), str(folder / "jobs.yaml")]
    return read_described(words, options, seed)


def only_batch(found: Workload) -> JobBatch:
    (batch,) = found.batches()
    return batch


def test_jobs_come_when_they_say(tmp_path: Path) -> None:
    found = workload(tmp_path, JOBS)
    batch = only_batch(found)
    assert batch.names == ("train", "tick.1", "batch", "tick.2", "tick.3")
    assert (batch.submit // SECOND).tolist() == [0, 60, 90, 120, 180]
    assert batch.tenant.tolist() == [0, -1, 1, -1, -1]
    assert (found.jobs, found.tasks) == (5, 13)
    assert (np.diff(batch.first)).tolist() == [3, 1, 1, 1, 1]
    assert found.notes == (
        "1 job without arrive: there from the start",
        "times of 1 job are drawn (seed 0)",
    )


def test_amounts_are_exact_in_units_that_fit_all(tmp_path: Path) -> None:
    found = workload(tmp_path, JOBS)
    units = {resource.name: resource.unit for resource in found.resources}
    assert units == {"cpu": Fraction(1, 4), "gpu": Fraction(1, 2), "memory": Fraction(2**30)}
    assert {r.name: r.piece for r in found.resources} == {"cpu": 0, "gpu": 2, "memory": 0}
    assert found.machines.capacity[2].tolist() == [16, 4, 8]


def test_it_runs_to_its_end_and_as_the_seed_says(tmp_path: Path) -> None:
    sink = Kept()
    result = simulate(workload(tmp_path, JOBS), sinks=[sink])
    assert result.finished == 13
    assert set(sink.names.values()) == {"train", "batch", "tick.1", "tick.2", "tick.3"}
    assert simulate(workload(tmp_path, JOBS)).digest == result.digest
    assert simulate(workload(tmp_path, JOBS, seed=1)).digest != result.digest


def test_what_jobs_lack_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        workload(
            tmp_path,
            "jobs:\n  - {name: a, demand: {cpu: 1}}\n  - {name: b, demand: {gpu: 1.5}, tasks: 1}\n",
        )
    said = [str(mistake) for mistake in refused.value.mistakes]
    file = tmp_path / "jobs.yaml"
    assert said[0].startswith(f'{file}:2:5: job "a": it has no tasks')
    assert "--set tasks=100" in said[0]
    assert said[1].startswith(f'{file}:2:5: job "a": it has no duration')
    assert "duration: {median: 10m, p90: 1h}" in said[1]
    assert said[2].startswith(f'{file}:3:5: job "b": it has no duration')
    assert "whole ones" in said[3]
    assert len(said) == 4


def test_defaults_are_given_and_named(tmp_path: Path) -> None:
    jobs = (
        "jobs:\n  - {name: a, demand: {cpu: 1}}\n"
        "  - {name: b, demand: {cpu: 1}, tasks: 2, every: 1h, duration: 1m}\n"
    )
    found = workload(tmp_path, jobs, tasks="5", duration="10m", span="3h")
    assert found.notes == (
        "1 job without tasks: tasks=5",
        "1 job without duration: duration=10m",
        "2 jobs without arrive: there from the start",
        "1 job with every and without repeat: until span=3h",
    )
    batch = only_batch(found)
    assert batch.names == ("a", "b.1", "b.2", "b.3", "b.4")
    assert batch.tasks.tolist() == [5, 2, 2, 2, 2]
    assert batch.durations.tolist() == [600 * SECOND, *[60 * SECOND] * 4]


def test_arrivals_are_drawn_on_their_own(tmp_path: Path) -> None:
    line = "  - {name: %s, demand: {cpu: 1}, tasks: 1, duration: 1m, every: {mean: 1m}}\n"
    one = only_batch(workload(tmp_path, "jobs:\n" + line % "a", span="10h"))
    assert 500 < len(one) < 700  # 600 are expected, and 24 is a standard deviation
    assert one.submit.max() <= 36000 * SECOND
    two = only_batch(workload(tmp_path, "jobs:\n" + line % "a" + line % "b", span="10h"))
    mine = [name.startswith("a.") for name in two.names or ()]
    assert two.submit[mine].tolist() == one.submit.tolist()


@pytest.mark.parametrize(
    ("times", "mean", "median", "p90"),
    [
        (Times(Shape.LOGNORMAL, (Fraction(600), Fraction(3600))), 1594.6, 600, 3600),
        (Times(Shape.EXPONENTIAL, (Fraction(600),)), 600, 415.9, 1381.6),
        (Times(Shape.UNIFORM, (Fraction(60), Fraction(180))), 120, 120, 168),
    ],
)
def test_draws_have_the_spread_that_is_written(
    times: Times, mean: float, median: float, p90: float
) -> None:
    drawn = draw_times(times, 200_000, np.random.default_rng(0))
    assert np.median(drawn) == pytest.approx(median, rel=0.02)
    assert np.quantile(drawn, 0.9) == pytest.approx(p90, rel=0.02)
    assert drawn.mean() == pytest.approx(mean, rel=0.05)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"median": "1h", "p90": "10m"}, "p90 is less than median; write more for p90"),
        ({"p90": "1h"}, "a spread of times is not said by p90"),
        ({"least": "0s", "most": "1m"}, "0 is not positive"),
        ({"mean": "soon"}, '"soon" is not a duration'),
    ],
)
def test_spreads_that_mean_nothing_are_refused(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Job("a", {"cpu": 1}, duration=given)


def test_repeat_needs_every() -> None:
    with pytest.raises(InputError, match="write for example every: 5m"):
        Job("a", {"cpu": 1}, repeat=3)


def test_files_of_descriptions_are_known_from_those_of_traces(tmp_path: Path) -> None:
    assert is_described(["cluster.yaml", "jobs.json", "-"])
    assert not is_described(["trace.json"])
    assert not is_described(["pods.csv"])
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    assert is_described([str(tmp_path)])
    (tmp_path / "trace.json").write_text("{}")
    assert not is_described([str(tmp_path)])


def test_the_command_takes_what_allocate_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workload(tmp_path, JOBS)
    files = [str(tmp_path / "cluster.yaml"), str(tmp_path / "jobs.yaml")]
    assert main(["allocate", *files]) == Exit.OK
    assert main(["simulate", *files, "--repeat", "2", "--workers", "1"]) == Exit.OK
    assert "times of 1 job are drawn" in capsys.readouterr().out
    assert main(["simulate", files[0]]) == Exit.BAD_INPUT
    assert "no jobs in it" in capsys.readouterr().err


def test_a_tenant_may_be_written_before_the_one_above_it(tmp_path: Path) -> None:
    above = "  - {name: top, weight: 2}\n"
    below = "  - {name: left, parent: top}\n  - {name: right, parent: top, weight: 2}\n"
    held = []
    for number, tenants in enumerate((above + below, below + above)):
        file = tmp_path / f"{number}.yaml"
        file.write_text(
            "machines: [{name: m, capacity: {cpu: 6}}]\n"
            f"tenants:\n{tenants}  - {{name: beside}}\n"
            "jobs:\n"
            "  - {name: a, tenant: left, demand: {cpu: 1}, tasks: 9, duration: 10s}\n"
            "  - {name: b, tenant: right, demand: {cpu: 1}, tasks: 9, duration: 10s}\n"
            "  - {name: c, tenant: beside, demand: {cpu: 1}, tasks: 9, duration: 10s}\n"
        )
        given = read_described([str(file)], {}, 0)
        for run in (simulate, partial(run_ideal, kind=Kind.RESTRICTED)):
            kept = Kept(tasks=False, every=5 * SECOND)
            run(given, sinks=[kept])
            held.append([moment.held.tolist() for moment in kept.samples])
    assert held[:2] == held[2:]
    assert held[0][1] == held[1][1]
