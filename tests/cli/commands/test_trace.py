"""`fairlead trace`: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from fairlead.cli.commands.trace import assignments
from fairlead.cli.main import Exit, main
from fairlead.model.errors import InputError
from fairlead.simulation.traces.registry import load
from tests.surroundings import said_under_another_hash_seed

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = ROOT / "src/fairlead/model/schemas/trace-info-1.json"

NODES = """\
sn,cpu_milli,memory_mib,gpu,model
n0,32000,262144,0,
n1,96000,786432,8,V100M32
"""

PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
p0,4000,1024,1,460,T4|V100M32,LS,Running,10,100,40
p1,8000,2048,9,1000,,LS,Running,5,20,5
p2,1000,512,0,0,,BE,Pending,7,9,
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / "nodes.csv").write_text(NODES)
    (tmp_path / "trace" / "pods.csv").write_text(PODS)
    return tmp_path / "trace"


def fails(
    capsys: pytest.CaptureFixture[str], *words: str | Path, code: int = Exit.BAD_INPUT
) -> str:
    """What the command says on stderr; it prints nothing on stdout."""
    assert main(["trace", *map(str, words)]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


def test_info_says_what_is_there_missing_and_assumed(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", "info", str(trace), "--set", "arrivals=backlog"]) == 0
    text = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[0] == "alibaba-gpu-2023"
    assert "machines 2 at the start; 2 different" in lines
    assert "capacity 128 cpu, 1Ti memory, 8 gpu" in lines
    assert "jobs 3 with 3 tasks" in lines
    assert "fit nowhere 1 job with 1 task" in lines
    assert "1 1 gpu-model in (T4, V100M32)" in lines
    assert "all tasks at once 10.2% 0.342% 118%" in lines
    assert "- arrivals=backlog: all pods come at time 0, not as recorded" in lines
    assert "arrivals backlog when pods come: `recorded`, or `backlog` (all at time 0)" in lines


def test_the_json_follows_its_schema(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for words in ([], ["--set", "arrivals=backlog"]):
        assert main(["trace", "info", str(trace), "--json", *words]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert [*Draft202012Validator(schema).iter_errors(answer)] == []
        assert answer["machines"]["capacity"] == {"cpu": 128.0, "memory": 2.0**40, "gpu": 8.0}
        assert answer["demand"]["gpu"]["max"] == 9.0
        assert answer["duration_seconds"]["max"] == 60.0


def test_a_trace_without_machines_and_one_without_jobs_can_be_described(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for file in ("nodes.csv", "pods.csv"):
        assert main(["trace", "info", str(trace / file)]) == 0
        assert "found, missing, assumed" in capsys.readouterr().out
        assert main(["trace", "info", str(trace / file), "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert [*Draft202012Validator(schema).iter_errors(answer)] == []


@pytest.mark.parametrize("tables", ["parquet", "csv"])
def test_convert_writes_what_can_be_read_again(
    tables: str, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["trace", "convert", str(trace), "--out", str(out), "--tables", tables]
    assert main([*words, "--set", "tenants=2"]) == 0
    assert capsys.readouterr().out == f"wrote {out}: 2 machines, 3 jobs with 3 tasks\n"
    back = load([out])
    assert back.options["tenants"] == "2"
    assert back.notes == load([trace], options={"tenants": "2"}).notes
    assert main(["trace", "info", str(out)]) == 0
    assert "tenants=2, seed=0" in capsys.readouterr().out


def test_convert_leaves_a_directory_alone(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(trace.iterdir())
    error = fails(capsys, "convert", trace, "--out", trace)
    assert f"{trace} is already there; give a directory that is not there yet" in error
    assert sorted(trace.iterdir()) == before


def test_machines_of_another_trace_are_taken(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.csv"
    other.write_text("machine,gpu_type,cap_cpu,cap_mem,cap_gpu\na,T4,96,512,2\n")
    assert main(["trace", "info", str(trace / "pods.csv"), "--machines", str(other)]) == 0
    text = capsys.readouterr().out
    assert "- the machines are those of alibaba-gpu-2020" in text
    assert "- machines: gb=GiB: assumed; memory is in GB in the list" in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["info", "x.csv"], "no such file: x.csv"),
        (["info", "pods.csv", "--set", "seed"], "--set seed is no assignment"),
        (["info", "pods.csv", "--set", "seed=1", "--set", "seed=2"], "--set seed is given twice"),
        (["info", "pods.csv", "--set", "sed=1"], "has no option 'sed'; did you mean 'seed'?"),
        (["info", "pods.csv", "--format", "swim"], 'gpu_spec,qos,..." begins no table of swim'),
        (["info", "pods.csv", "--format", "xml"], "there is no format 'xml'"),
        (["info", "nodes.csv", "pods.csv", "nodes.csv"], "nodes.csv is given twice"),
        (["convert", "pods.csv"], "needs --out"),
        (["info"], "needs FILE"),
        (["show", "pods.csv"], "fairlead trace has no 'show'; give info or convert"),
        ([], "needs info or convert"),
        (["info", "pods.csv", "--jsn"], "--jsn"),
    ],
)
def test_what_is_wrong_is_a_sentence(
    words: list[str],
    sentence: str,
    trace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(trace)
    assert sentence in fails(capsys, *words)


def test_a_malformed_line_is_told_with_file_and_line(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = trace / "pods.csv"
    file.write_text(PODS.replace("p1,8000,", "p1,many,"))
    error = fails(capsys, "info", trace)
    assert error == (
        f"error: {file}:3:4: cpu_milli is 'many', which is no whole number; write digits\n"
    )
    assert fails(capsys, "convert", trace, "--out", tmp_path / "out") == error
    assert not (tmp_path / "out").exists()


def test_assignments_may_hold_an_equals_sign() -> None:
    assert assignments(["a=b=c", "d=1"]) == {"a": "b=c", "d": "1"}
    for word in ("=1", "a="):
        with pytest.raises(InputError, match="write --set NAME=VALUE"):
            assignments([word])


def test_the_same_trace_gives_the_same_bytes_under_any_hash_seed(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("trace", "info", str(trace), "--json")
    assert main(list(words)) == 0
    assert said_under_another_hash_seed("fairlead", *words) == capsys.readouterr().out


def test_the_action_takes_debug(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "info", str(trace), "--debug"]) == 0
    assert main(["trace", "--debug", "info", str(trace)]) == 0
    assert "alibaba-gpu-2023" in capsys.readouterr().out


def test_help_explains_each_action(capsys: pytest.CaptureFixture[str]) -> None:
    for action, option in (("info", "--json"), ("convert", "--tables")):
        assert main(["trace", action, "--help"]) == 0
        text = capsys.readouterr().out
        assert option in text
        assert "--set NAME=VALUE" in text
