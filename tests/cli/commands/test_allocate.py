"""`fairlead allocate`: the table, the JSON, the CSV and the proof."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
from functools import cache
from pathlib import Path

import jsonschema
import pytest

from fairlead.cli.common import inputs
from fairlead.cli.main import Exit, main
from tests.surroundings import said_under_another_hash_seed
from tests.tolerances import CERTIFICATE, close
from tests.transcripts import EXAMPLES

SCHEMAS = Path(inputs.__file__).parents[2] / "model" / "schemas"
EXAMPLE_INPUTS = ["tsf-figure-4", "choosy-figure-1", "gpu-generations", "tenant-tree", "pools"]
POLICIES = ["tsf", "drf", "per-machine-drf", "kdf(k=1)", "market", "independent", "ps-dsf"]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command prints that does its work."""
    assert main(list(words)) == Exit.OK
    return capsys.readouterr().out


@cache
def schema(name: str) -> jsonschema.Draft202012Validator:
    """The schema that ships with the package."""
    tree = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(tree)
    return jsonschema.Draft202012Validator(tree)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("example", EXAMPLE_INPUTS)
def test_json_keeps_to_its_schema(
    example: str, policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run(capsys, "allocate", str(EXAMPLES / example), "--json", "--policy", policy)
    schema("allocation-1.json").validate(json.loads(out))


def test_json_has_what_the_format_promises(capsys: pytest.CaptureFixture[str]) -> None:
    tree = json.loads(run(capsys, "allocate", str(EXAMPLES / "gpu-generations"), "--json"))
    assert list(tree)[:3] == ["schema", "policy", "tasks"]
    assert tree["schema"] == "fairlead.allocation/1"
    assert (tree["policy"], tree["tasks"]) == ("tsf", "divisible")
    assert tree["tenants"][0] == {
        "name": "vision",
        "parent": None,
        "weight": 2.0,
        "share": pytest.approx(0.240605855964),
        "level": 1,
        "exact": {"share": "2177/9048"},
    }
    job = next(job for job in tree["jobs"] if job["name"] == "evaluate")
    assert (job["tenant"], job["tasks"], job["alone"]) == ("language", 6.0, 232.0)
    assert sum(place["tasks"] for place in job["placements"]) == pytest.approx(6.0)
    assert {"class": 1, "machines": ["h[01-07]"], "count": 7} in tree["classes"]
    level = tree["levels"][1]
    assert level["frozen"] == ["language", "vision"]
    assert all(set(stop) == {"class", "resource", "price"} for stop in level["stopped_by"])
    assert tree["certificate"]["feasibility"] <= CERTIFICATE
    assert tree["certificate"]["gap"] <= CERTIFICATE


def test_a_price_is_the_rise_of_the_share_by_one_unit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "machines: [{name: m, capacity: {cpu: %s}}]\njobs: [%s]\n"
    jobs = "{name: a, demand: {cpu: 1}, machines: [m]}, {name: b, demand: {cpu: 3}}"
    shares, price = [], 0.0
    for cpu in (8, 8.001):
        file = tmp_path / f"{cpu}.yaml"
        file.write_text(text % (cpu, jobs), encoding="utf-8")
        tree = json.loads(run(capsys, "allocate", str(file), "--json", "--policy", "cmmf(cpu)"))
        shares.append(tree["levels"][0]["share"] * cpu)  # of cpu: the scale grows with the machine
        price = tree["levels"][0]["stopped_by"][0]["price"] * cpu
    assert close(price, (shares[1] - shares[0]) / 0.001, 1e-6)


def test_numbers_are_shown_without_noise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(
        "machines: [{name: m, capacity: {cpu: 0.3}}]\n"
        "jobs: [{name: a, demand: {cpu: 0.1}, tasks: 1}, {name: b, demand: {cpu: 0.2}}]\n",
        encoding="utf-8",
    )
    rows = run(capsys, "allocate", str(file)).splitlines()
    assert rows[3].split() == ["a", "1", "0.333333", "1", "1", "3", "has", "all", "its", "tasks"]
    assert rows[4].split() == ["b", "1", "0.666667", "1", "1.5", "cpu", "on", "m"]


def test_csv_has_a_row_for_each_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["allocate", str(EXAMPLES / "tenant-tree"), "--csv"]) == Exit.OK
    out, err = capsys.readouterr()
    rows = {row["job"]: row for row in csv.DictReader(io.StringIO(out))}
    assert list(rows) == ["lattice", "fold", "assemble", "align", "serve", "train"]
    assert rows["lattice"]["stopped_by"] == "limit of physics (cpu)"
    assert rows["align"]["stopped_by"] == "has all its tasks"
    assert float(rows["lattice"]["tasks"]) == pytest.approx(40)
    assert err == "warning: job train can never run: each of the 10 machines has no gpu.\n"


def test_quiet_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "allocate", str(EXAMPLES / "tenant-tree"), "--quiet") == ""
    assert capsys.readouterr().err == ""


FORMS: tuple[list[str], ...] = ([], ["--json"], ["--csv"])

ALL_FORMS = f"""\
import sys
from fairlead.cli.main import main
for form in {FORMS}:
    assert main(["allocate", sys.argv[1], *form]) == 0
"""


def test_the_same_input_gives_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    source = str(EXAMPLES / "tenant-tree")
    output = "".join(run(capsys, "allocate", source, *form) for form in FORMS)
    assert said_under_another_hash_seed("-c", ALL_FORMS, source) == output
    assert output.count("\n") > 20


def test_a_proof_is_written_and_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof = tmp_path / "proof.json"
    source = str(EXAMPLES / "pools")
    run(capsys, "allocate", source, "--quiet", "--proof", str(proof))
    assert [path.name for path in tmp_path.iterdir()] == ["proof.json"]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(proof.stat().st_mode) == 0o666 & ~umask
    assert run(capsys, "verify", source, str(proof)).startswith("the proof holds for policy tsf")


def test_a_wrong_proof_is_refuted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof = tmp_path / "proof.json"
    source = str(EXAMPLES / "tsf-figure-4")
    run(capsys, "allocate", source, "--quiet", "--proof", str(proof))
    other = str(EXAMPLES / "choosy-figure-1")
    assert main(["verify", other, str(proof)]) == Exit.REFUTED
    assert capsys.readouterr().out.startswith("the proof does not hold: ")
    tree = json.loads(proof.read_text(encoding="utf-8"))
    tree["rounds"][-1]["share"] *= 1.01
    proof.write_text(json.dumps(tree), encoding="utf-8")
    assert main(["verify", source, str(proof)]) == Exit.REFUTED
    assert "the proof does not hold: round 2: " in capsys.readouterr().out


def test_what_a_proof_says_moves_no_cursor_and_fills_no_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proof = tmp_path / "proof.json"
    source = str(EXAMPLES / "tsf-figure-4")
    run(capsys, "allocate", source, "--quiet", "--proof", str(proof))
    tree = json.loads(proof.read_text(encoding="utf-8"))
    for policy in ("\x1b[2K\rthe proof holds for policy tsf\n", "x" * 10**6):
        proof.write_text(json.dumps(tree | {"policy": policy}), encoding="utf-8")
        assert main(["verify", source, str(proof)]) == Exit.REFUTED
        out = capsys.readouterr().out
        assert len(out.splitlines()) == 1
        assert out.rstrip("\n").isprintable()
        assert len(out) < 3000


def test_an_empty_name_is_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["allocate", ""]) == Exit.BAD_INPUT
    assert capsys.readouterr().err == (
        "error: a file's name is empty; give a file, or `.` for this folder\n"
    )


def test_what_is_no_proof_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "proof.json"
    file.write_bytes(b"\xff\xfe")
    assert main(["verify", str(EXAMPLES / "pools"), str(file)]) == Exit.BAD_INPUT
    assert "the file is not UTF-8: byte 0xff" in capsys.readouterr().err


def test_a_proof_that_cannot_be_written_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    source = str(EXAMPLES / "pools")
    words = ["allocate", source, "--quiet", "--proof", str(tmp_path / "proof.json")]
    assert main(words) == Exit.OUTPUT
    assert "proof.json cannot be written: No space left" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_leaves_the_old_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> Path:
        raise KeyboardInterrupt

    proof = tmp_path / "proof.json"
    proof.write_text("old", encoding="utf-8")
    monkeypatch.setattr(Path, "replace", interrupt)
    words = ["allocate", str(EXAMPLES / "pools"), "--quiet", "--proof", str(proof)]
    assert main(words) == Exit.INTERRUPTED
    assert proof.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [proof]


def test_a_proof_does_not_replace_the_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_bytes((EXAMPLES / "pools" / "cluster.yaml").read_bytes())
    monkeypatch.chdir(tmp_path)
    for name in (str(file), "./cluster.yaml", "cluster.yaml"):
        assert main(["allocate", "cluster.yaml", "--proof", name]) == Exit.BAD_INPUT
        assert "would write over the input; name another file" in capsys.readouterr().err
    assert file.read_bytes() == (EXAMPLES / "pools" / "cluster.yaml").read_bytes()


def test_a_mechanism_has_no_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof = tmp_path / "proof.json"
    words = ["allocate", str(EXAMPLES / "pools"), "--policy", "independent", "--proof", str(proof)]
    assert main(words) == Exit.BAD_INPUT
    assert "independent has no proof to write" in capsys.readouterr().err
    assert not proof.exists()


def test_a_job_without_placements_warns_that_it_may_not_fit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = run(capsys, "allocate", str(EXAMPLES / "pools"), "--policy", "drf")
    assert "warning: drf looks at one machine that holds everything" in out


def test_a_task_larger_than_every_machine_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(
        'machines: [{name: "m[1-2]", capacity: {cpu: 1}}]\njobs: [{name: a, demand: {cpu: 4}}]\n',
        encoding="utf-8",
    )
    out = run(capsys, "allocate", str(file))
    assert "job a can never run: each of the 2 machines has too little cpu for a task." in out
    assert "0    0.5  can never run" in out


def test_thousands_of_jobs_are_all_listed_and_levels_are_abbreviated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cluster.yaml"
    jobs = "\n".join(f"  - {{name: j{i}, demand: {{cpu: 1}}}}" for i in range(1500))
    file.write_text(
        f"machines: [{{name: m, capacity: {{cpu: 100}}}}]\njobs:\n{jobs}\n", encoding="utf-8"
    )
    lines = run(capsys, "allocate", str(file)).splitlines()
    assert len(lines) == 2 + 1 + 1500 + 1 + 3  # the last says what a level is
    assert "and 1496 more" in lines[-2]


def test_machines_of_a_spread_are_told_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(
        'machines: [{name: "m[1-2]", capacity: {cpu: 4}}, {name: m3, capacity: {cpu: 8}}]\n'
        "jobs: [{name: a, demand: {cpu: 1}, spread: true}]\n",
        encoding="utf-8",
    )
    assert run(capsys, "allocate", str(file)).count("spread of a on m[1-3]") == 2


def test_whole_tasks_have_no_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["allocate", str(EXAMPLES / "pools"), "--tasks", "whole"]
    assert main([*words, "--proof", str(tmp_path / "proof.json")]) == Exit.BAD_INPUT
    assert "whole tasks have no proof to write" in capsys.readouterr().err
