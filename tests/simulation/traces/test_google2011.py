"""Google's trace of 2011, from small files made up in its format."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from fairlead.model.errors import InputError
from fairlead.simulation.traces.registry import load
from fairlead.simulation.workload import JobBatch, MachineEvent, Workload

S = 1_000_000

MACHINES = """\
0,1,0,platform=,0.5,0.25
0,2,0,other=,1,1
0,3,0,other=,,
0,4,0,other=,0.5,0.5
700000000,1,2,platform=,0.5,0.5
700000000,2,2,other=,1,1
800000000,4,1,other=,0.5,0.5
900000000,4,0,other=,0.5,0.5
900000001,4,1,other=,,
900000002,4,1,other=,,
"""

TASKS = """\
0,,10,0,,0,anna,3,9,0.5,0.25,0.0004,1
0,,10,1,,0,anna,3,9,0.5,0.25,0.0004,1
0,,10,0,1,1,anna,3,9,0.5,0.25,0.0004,1
0,2,11,0,,0,,2,0,,,,
601000000,,12,0,,0,bob,1,0,0.1,1.526e-05,0,0
601000400,,12,1,,0,bob,1,0,0.1,1.526e-05,0,0
601500000,,12,2,,0,bob,1,0,0.2,1.526e-05,0,0
602000000,,12,0,2,1,bob,1,0,0.1,1.526e-05,0,0
630000000,,10,0,1,4,anna,3,9,0.5,0.25,0.0004,1
650000000,,12,3,,0,bob,1,0,0.1,1.526e-05,0,0
700000000,,12,0,2,4,bob,1,0,0.1,1.526e-05,0,0
701000000,,12,1,2,1,bob,1,0,0.1,1.526e-05,0,0
5000000000,,13,0,,0,bob,1,0,0.1,0.1,0,0
5000000001,,12,1,2,5,bob,1,0,0.1,1.526e-05,0,0
9223372036854775807,,12,2,2,4,bob,1,0,0.1,1.526e-05,0,0
"""

JOBS = """\
0,2,11,0,carla,2,name=,logical=
601000000,,12,0,bob,1,name=,logical=
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """The three tables, the task events in two compressed parts."""
    (tmp_path / "machine_events").mkdir()
    (tmp_path / "machine_events" / "part-00000-of-00001.csv").write_text(MACHINES)
    (tmp_path / "job_events.csv").write_text(JOBS)
    lines = TASKS.splitlines(keepends=True)
    for place, rows in enumerate((lines[:9], lines[9:])):
        with gzip.open(tmp_path / f"part-{place:05}-of-00002.csv.gz", "wt") as file:
            file.writelines(rows)
    return tmp_path


def read(trace: Path, **options: str) -> tuple[Workload, JobBatch]:
    workload = load([trace], options={name.replace("_", "-"): to for name, to in options.items()})
    (batch,) = workload.batches()
    return workload, batch


def test_tasks_that_ask_for_the_same_are_a_job(trace: Path) -> None:
    workload, batch = read(trace, missing_durations="1s")
    assert batch.names == ("10", "12", "12.1", "12.2", "13")
    assert batch.submit.tolist() == [0, 1 * S, 1_500_000, 50 * S, 4400 * S]
    assert batch.tasks.tolist() == [2, 2, 1, 1, 1]
    assert batch.demand[:3].tolist() == [[50000000, 25000000], [10000000, 1526], [20000000, 1526]]
    assert batch.spread.tolist() == [True, False, False, False, False]
    assert [workload.tenants[tenant].name for tenant in batch.tenant] == [
        "anna", "bob", "bob", "bob", "bob",
    ]  # fmt: skip
    assert (workload.jobs, workload.tasks) == (5, 7)


def test_durations_are_from_scheduling_to_finish(trace: Path) -> None:
    workload, batch = read(trace, missing_durations="7s")
    # Task 0 of job 10 ran before the trace began; task 1 of job 12 was killed.
    assert batch.durations.tolist() == [30 * S, 7 * S, 98 * S, 7 * S, 7 * S, 7 * S, 7 * S]
    assert "2 tasks have a recorded duration (ends=finish); 1 of these ran before" in str(
        workload.notes
    )


def test_a_kill_may_count_as_an_end(trace: Path) -> None:
    _, batch = read(trace, missing_durations="7s", ends="any")
    assert batch.durations.tolist()[:4] == [30 * S, 7 * S, 98 * S, 4299 * S + 1]


def test_missing_durations_are_drawn_from_the_recorded_ones(trace: Path) -> None:
    drawn = [read(trace, seed=seed)[1].durations.tolist() for seed in "0123"]
    assert all(set(durations) <= {30 * S, 98 * S} for durations in drawn)
    assert len({tuple(durations) for durations in drawn}) > 1
    assert read(trace, seed="0")[1].durations.tolist() == drawn[0]


def test_observed_durations_reach_to_the_last_event(trace: Path) -> None:
    _, batch = read(trace, missing_durations="observed")
    end = 4400 * S + 1
    assert batch.durations.tolist() == [
        30 * S, end, 98 * S, end - 101 * S, end - 1_500_000, end - 50 * S, 1,
    ]  # fmt: skip


def test_hours_keep_what_was_submitted_by_then(trace: Path) -> None:
    workload, batch = read(trace, hours="1", missing_durations="1s")
    assert batch.names == ("10", "12", "12.1", "12.2")
    assert "7 tasks of 3 jobs by 3 users were submitted up to hours=1" in str(workload.notes)


def test_gather_puts_late_tasks_to_their_job(trace: Path) -> None:
    workload, batch = read(trace, gather="1h", missing_durations="1s")
    assert batch.names == ("10", "12", "12.1", "13")
    assert batch.tasks.tolist() == [2, 3, 1, 1]
    assert "2 tasks come earlier than recorded, by at most 49 s" in str(workload.notes)


def test_missing_demands_are_left_out_or_assumed(trace: Path) -> None:
    workload, _ = read(trace, missing_durations="1s")
    assert "missing-demands=leave-out: 1 tasks without a demand are left out" in workload.notes
    workload, batch = read(trace, missing_durations="1s", missing_demands="median")
    assert workload.tasks == 8
    assert batch.names is not None
    row = batch.names.index("11")
    assert batch.demand[row].tolist() == [10000000, 1526]
    # Its user is known from the job events only.
    assert workload.tenants[batch.tenant[row]].name == "carla"


def test_without_any_demand_there_is_no_median(tmp_path: Path) -> None:
    (tmp_path / "machine_events").mkdir()
    (tmp_path / "machine_events" / "part-0.csv").write_text(MACHINES)
    (tmp_path / "task_events.csv").write_text("0,2,11,0,,0,dora,2,0,,,,\n")
    workload = load([tmp_path], options={"missing-demands": "median", "missing-durations": "1s"})
    assert workload.tasks == 0
    note = "missing-demands=median: 1 tasks without a demand are left out, as no task states one"
    assert note in workload.notes


def test_tasks_that_ask_for_nothing_ask_for_the_least_or_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "machine_events.csv").write_text(MACHINES)
    idle = TASKS.replace("5000000000,,13,0,,0,bob,1,0,0.1,0.1", "5000000000,,13,0,,0,bob,1,0,0,0")
    (tmp_path / "part-00000-of-00001.csv").write_text(idle)
    workload, batch = read(tmp_path, missing_durations="1s")
    assert batch.names is not None
    assert batch.demand[batch.names.index("13")].tolist() == [1, 0]
    said = "no-demand=least: 1 tasks that ask for nothing ask for one unit of cpu"
    assert said in workload.notes
    workload, batch = read(tmp_path, missing_durations="1s", no_demand="leave-out")
    assert batch.names is not None
    assert "13" not in batch.names
    assert workload.options["no-demand"] == "leave-out"


def test_machines_come_and_go_as_recorded(trace: Path) -> None:
    machines = read(trace, missing_durations="1s")[0].machines
    assert machines.names == ("1", "2", "4")
    assert [labels["platform"] for labels in machines.labels] == ["platform=", "other=", "other="]
    add, remove, update = MachineEvent.ADD, MachineEvent.REMOVE, MachineEvent.UPDATE
    assert list(zip(machines.time // S, machines.machine, machines.kind, strict=True)) == [
        (0, 0, add), (0, 1, add), (0, 2, add),
        (100, 0, update), (200, 2, remove), (300, 2, add), (300, 2, remove),
    ]  # fmt: skip
    assert machines.capacity[:4, 1].tolist() == [25000000, 100000000, 50000000, 50000000]


def test_machines_of_the_beginning_may_stay(trace: Path) -> None:
    machines = read(trace, missing_durations="1s", machine_changes="no")[0].machines
    assert machines.names == ("1", "2", "4")
    np.testing.assert_array_equal(machines.kind, [MachineEvent.ADD] * 3)


def test_an_amount_finer_than_the_unit_is_refused_with_its_line(trace: Path) -> None:
    with pytest.raises(InputError, match=r"part-00000-of-00002.csv.gz:5:\d+: memory is 1.526e-05"):
        read(trace, unit="1e-7")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("1,2,3", "the line has 3 fields, not 13"),
        ("x,,10,0,,0,anna,3,9,0.5,0.25,0.0004,1", "time is 'x', which is no whole number"),
        ("1,,10,0,,9,anna,3,9,0.5,0.25,0.0004,1", "event is 9, which is not between 0 and 8"),
        ("1,,10,,,0,anna,3,9,0.5,0.25,0.0004,1", "index is empty"),
        ("1,,10,1,,0,anna,3,9,half,0.25,0.0004,1", "cpu is 'half', which is no amount"),
        ("1,,10,1,,0,anna,3,9,-0.5,0.25,0.0004,1", "cpu is -0.5, which is less than 0"),
    ],
)
def test_a_malformed_line_is_named(line: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "task_events.csv"
    file.write_text(TASKS.splitlines(keepends=True)[0] + line + "\n")
    with pytest.raises(InputError) as error:
        load([file])
    assert f"{file}:2:" in str(error.value)
    assert sentence in str(error.value)


def test_no_recorded_duration_leaves_nothing_to_draw_from(tmp_path: Path) -> None:
    file = tmp_path / "task_events.csv"
    file.write_text(TASKS.splitlines(keepends=True)[0])
    with pytest.raises(InputError, match="no task's run ends in these files"):
        load([file])
