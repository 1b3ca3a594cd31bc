"""`fairlead audit`: the table, the sentences, JSON, witnesses that are written and replayed."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from fairlead.cli.common.halting import Halting
from fairlead.cli.main import Exit, main
from tests.cli.commands.test_allocate import run, schema
from tests.transcripts import EXAMPLES

FIGURE_3 = """\
machines: [{name: "m[1-3]", capacity: {cpu: 3}}]
jobs:
  - {name: u1, demand: {cpu: 1}, machines: [m1]}
  - {name: u2, demand: {cpu: 1}}
  - {name: u3, demand: {cpu: 1}, machines: [m2]}
  - {name: u4, demand: {cpu: 1}, machines: [m2]}
  - {name: u5, demand: {cpu: 1}, machines: [m3]}
  - {name: u6, demand: {cpu: 1}, machines: [m3]}
  - {name: u7, demand: {cpu: 1}, machines: [m3]}
"""

PART_OF_3 = """\
machines: [{name: "m[1-2]", capacity: {cpu: 3}}]
jobs:
  - {name: u1, demand: {cpu: 1}, machines: [m1]}
  - {name: u2, demand: {cpu: 1}}
  - {name: u3, demand: {cpu: 1}, machines: [m2]}
  - {name: u4, demand: {cpu: 1}, machines: [m2]}
"""
"""Of Figure 3 what shows the envy: a quarter of the lies."""

CHEATED = """\
machines: [{name: m1, capacity: {cpu: 1, memory: 4}}, {name: m2, capacity: {cpu: 3, memory: 1}}]
jobs:
  - {name: u1, demand: {cpu: 1, memory: 1}}
  - {name: u2, demand: {cpu: 1, memory: 2}, machines: [m1]}
"""
"""Under constrained CDRF u2 gains by a lie."""

TWO = """\
machines: [{name: "m[1-2]", capacity: {slot: 1}}]
tenants: [{name: A}, {name: B}]
jobs:
  - {name: a, tenant: A, demand: {slot: 1}}
  - {name: b, tenant: B, demand: {slot: 1}, machines: [m2]}
"""


@pytest.fixture
def figure_3(tmp_path: Path) -> str:
    file = tmp_path / "figure3.yaml"
    file.write_text(FIGURE_3, encoding="utf-8")
    return str(file)


@pytest.fixture
def two(tmp_path: Path) -> str:
    file = tmp_path / "two.yaml"
    file.write_text(TWO, encoding="utf-8")
    return str(file)


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What is said of a command line that is wrong; nothing is on stdout."""
    assert main(["audit", *words]) == Exit.BAD_INPUT
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


def test_the_table_has_a_row_for_each_property_and_a_column_for_each_policy(
    capsys: pytest.CaptureFixture[str], figure_3: str
) -> None:
    words = ("--policy", "tsf,cdrf", "--policy", "drf", "--property", "envy-freeness")
    out = run(capsys, "audit", figure_3, *words)
    assert out.splitlines()[0] == "audit of 7 jobs on 3 machines, divisible tasks"
    assert [line.split() for line in out.splitlines()[2:4]] == [
        ["property", "tsf", "cdrf", "drf"],
        ["envy-freeness", "holds", "violated:", "1", "of", "42", "-"],
    ]
    assert "cdrf, envy-freeness: u1 gets 1 task; with what u2 holds it could have 2 tasks." in out
    assert "drf: envy-freeness says nothing here: drf looks at one machine" in out


def test_a_search_says_how_much_it_tried(capsys: pytest.CaptureFixture[str], figure_3: str) -> None:
    words = ("--policy", "tsf", "--property", "resource-monotonicity", "--trials", "4")
    out = run(capsys, "audit", figure_3, *words)
    assert out.splitlines()[3].split() == ["resource-monotonicity", "none", "in", "4"]


def test_the_json_is_as_its_schema_says(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "part.yaml"
    file.write_text(PART_OF_3, encoding="utf-8")
    words = ("audit", str(file), "--policy", "tsf,cdrf,drf,cmmf(memory)", "--json", "--trials", "1")
    tree = json.loads(run(capsys, *words, "--shrink", "4"))
    schema("audit-1.json").validate(tree)
    verdicts = {(one["policy"], one["property"]): one for one in tree["results"]}
    assert verdicts["cdrf", "envy-freeness"]["verdict"] == "violated"
    assert verdicts["tsf", "envy-freeness"]["verdict"] == "holds"
    assert verdicts["drf", "envy-freeness"]["verdict"] == "not-applicable"
    assert [one["policy"] for one in tree["refused"]] == ["cmmf(memory)"]
    for one in tree["results"]:
        if one["witness"] is not None:
            schema("witness-1.json").validate(one["witness"])


@pytest.mark.parametrize(
    ("text", "properties"),
    [(FIGURE_3, "envy-freeness,resource-monotonicity"), (CHEATED, "strategy-proofness")],
    ids=["figure 3", "a lie"],
)
def test_the_same_bytes_every_time(
    text: str, properties: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # What is asked exactly, what is searched for, and witnesses that are made smaller.
    file = tmp_path / "cluster.yaml"
    file.write_text(text, encoding="utf-8")
    words = ["audit", str(file), "--policy", "cdrf", "--json", "--trials", "1", "--shrink", "4"]
    words += ["--property", properties]
    said = run(capsys, *words)
    assert run(capsys, *words) == said
    tree = json.loads(said)
    schema("audit-1.json").validate(tree)
    assert {one["verdict"] for one in tree["results"]} == {"violated"}


def test_strict_tells_by_the_exit_code(capsys: pytest.CaptureFixture[str], figure_3: str) -> None:
    words = ["audit", figure_3, "--property", "envy-freeness", "--policy"]
    assert main([*words, "cdrf"]) == Exit.OK
    assert main([*words, "cdrf", "--strict"]) == Exit.REFUTED
    assert main([*words, "tsf", "--strict"]) == Exit.OK
    assert "violated" in capsys.readouterr().out


def test_a_witness_is_written_and_replayed(
    capsys: pytest.CaptureFixture[str], figure_3: str, tmp_path: Path
) -> None:
    folder = tmp_path / "witnesses"
    words = ("--policy", "cdrf", "--property", "envy-freeness", "--witness", str(folder))
    run(capsys, "audit", figure_3, *words)
    (file,) = folder.iterdir()
    assert file.name == "cdrf-envy-freeness.json"
    tree = json.loads(file.read_text(encoding="utf-8"))
    schema("witness-1.json").validate(tree)
    out = run(capsys, "audit", "--replay", str(file))
    assert "as the file says" in out
    # Smaller than the input: what shows the envy is u1, u2 and two others on two machines.
    assert tree["input"].count("demand") < 7


def test_a_witness_that_no_longer_shows_is_told_by_the_exit_code(
    capsys: pytest.CaptureFixture[str], figure_3: str, tmp_path: Path
) -> None:
    words = ("--policy", "cdrf", "--property", "envy-freeness", "--witness", str(tmp_path / "w"))
    run(capsys, "audit", figure_3, *words, "--shrink", "0")
    (file,) = (tmp_path / "w").iterdir()
    tree = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(tree | {"policy": "tsf"}), encoding="utf-8")
    assert main(["audit", "--replay", str(file)]) == Exit.REFUTED
    assert "It no longer shows." in capsys.readouterr().out
    file.write_text(json.dumps(tree | {"after": 1.5}), encoding="utf-8")
    assert main(["audit", "--replay", str(file)]) == Exit.REFUTED
    assert "the file says 1.5 against 2" in capsys.readouterr().out
    file.write_text(json.dumps(tree | {"who": ["u1", "u9"]}), encoding="utf-8")
    assert main(["audit", "--replay", str(file)]) == Exit.REFUTED
    assert "cannot be asked" in capsys.readouterr().out


def test_pools_may_be_given_beside_the_file(capsys: pytest.CaptureFixture[str], two: str) -> None:
    words = ("--policy", "independent,tsf", "--property", "sharing-incentive")
    assert "violated" not in run(capsys, "audit", two, *words)
    out = run(capsys, "audit", two, *words, "--pool", "A=m1", "--pool", "B=m2")
    assert "independent, sharing-incentive: B gets 0.5 tasks; in its pool it could have 1" in out
    assert "against the pools" in out


def test_folders_of_the_examples_can_be_audited(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--property", "sharing-incentive", "--trials", "2")
    for example in ("tenant-tree", "choosy-figure-1"):
        out = run(capsys, "audit", str(EXAMPLES / example), *words)
        assert "sharing-incentive" in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "no file is given"),
        (("--property", "envy-free"), "no property `envy-free`; did you mean `envy-freeness`?"),
        (("--property", "kindness"), "there are sharing-incentive, "),
        (("--policy", "tfs"), "did you mean `tsf`?"),
        (("--policy", "cmmf(gpu)"), "no job demands any `gpu`"),
        (("--trials", "0"), "--trials 0 is too small"),
        (("--set", "hours=1"), "write --trace, too"),
        (("--unlimited",), "write --trace, too"),
        (("--deal", "--pool", "A=m1"), "write one of them"),
        (("--trace",), "trace"),
        (("--shrink", "-1"), "--shrink -1 is too small"),
        (("--pool", "A"), "write TENANT=MACHINES"),
        (("--pool", "C=m1"), "there is no tenant C"),
        (("--pool", "A=m9", "--pool", "B=m2"), "there is no machine"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    capsys: pytest.CaptureFixture[str], two: str, words: tuple[str, ...], sentence: str
) -> None:
    files = (two,) if words else ()
    assert sentence in refused(capsys, *files, *words)


def test_the_backlog_of_a_trace_is_judged(
    capsys: pytest.CaptureFixture[str], data_dir: Path
) -> None:
    folder = data_dir / "alibaba-gpu-2023"
    files = (folder / "openb_node_list_all_node.csv", folder / "openb_pod_list_gpuspec33.csv")
    words = ("--policy", "tsf", "--property", "sharing-incentive,envy-freeness,pareto-optimality")
    out = run(capsys, "audit", "--trace", *map(str, files), *words)
    assert "audit of 446 jobs on 1523 machines" in out
    assert "job job-197 can never run: of 1523 machines, 974 are excluded" in out
    assert "8152 jobs are 447 that differ in tenant, demand or constraint." in out
    assert "violated" not in out


def test_a_trace_is_judged_with_pools_and_tasks_without_end(
    capsys: pytest.CaptureFixture[str], data_dir: Path, tmp_path: Path
) -> None:
    files = []
    for name in ("openb_node_list_all_node.csv", "openb_pod_list_gpuspec33.csv"):
        whole = (data_dir / "alibaba-gpu-2023" / name).read_text(encoding="utf-8")
        header, *rows = whole.splitlines(keepends=True)
        files.append(tmp_path / name)
        files[-1].write_text("".join([header, *rows[::10]]), encoding="utf-8")
    words = (
        "--deal",
        "--unlimited",
        "--property",
        "sharing-incentive",
        "--policy",
        "tsf,per-machine-drf",
    )
    out = run(capsys, "audit", "--trace", *map(str, files), *words)
    assert "153 machines are dealt out to 130 tenants by seed 1." in out
    assert "all jobs are taken to have tasks without end." in out
    assert "per-machine-drf, sharing-incentive: " in out
    assert "tsf, sharing-incentive" not in out


def test_replay_takes_the_witness_alone(
    capsys: pytest.CaptureFixture[str], two: str, tmp_path: Path
) -> None:
    assert "takes no other file" in refused(capsys, two, "--replay", "w.json")
    assert "no such file: " in refused(capsys, "--replay", str(tmp_path / "none.json"))
    assert "is not JSON" in refused(capsys, "--replay", two)


def test_a_share_that_is_not_divided_by_the_weight_is_said_to_be_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cluster.yaml"
    text = """\
machines: [{name: m1, capacity: {cpu: 10, gpu: 10}}, {name: m2, capacity: {cpu: 100}}]
tenants: [{name: A, weight: WEIGHT}, {name: B, weight: WEIGHT}]
jobs:
  - {name: a1, tenant: A, demand: {cpu: 1, gpu: 1}}
  - {name: a2, tenant: A, demand: {cpu: 1}}
  - {name: b1, tenant: B, demand: {cpu: 1, gpu: 1}}
  - {name: b2, tenant: B, demand: {cpu: 2}}
"""
    words = ("audit", str(file), "--policy", "drf", "--property", "dummy-machines")
    said = "a share in a sentence is the sum over the tenant's jobs, not divided by its weight."
    for weight, told in ((2, True), (1, False)):
        file.write_text(text.replace("WEIGHT", str(weight)), encoding="utf-8")
        out = run(capsys, *words)
        assert " goes from the share" in out
        assert (said in out) is told


@pytest.mark.parametrize("stop_at", [0, 7])
def test_ctrl_c_ends_a_search_with_what_it_found(
    stop_at: int, figure_3: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, go_on = 0, Halting.go_on

    def interrupted(self: Halting, tried: int, most: int) -> bool:
        nonlocal asked
        if asked == stop_at:
            signal.raise_signal(signal.SIGINT)
        asked += 1
        return go_on(self, tried, most)

    monkeypatch.setattr(Halting, "go_on", interrupted)
    before = signal.getsignal(signal.SIGINT)
    words = ["--policy", "tsf,cdrf", "--property", "envy-freeness,population-monotonicity"]
    words += ["--property", "strategy-proofness"]
    assert main(["audit", figure_3, *words, "--trials", "1000000", "--json"]) == Exit.INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is before
    printed = capsys.readouterr()
    findings = json.loads(printed.out)["results"]
    assert [each["policy"] for each in findings] == ["tsf"] * len(findings)
    assert len(findings) < 3
    last = findings[-1]
    assert last["verdict"] == "not-found"
    assert last["trials"] <= stop_at
    first, second = printed.err.splitlines()
    assert first.startswith("ending with what was found so far")
    assert second.startswith("interrupted: this is what was found by then")


def test_more_changes_than_anybody_waits_for_are_refused(
    figure_3: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in ("--trials", "--shrink"):
        said = refused(capsys, figure_3, option, "100000000000000000000")
        assert said == f"error: {option} 100000000000000000000 is too much; write at most 1000000\n"
