"""`fairlead simulate`: JSON and tables, folders that are taken up again, refusals."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pyarrow.parquet
import pytest

from fairlead.cli.main import Exit, main
from fairlead.simulation.engine import pace
from fairlead.simulation.measure.tables import schema_of
from fairlead.version import __version__
from tests.cli.commands.test_allocate import run, schema
from tests.zygote.forked import finished

TABLE_II = "table-ii(vary=0)"
RANDOM = "random(jobs=12)"

Runs = list[dict[str, object]]


def runs(capsys: pytest.CaptureFixture[str], *words: str) -> Runs:
    tree = json.loads(run(capsys, "simulate", *words, "--json"))
    schema("simulation-1.json").validate(tree)
    assert list(tree) == ["schema", "runs"]
    found: Runs = tree["runs"]
    return found


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["simulate", *words]) == Exit.BAD_INPUT
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


def without_seconds(rows: Runs) -> Runs:
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def test_json_has_exactly_the_keys_of_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = runs(capsys, TABLE_II)
    assert list(row) == [
        *("policy", "placement", "seed", "tasks", "placed", "seconds"),
        *("rmse_percent", "largest_shortfall", "digest"),
    ]
    assert (row["policy"], row["tasks"], row["placed"]) == ("tsf", 1350, 1350)
    assert row["rmse_percent"] is None


def test_the_distance_is_measured_when_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = runs(capsys, TABLE_II, "--distance", "20s")
    assert isinstance(row["rmse_percent"], float)
    assert 0 < row["rmse_percent"] < 20
    assert isinstance(row["largest_shortfall"], float)


def test_policies_are_named_in_one_way(capsys: pytest.CaptureFixture[str]) -> None:
    found = runs(capsys, TABLE_II, "--policies", "cmmf:cpu,fifo,drf", "--workers", "1")
    assert [row["policy"] for row in found] == ["cmmf(cpu)", "fifo", "drf"]
    assert len({str(row["digest"]) for row in found}) == 3


def test_every_policy_of_the_papers_study_has_a_share_for_every_job(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Some jobs of the trace ask for no CPU, of which `cmmf(cpu)` would have no share.
    words = ("tsf-study(machines=40, jobs=300, tasks=3000)", "--repeat", "2", "--workers", "1")
    found = runs(capsys, *words, "--policies", "tsf,drf,cdrf,cmmf:cpu,cmmf:memory,fifo")
    assert [row["placed"] for row in found] == [3000] * 12
    assert len({row["digest"] for row in found}) == 12


def test_machines_alone_are_refused_and_so_are_jobs_that_no_loader_knew(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    nodes = "sn,cpu_milli,memory_mib,gpu,model\nnode-1,8000,1024,0,\n"
    (tmp_path / "openb_node_list_all_node.csv").write_text(nodes, encoding="utf-8")
    out = tmp_path / "out"
    said = refused(capsys, str(tmp_path), "--out", str(out))
    assert f"{tmp_path}: no jobs in it; give the files of the jobs, too" in said
    pods = "name,cpus,memory_mib,num_gpu\npod-1,1000,10,0\n"
    (tmp_path / "openb_pod_list_gpuspec33.csv").write_text(pods, encoding="utf-8")
    assert "no tables of this format: openb_pod_list_gpuspec33.csv)" in refused(
        capsys, str(tmp_path)
    )
    assert not out.exists()


def test_a_folder_keeps_runs_that_are_not_done_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "study"
    words = (TABLE_II, "--out", str(out), "--sample", "10s", "--workers", "1")
    (before,) = runs(capsys, *words, "--policy", "tsf")
    folder = out / "tsf,scarce-last,0"
    assert sorted(path.name for path in folder.iterdir()) == [
        "jobs.parquet",
        "moment.yaml",
        "run.json",
        "shares.parquet",
        "tasks.parquet",
        "utilisation.parquet",
    ]
    assert json.loads((folder / "run.json").read_text())["version"] == __version__
    for table in folder.glob("*.parquet"):
        assert schema_of(table) == f"fairlead.simulation.{table.stem}/1"
    jobs = pyarrow.parquet.read_table(folder / "jobs.parquet").to_pylist()
    assert {job["job"]: job["finished"] for job in jobs} == {
        "job-1": 1000,
        "job-2": 150,
        "job-3": 100,
        "job-4": 100,
    }
    shares = pyarrow.parquet.read_table(folder / "shares.parquet").to_pylist()
    first = [row for row in shares if row["time"] == 0]
    assert first == [{"time": 0, "tenant": "job-1", "share": 1.0, "held": 75, "waiting": 925}]
    stamp = (folder / "run.json").stat().st_mtime_ns
    again = runs(capsys, *words, "--policies", "tsf,drf")
    assert again[0] == before  # its seconds, too: it was not run again
    assert (folder / "run.json").stat().st_mtime_ns == stamp
    assert (out / "drf,scarce-last,0" / "run.json").is_file()


def test_other_settings_in_the_same_folder_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = str(tmp_path / "study")
    runs(capsys, TABLE_II, "--out", out, "--record", "jobs", "--csv", "--sample", "60s")
    files = sorted(path.name for path in Path(out).rglob("*"))
    assert "sample was 60000000" in refused(
        capsys, TABLE_II, "--out", out, "--record", "jobs", "--csv", "--sample", "30s"
    )
    assert sorted(path.name for path in Path(out).rglob("*")) == files


def test_a_folder_with_other_things_in_it_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "letter.txt").write_text("dear", encoding="utf-8")
    assert "holds no study" in refused(capsys, TABLE_II, "--out", str(tmp_path))


FIRST_FIT = (TABLE_II, "--placement", "first-fit", "--workers", "1")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study, to be copied and spoilt."""
    out = tmp_path_factory.mktemp("kept") / "out"
    assert main(["simulate", *FIRST_FIT, "--out", str(out)]) == Exit.OK
    return out


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("study.json", "{", "this is not JSON"),
        ("study.json", "[" * 100_000, "nested too deeply"),
        (
            "study.json",
            '{"schema": "fairlead.simulation.study/9"}',
            "is fairlead.simulation",
        ),
        (
            "study.json",
            '{"schema": "fairlead.simulation.study/1", "settings": 7}',
            "no settings",
        ),
        ("tsf,first-fit,0/run.json", "7", "is of no schema"),
        (
            "tsf,first-fit,0/run.json",
            '{"schema": "fairlead.simulation.run/1"}',
            "not a run's file",
        ),
    ],
)
def test_a_damaged_file_of_a_study_is_refused(
    capsys: pytest.CaptureFixture[str],
    kept: Path,
    tmp_path: Path,
    name: str,
    text: str,
    sentence: str,
) -> None:
    out = str(shutil.copytree(kept, tmp_path / "out"))
    (tmp_path / "out" / name).write_text(text, encoding="utf-8")
    assert sentence in refused(capsys, *FIRST_FIT, "--out", out)


def test_people_get_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "simulate", TABLE_II, "--policies", "tsf,fifo", "--workers", "1")
    rows = [line.split() for line in out.splitlines() if line.startswith(("tsf", "fifo"))]
    assert [row[0] for row in rows] == ["tsf", "fifo"]
    assert [row[1:4] for row in rows] == [["0", "1,350", "1,350"]] * 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nothing-there"], "neither a file nor a generator"),
        (["tsf-stdy(jobs=5)"], "neither a file nor a generator; did you mean tsf-study?"),
        ([TABLE_II, "--policies", "tsf,"], "has a comma without a policy beside it"),
        ([TABLE_II, "--policy", "tsff"], "did you mean `tsf`"),
        ([TABLE_II, "--policy", ""], "a policy has no name; write a name such as tsf"),
        ([TABLE_II, "--policies", ""], "a policy has no name; write a name such as tsf"),
        ([TABLE_II, "--placement", ""], "no placement rule"),
        ([TABLE_II, "--out", "\udcff"], "--out '\\udcff' is no text in UTF-8; name another folder"),
        ([TABLE_II, "--policy", "market"], "no one scale"),
        ([TABLE_II, "--policies", "tsf,tsf"], "given twice"),
        ([TABLE_II, "--placement", "nowhere"], "no placement rule"),
        ([TABLE_II, "--repeat", "0"], "--repeat cannot be 0"),
        ([TABLE_II, "--repeat", "9" * 30], f"--repeat cannot be {'9' * 30}; write at most 1000000"),
        ([TABLE_II, "--repeat", "10000000000"], "write at most 1000000"),
        ([TABLE_II, "--failures", "often"], "mtbf=240h,repair=1h"),
        ([TABLE_II, "--sample", "0s"], "--sample cannot be '0s'"),
        ([TABLE_II, "--set", "a"], "write --set name=value"),
        ([TABLE_II, "--set", "a=b"], "is a generator"),
        ([TABLE_II, "--record", "jobs"], "add --out DIR"),
        ([TABLE_II, "--record", "jbos", "--out", "x"], "knows no table 'jbos'"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    words: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sentence in refused(capsys, *words)
    assert list(tmp_path.iterdir()) == []


def test_a_trace_is_not_repeated_for_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("", encoding="utf-8")
    assert "a trace draws nothing" in refused(capsys, str(trace), "--repeat", "3")


def test_slots_are_a_policy_that_says_what_a_slot_is(capsys: pytest.CaptureFixture[str]) -> None:
    # Not Table II, where slots of either size give the same order.
    one, two = runs(capsys, "random(jobs=30)", "--policies", "slots(cpu=1/2),slots(cpu=2)")
    assert (one["policy"], two["policy"]) == ("slots(cpu=0.5)", "slots(cpu=2)")
    assert one["digest"] != two["digest"]
    assert "what a slot is" in refused(capsys, TABLE_II, "--policy", "slots")
    assert "gpu" in refused(capsys, TABLE_II, "--policy", "slots(gpu=1)")


def test_preemption_is_asked_for_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("simulate", TABLE_II, "--preempt-after", "10s")
    header, row = run(capsys, *words).splitlines()[-2:]
    assert header.split()[-1] == "stopped"
    assert int(row.split()[-1]) > 0
    refused(capsys, TABLE_II, "--preempt-after", "0s")


@pytest.mark.parametrize(
    ("said", "option", "text"),
    [
        ("reserve_after: off", "--reserve-after", "never"),
        ("reserve_for: 9s", "--reserve-for", "9s"),
    ],
)
def test_a_run_decides_as_the_service_with_this_configuration(
    said: str, option: str, text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = tmp_path / "service.yaml"
    config.write_text(f"policy: drf\nplacement: worst-fit\npreempt_after: 10s\n{said}\n")
    words = ("--policy", "drf", "--placement", "worst-fit", "--preempt-after", "10s")
    by_words = runs(capsys, TABLE_II, *words, option, text)
    assert without_seconds(runs(capsys, TABLE_II, "--config", str(config))) == without_seconds(
        by_words
    )
    (other,) = runs(capsys, TABLE_II, "--config", str(config), "--policy", "tsf")
    assert (other["policy"], other["placement"]) == ("tsf", "worst-fit")


def test_a_configuration_that_cannot_be_read_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "nothing.yaml" in refused(capsys, TABLE_II, "--config", str(tmp_path / "nothing.yaml"))


CLUSTER = """\
machines: [{name: "c[1-2]", capacity: {cpu: 10, memory: 96GiB}}]
tenants: [{name: ops}, {name: vision, weight: 2}]
"""
TABLE = """\
job,user,submit,duration,cpu,tasks
a,ops,2026-01-05 08:00:00,60,3,20
b,vision,2026-01-05 08:00:10,90.5,1.5,20
"""
SAME = """\
jobs:
  - {name: a, tenant: ops, arrive: 0, duration: 60s, demand: {cpu: 3}, tasks: 20}
  - {name: b, tenant: vision, arrive: 10s, duration: 90.5s, demand: {cpu: 1.5}, tasks: 20}
"""


def test_a_table_of_jobs_is_simulated_as_the_same_jobs_in_yaml(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("c.yaml", CLUSTER), ("jobs.csv", TABLE), ("jobs.yaml", SAME)):
        (tmp_path / name).write_text(text)
    cluster, table, yaml = (str(tmp_path / name) for name in ("c.yaml", "jobs.csv", "jobs.yaml"))
    expected = without_seconds(runs(capsys, cluster, yaml))
    assert expected[0]["placed"] == 40
    assert without_seconds(runs(capsys, table, cluster)) == expected
    assert without_seconds(runs(capsys, table, "--machines", cluster)) == expected


def test_a_table_that_cannot_be_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, table = tmp_path / "c.yaml", tmp_path / "jobs.csv"
    cluster.write_text(CLUSTER)
    table.write_text(TABLE)
    told = refused(capsys, str(table))
    assert told == (
        f"error: {table}: no machines in it, so that nothing could run; give the file of the"
        " cluster, too: cluster.yaml jobs.csv\n"
    )
    table.write_text(TABLE.replace("vision", "vison"))
    told = refused(capsys, str(cluster), str(table))
    assert told == (
        f'error: {table}:3:3: user: there is no tenant "vison"; did you mean "vision"?\n'
    )


def test_what_comes_by_the_standard_input_is_read_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("c.yaml", CLUSTER), ("jobs.csv", TABLE)):
        (tmp_path / name).write_text(text)
    cluster, table = str(tmp_path / "c.yaml"), str(tmp_path / "jobs.csv")
    both = ["--policies", "tsf,fifo"]
    there = without_seconds(runs(capsys, cluster, table, *both))

    @contextmanager
    def pipe_of(content: bytes) -> Iterator[TextIO]:
        reading, writing = os.pipe()
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(content)
        with os.fdopen(reading) as stream:
            yield stream

    def piped(content: str, *words: str) -> Runs:
        with pipe_of(content.encode()) as stream:
            monkeypatch.setattr("sys.stdin", stream)
            return without_seconds(runs(capsys, *words, *both))

    out = ["--out", str(tmp_path / "out")]
    with pipe_of(gzip.compress(TABLE.encode())) as stream:
        words = ["simulate", cluster, "-", *both, "--workers", "2", *out, "--json"]
        done = finished(["fairlead", *words], tmp_path, os.environ, stdin=stream)
    assert without_seconds(json.loads(done.stdout)["runs"]) == there
    assert piped(CLUSTER, "-", table) == there
    assert piped(CLUSTER, table, "--machines", "-") == there
    assert piped(CLUSTER + SAME, "-") == there
    with (tmp_path / "c.yaml").open() as stream:  # something else than before
        monkeypatch.setattr("sys.stdin", stream)
        assert "other settings" in refused(capsys, table, "-", *both, *out)


def test_a_table_that_comes_by_a_pipe_is_read_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cluster, pipe = tmp_path / "c.yaml", tmp_path / "jobs"
    cluster.write_text(CLUSTER)
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as others:
        writing = others.submit(pipe.write_text, TABLE.replace("90.5", "9o.5"))
        told = refused(capsys, str(cluster), str(pipe))
        writing.result()
    assert told.startswith(f'error: {pipe}:3:30: duration: "9o.5" is not a duration')


def test_mistakes_in_the_standard_input_have_their_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, said = tmp_path / "c.yaml", tmp_path / "said"
    cluster.write_text(CLUSTER)
    for text, told in (
        (TABLE.replace("90.5", "9o.5"), '<stdin>:3:30: duration: "9o.5" is not a duration'),
        (TABLE.replace("duration", "took"), "<stdin>:1:1: the column duration is missing"),
        ("a|b\n1|2\n", '<stdin>:1:1: "a|b" begins no table'),
    ):
        said.write_text(text)
        with said.open() as stream:
            monkeypatch.setattr("sys.stdin", stream)
            assert refused(capsys, str(cluster), "-").startswith(f"error: {told}")


def test_jobs_that_can_never_run_are_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cluster, table = tmp_path / "c.yaml", tmp_path / "jobs.csv"
    cluster.write_text(CLUSTER.replace("96GiB}}", "96GiB}, labels: {zone: east}}"))
    rows = ["0,60,11,3,1,", "0,60,3,7,7,", "0,60,3,6,6,", "0,60,1,5,1,zone = west", "0,60,10,5,1,"]
    table.write_text("\n".join(["submit,duration,cpu,tasks,gang,where", *rows]) + "\n")
    said = run(capsys, "simulate", str(cluster), str(table))
    assert "3 jobs with 15 tasks can never run: more than empty machines hold" in said
    table.write_text("\n".join(["submit,duration,cpu,tasks,gang,where", rows[2], rows[4]]) + "\n")
    assert "can never run" not in run(capsys, "simulate", str(cluster), str(table))


def test_a_log_of_which_no_job_is_left_says_why(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cluster, log = tmp_path / "c.yaml", tmp_path / "log.swf"
    cluster.write_text(CLUSTER.partition("tenants")[0])
    log.write_text(f"; MaxProcs: 4\n1 0 -1 60 1 -1 -1 -1 -1 -1 -1{7 * ' -1'}\n")
    told = refused(capsys, str(cluster), str(log), "--set", "jobs=completed")
    assert told == (
        f"error: {cluster} {log}: no job of it is left (left out: 1 line of a job that did not"
        " complete (jobs=completed)); choose other jobs: `fairlead trace info` lists the options\n"
    )


def one_job(folder: Path) -> list[str]:
    """The files of a machine, and of a job of ten minutes."""
    cluster, jobs = folder / "cluster.yaml", folder / "jobs.csv"
    cluster.write_text("machines: [{name: a, capacity: {cpu: 1}}]\n", encoding="utf-8")
    jobs.write_text("name,submit,duration,cpu\none,0,600,1\n", encoding="utf-8")
    return [str(cluster), str(jobs)]


def test_evictions_that_no_task_lives_through_are_told_while_the_run_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "TRIES", 200)
    words = [*one_job(tmp_path), "--until", "30m", "--json", "--evictions"]
    told = []
    for time in ("1s", "15m"):
        assert main(["simulate", *words, time]) == Exit.OK
        told.append(capsys.readouterr().err)
    assert told[0].startswith("tsf, seed 0: 200 tasks were evicted, or lost their machine, since")
    assert told[0].count("since one ended last") == 1
    assert told[1] == ""


def test_looks_that_leave_a_run_no_time_are_told_while_it_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """--distance 1us went on for hours."""
    monkeypatch.setattr(pace, "LOOKS", 500)
    words = [*one_job(tmp_path), "--until", "1.1ms", "--json", "--out", str(tmp_path / "out")]
    assert main(["simulate", *words, "--record", "shares", "--sample", "1us"]) == Exit.OK
    told = capsys.readouterr().err
    assert told.startswith("tsf, seed 0: it was looked at 500 times while 0.000498 s of its own")
    assert told.count("it was looked at") == 1
    words[-1] += "2"
    assert main(["simulate", *words, "--record", "shares", "--sample", "3us"]) == Exit.OK
    assert capsys.readouterr().err == ""
