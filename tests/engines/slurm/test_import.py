"""Slurm's outputs as the model's values, from a cluster of 22.05 that was recorded."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction
from pathlib import Path

import pytest

from fairlead.cli.main import main
from fairlead.engines.interface import EngineError
from fairlead.engines.slurm.demands import NotUnderstoodError, matches, request_of
from fairlead.engines.slurm.importing import translate
from fairlead.engines.slurm.reading import commands
from fairlead.engines.slurm.reading.commands import COMMANDS, AwayError, ask, load, run
from fairlead.engines.slurm.reading.parse import gres, mebibytes, parse, slim
from fairlead.engines.slurm.reading.values import Gres, Picture, SlurmJob
from fairlead.engines.slurm.translation import translate as translate_picture
from fairlead.files import load as load_files
from fairlead.model.errors import InputError

SAVED = Path(__file__).parents[3] / "examples" / "slurm" / "saved"


@pytest.fixture(scope="module")
def picture() -> Picture:
    """The recorded cluster."""
    return parse(load(SAVED))


def _job(picture: Picture, number: int) -> SlurmJob:
    return next(job for job in picture.jobs if job.number == number)


def test_nodes_have_features_devices_partitions_and_states(picture: Picture) -> None:
    node = {node.name: node for node in picture.nodes}["a1"]
    assert (node.cpus, node.memory) == (32, 256000)
    assert node.features == ("icelake", "avx512", "nvlink")
    assert node.gres == (Gres("gpu", "a100", 4),)
    assert node.partitions == ("gpu", "all")
    assert {"DRAIN"} <= {node.name: node.states for node in picture.nodes}["c6"]


def test_an_array_is_one_job_with_all_elements_that_run_or_wait(picture: Picture) -> None:
    jobs = {job.name: job for job in translate_picture(picture).jobs}
    assert jobs["3"].tasks == 20
    assert dict(jobs["3"].demand) == {"cpu": 4, "gpu": 1, "memory": 8 * 2**30}


def test_a_constraint_with_or_names_the_nodes(picture: Picture) -> None:
    jobs = {job.name: job for job in translate_picture(picture).jobs}
    assert jobs["3"].machines == ("a1", "a2", "a3", "a4", "v1", "v2", "v3")
    assert str(jobs["5"].where) == "gpu-model = h100, rapids, nvlink, partition-gpu"


def test_equal_nodes_are_a_gang_with_a_node_each(picture: Picture) -> None:
    job = {job.name: job for job in translate_picture(picture).jobs}["2"]
    assert (job.gang, job.spread) == (2, True)
    assert job.tasks == 2
    assert dict(job.demand) == {"cpu": 16, "gpu": 4, "memory": 200 * 2**30}


def test_tasks_without_a_number_of_nodes_are_a_gang_that_may_share_nodes(picture: Picture) -> None:
    job = {job.name: job for job in translate_picture(picture).jobs}["22"]
    assert (job.gang, job.spread) == (12, False)
    assert dict(job.demand) == {"cpu": 2, "gpu": 1, "memory": 2 * 2**30}


def test_gpus_per_task_memory_per_gpu_and_a_single_node(picture: Picture) -> None:
    request = request_of(_job(picture, 29), picture.nodes)
    assert dict(request.demand) == {"cpu": 32, "gpu": 8, "memory": Fraction(256 * 2**30)}
    assert request.gang == 1
    assert not request.can_run(picture.nodes), "no node has eight H100"


def test_what_is_not_understood_counts_as_taken(picture: Picture) -> None:
    result = translate_picture(picture)
    machines = {machine.name: machine for machine in result.cluster.machines}
    assert machines["c5"].capacity["cpu"] == 32 - 2 * 2  # two elements with a licence
    assert machines["a1"].capacity["cpu"] == 32 - 2  # [icelake*2&cascadelake*1] runs there
    assert not {job.name for job in result.jobs} & {"19", "25", "26", "28"}


def test_jobs_that_slurm_holds_are_left_out_with_its_reason(picture: Picture) -> None:
    notes = translate_picture(picture).notes
    assert "job 18 (after) is left out: Slurm holds it (Dependency)" in notes
    assert "job 24 (mixed) is left out: Slurm holds it (JobHeldUser)" in notes
    assert "node f1 is left out: a reservation holds it" in notes


def test_every_job_is_in_the_files_or_in_a_line(picture: Picture) -> None:
    result = translate_picture(picture)
    names = {job.name for job in result.jobs}
    for job in picture.jobs:
        if job.state in ("RUNNING", "PENDING") and str(job.array or job.number) not in names:
            lines = [n for n in result.notes if n.startswith(f"job {job.number} ")]
            assert len(lines) == 1, job


def test_a_node_list_against_the_partition_is_found(picture: Picture) -> None:
    job = dataclasses.replace(_job(picture, 21), required="a1", excluded="", reason="Priority")
    notes = translate_picture(dataclasses.replace(picture, jobs=(job,))).notes
    assert any(note.startswith("job 21 (notc) can start on no node") for note in notes)


def test_accounts_are_the_tree_and_users_are_below_them(picture: Picture) -> None:
    tenants = {each.name: each for each in translate_picture(picture).cluster.tenants}
    assert tenants["science"].weight == 60
    assert tenants["science"].parent is None
    assert tenants["vision"].weight == 2
    assert tenants["vision"].parent == "science"
    assert tenants["bo@vision"].weight == 2
    assert tenants["bo@vision"].parent == "vision"


def test_without_accounting_each_user_is_a_tenant() -> None:
    outputs = {key: text for key, text in load(SAVED).items() if key != "accounts.txt"}
    cluster, _, notes = translate(outputs)
    assert {each.name for each in cluster.tenants} >= {"bo"}
    assert all("@" not in each.name and each.parent is None for each in cluster.tenants)
    assert any(note.startswith("no accounts were read") for note in notes)


@pytest.mark.parametrize(
    ("expression", "features", "expected"),
    [
        ("a|b", "b", True),
        ("a&b", "b", False),
        ("a&(b|c)", "a c", True),
        ("a|b&c", "a", False),  # from left to right
        ("a,b", "a b", True),
    ],
)
def test_constraints(expression: str, features: str, expected: bool) -> None:
    assert matches(expression, features.split()) is expected


@pytest.mark.parametrize("expression", ["[a*2&b]", "a*2", "(a", "a&", "!a", ""])
def test_constraints_that_are_not_understood(expression: str) -> None:
    with pytest.raises(NotUnderstoodError):
        matches(expression, ["a", "b"])


def test_forms_of_devices_and_memory() -> None:
    assert gres("gpu:a100:4(S:0-1)") == (Gres("gpu", "a100", 4),)
    assert gres("gres:gpu") == (Gres("gpu", "", 1),)
    assert gres("gres:gpu:2,gres:nic:1") == (Gres("gpu", "", 2), Gres("nic", "", 1))
    assert (mebibytes("1.50G"), mebibytes("4600000M"), mebibytes("12")) == (1536, 4600000, 12)


def test_saving_again_what_was_saved_changes_nothing() -> None:
    outputs = load(SAVED)
    assert slim(outputs) == outputs


@pytest.mark.parametrize("name", [each for each in COMMANDS if each != "accounts.txt"])
def test_a_missing_output_is_named_with_its_command(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for other, text in load(SAVED).items():
        if other != name:
            (tmp_path / other).write_text(text, encoding="utf-8")
    assert main(["import", "slurm", "--from", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert f"save it: {' '.join(COMMANDS[name])} > {name}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("text", ["", "[]", '{"jobs": 3}', '{"jobs": [{}]}'])
def test_what_is_no_list_of_jobs_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"jobs\.json"):
        parse({**load(SAVED), "jobs.json": text})


def test_a_command_that_is_absent_is_one_sentence() -> None:
    with pytest.raises(EngineError, match="there is no no-such-squeue on this machine"):
        run(("no-such-squeue",))


def test_a_command_that_fails_says_what_it_said() -> None:
    with pytest.raises(EngineError, match=r"ls /nowhere failed: .*No such file"):
        run(("ls", "/nowhere"))
    with pytest.raises(AwayError, match=r"^sleep 9 has no answer after 0\.01 s: slurmctld"):
        run(("sleep", "9"), 0.01)


def test_the_files_read_back_as_the_same_values(tmp_path: Path, picture: Picture) -> None:
    assert main(["import", "slurm", "--from", str(SAVED), "--out", str(tmp_path)]) == 0
    cluster, jobs = load_files(tmp_path / "cluster.yaml", tmp_path / "jobs.yaml")
    result = translate_picture(picture)
    assert (cluster, jobs) == (result.cluster, result.jobs)


def test_an_empty_list_with_an_error_is_no_cluster_without_jobs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What `squeue --json` of 22.05 says, with exit code 0, where slurmctld does not answer."""
    error = {"description": "Failed while looking for jobs", "source": "slurm_load_jobs"}
    outputs = {**load(SAVED), "jobs.json": json.dumps({"errors": [error], "jobs": []})}
    with pytest.raises(InputError, match="holds no jobs: Slurm says Failed while looking"):
        parse(outputs)
    files = {command: name for name, command in COMMANDS.items()}
    monkeypatch.setattr(commands, "run", lambda command, _: outputs[files[command]])
    with pytest.raises(AwayError, match="Failed while looking"):  # a service asks again
        ask()


def test_files_that_somebody_else_made_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["import", "slurm", "--from", str(SAVED), "--out", str(tmp_path)]
    assert main(words) == main(words) == 0  # its own it makes anew
    mine = tmp_path / "jobs.yaml"
    mine.write_text("jobs: []\n")
    (tmp_path / "cluster.yaml").unlink()
    assert main(words) == 2
    assert "jobs.yaml is there, and not made by this; name another" in capsys.readouterr().err
    assert mine.read_text() == "jobs: []\n"
    assert not (tmp_path / "cluster.yaml").exists()
    assert main([*words[:3], "/nowhere"]) == 2
    assert "there is no folder /nowhere" in capsys.readouterr().err
