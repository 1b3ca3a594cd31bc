"""Logs in the Standard Workload Format, from a small one made up in it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from fairlead.model.errors import InputError
from fairlead.simulation.traces.registry import load
from fairlead.simulation.workload import JobBatch, Workload

S = 1_000_000

LOG = """\
; Version: 2.2
; Computer: made up
;   MaxNodes: 64
; MaxProcs: 128
; Note: 30 days

  1   100   5   60    4  -1   -1    4   120  2048  1  7 2 -1  1 -1 -1 -1
  3    90   0   30.5  2  -1   -1   -1    -1    -1  0 -1 2 -1  1 -1 -1 -1
  2   110   5    0    1  -1   -1    1    -1  1024  1  7 3 -1  1 -1 -1 -1
  4   120  -1    0   -1  -1   -1    1    60    -1  5  7 3 -1  1 -1 -1 -1
  5   130   0   -1    8  -1   -1    8    60    -1  5  7 3 -1  1 -1 -1 -1
  6   140   0   10   -1  -1   -1   -1    60    -1  1  7 3 -1  1 -1 -1 -1
  7   150   0   10    2  -1   -1    2    60    -1  5  8 3 -1  1 -1 -1 -1
  7   150   0    4    2  -1   -1    2    60    -1  2  8 3 -1  1 -1 -1 -1
"""


def saved(folder: Path, text: str, name: str = "log.swf") -> Path:
    file = folder / name
    file.write_bytes(text.encode("latin-1"))
    return file


def only(workload: Workload) -> JobBatch:
    (batch,) = workload.batches()
    return batch


def test_a_job_is_a_gang_of_its_processors(tmp_path: Path) -> None:
    workload = load([saved(tmp_path, LOG)])
    batch = only(workload)
    assert batch.names == ("3", "1", "2", "7")
    assert batch.submit.tolist() == [0, 10 * S, 20 * S, 60 * S]
    assert batch.durations.tolist() == [30 * S + S // 2, 60 * S, 1, 10 * S]
    assert batch.tasks.tolist() == batch.gang.tolist() == [2, 4, 1, 2]
    assert [each.name for each in workload.resources] == ["cpu", "memory"]
    assert batch.demand.tolist() == [[1000, 0], [1000, 2048], [1000, 1024], [1000, 0]]
    assert workload.resources[1].unit == 1024
    assert batch.expected is not None
    assert batch.expected.tolist() == [0, 120 * S, 0, 60 * S]
    assert [tenant.name for tenant in workload.tenants] == ["user-7", "user-8"]
    assert batch.tenant.tolist() == [-1, 0, 0, 1]


def test_what_is_left_out_and_what_the_header_says_is_stated(tmp_path: Path) -> None:
    assert load([saved(tmp_path, LOG)]).notes == (
        "found 8 lines",
        "left out: 1 line of a part of a run, which another line has as a whole",
        "left out: 2 lines of a job that did not run, or nobody knows how long",
        "left out: 1 line of a job of which no number of processors is known",
        "task=processor: a job of n processors is a gang of n tasks, each with one cpu",
        "1 job without requested processors: what was allocated",
        "2 jobs without requested memory: 0",
        "1 job with a run time of 0: taken as 1us",
        "the header says of the machine: MaxNodes 64, MaxProcs 128; give one by a cluster.yaml",
        "missing: machines, constraints, GPUs; not read: waits, queues, partitions, dependencies",
    )


def test_a_job_of_which_nobody_knows_when_it_came_is_left_out(tmp_path: Path) -> None:
    workload = load([saved(tmp_path, LOG.replace("  1   100 ", "  1    -1 "))])
    assert only(workload).names == ("3", "2", "7")
    assert "left out: 1 line of a job of which nobody knows when it came" in workload.notes
    never = load([saved(tmp_path, LOG.replace("  5   130 ", "  5    -1 "))])
    assert only(never).names == ("3", "1", "2", "7")
    assert not any("when it came" in note for note in never.notes)


def test_options_choose_jobs_tasks_and_tenants(tmp_path: Path) -> None:
    file = saved(tmp_path, LOG)
    completed = load([file], options={"jobs": "completed"})
    assert only(completed).names == ("1", "2")
    assert "left out: 2 lines of a job that did not complete (jobs=completed)" in completed.notes
    whole = only(load([file], options={"task": "job"}))
    assert whole.tasks.tolist() == whole.gang.tolist() == [1, 1, 1, 1]
    assert whole.demand.tolist() == [[2000, 0], [4000, 8192], [1000, 1024], [2000, 0]]
    groups = load([file], options={"tenants": "group"})
    assert [tenant.name for tenant in groups.tenants] == ["group-2", "group-3"]
    assert load([file], options={"tenants": "none"}).tenants == ()


def test_logs_that_are_compressed_or_in_a_folder_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "log.swf.gz").write_bytes(gzip.compress(LOG.encode()))
    assert load([folder]).jobs == 4
    without = "".join(f"{line}\r\n" for line in LOG.splitlines() if not line.startswith(";"))
    assert load([saved(tmp_path, without.lstrip())]).jobs == 4
    assert load([saved(tmp_path, "; Universit\xe9\n" + LOG)], "swf").jobs == 4


def test_a_log_runs_on_machines_that_are_described(tmp_path: Path) -> None:
    cluster = saved(tmp_path, "machines: [{name: a, capacity: {cpu: 2.5, memory: 1GiB}}]", "c.yaml")
    workload = load([cluster, saved(tmp_path, LOG)])
    assert workload.machines.names == ("a",)
    rates = [each.unit for each in workload.resources]
    assert workload.machines.capacity.tolist() == [[2.5 / rates[0], 2**30 / rates[1]]]
    assert only(workload).demand[1].tolist() == [1 / rates[0], 2048 * 1024 / rates[1]]


def read(folder: Path, texts: list[str]) -> object:
    """What becomes of a log of one line."""
    try:
        workload = load([saved(folder, ";\n" + " ".join(texts))])
    except InputError as error:
        return str(error)
    return workload.notes, workload.tenants, repr(list(workload.batches()))


def test_a_line_of_usual_numbers_is_read_as_any_line_is(tmp_path: Path) -> None:
    """A sign in a field that is not read is enough that each other one is looked at by itself."""
    line = ["1", "100", "5", "60", "4", "1", "-1", "4", "120", "2048", "1", "7", *["-1"] * 6]
    for place in (0, 3, 7):
        for text in (
            *("-2", "-1", "0", "1", "1073741823", "1073741824", "1073741825", "9999999999"),
            *("1" * 14, "1" * 25, "1_0", "-0", "-00", "01", "1.", "1.0", "1.5"),
            *("-1.0", "-1.5", ".5", "-", "1e3", "nan", "1-0"),
        ):
            texts = list(line)
            texts[place] = text
            quickly = read(tmp_path, texts)
            texts[5] = "+"
            assert quickly == read(tmp_path, texts), (place, text)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("  1   100", "  1", ":7:1: the line has 17 fields, not 18; write all fields of a job"),
        ("  1   100", "  x   100", ":7:3: the job number cannot be x; write a whole number"),
        ("  1   100", "  1   -2", ":7:7: the submit time cannot be -2; write a number of seconds"),
        ("   5   60 ", "   5   nan", ":7:17: the run time cannot be nan; write a number of sec"),
        ("   5   60 ", "   5   -5 ", ":7:17: the run time cannot be -5; write a number of seco"),
        ("   5   60 ", "   5  +60 ", ":7:16: the run time cannot be +60; write a number of secon"),
        ("   5   60 ", "   5   1e99", ":7:17: the run time cannot be 1e99"),
        ("   5   60 ", f"   5  {10**17} ", f":7:16: the run time cannot be {10**17}"),
        ("    4   120", "   1.5  120", ":7:36: the requested processors cannot be 1.5; write a"),
        ("    4   120", f" {2**31} 120", f":7:34: the requested processors cannot be {2**31}"),
        ("  2   110", "  1   110", ":9:1: a job before it has the number 1 too; number each once"),
    ],
)  # fmt: skip
def test_what_is_no_job_is_told_with_its_place(
    old: str, new: str, told: str, tmp_path: Path
) -> None:
    assert LOG.count(old) == 1
    with pytest.raises(InputError) as error:
        load([saved(tmp_path, LOG.replace(old, new))])
    assert str(error.value).replace(str(tmp_path), "").startswith(f"/log.swf{told}")


def test_a_log_without_jobs_has_none(tmp_path: Path) -> None:
    assert load([saved(tmp_path, "; Version: 2.2\n")]).jobs == 0
    assert load([saved(tmp_path, "; Version: 2.2\n" + LOG.splitlines()[10])]).jobs == 0


def test_half_an_archive_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "log.swf.gz"
    whole = gzip.compress(LOG.encode())
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="cannot be read"):
        load([file], "swf")
