"""`fairlead demo` and `fairlead policies`: what they claim is so."""

from __future__ import annotations

from pathlib import Path

import pytest

import fairlead
from fairlead.cli.commands.demo import COMPARISON, FILE
from fairlead.cli.main import Exit, main
from fairlead.sharing.rules.registry import mechanism_names, policy_names
from fairlead.sharing.whole_tasks.registry import whole_names
from tests.cli.commands.test_allocate import run


def test_the_demo_tells_the_whole_story(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "demo")
    headings = [
        "The problem",
        "The answer",
        "Where it can run",
        "What stopped it",
        "What would raise it",
        "Other policies",
        "Your turn",
    ]
    lines = out.splitlines()
    assert [line for line in lines if line in headings] == headings


def test_what_the_demo_says_of_other_policies_is_so() -> None:
    cluster, jobs = fairlead.load(FILE)
    gpus = sum(
        machine.capacity["gpu"]
        for machine in cluster.machines
        if machine.labels["gpu-model"] == "h100"
    )
    drf = fairlead.allocate(cluster, jobs, "drf").job("pretrain").tasks
    cdrf = fairlead.allocate(cluster, jobs, "cdrf").job("pretrain").tasks
    assert f"promises `pretrain` {int(drf)} tasks, and there are {gpus} H100s" in COMPARISON
    assert f"`pretrain` keeps {int(cdrf)} of the {gpus}" in COMPARISON
    shares = {tenant.name: tenant.share for tenant in fairlead.allocate(cluster, jobs).tenants}
    assert min(shares, key=lambda name: shares[name]) == "language"


def test_the_demos_file_can_be_had(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "mine"
    out = run(capsys, "demo", "--write", str(directory))
    assert out.splitlines()[1] == f"try: fairlead allocate {directory / 'demo.yaml'}"
    assert (directory / "demo.yaml").read_bytes() == FILE.read_bytes()
    drawn = [tmp_path / "demo.html", tmp_path / "again.html"]
    run(capsys, "demo", "--html", str(drawn[0]))
    run(capsys, "allocate", str(directory / "demo.yaml"), "--html", str(drawn[1]))
    assert drawn[0].read_bytes() == drawn[1].read_bytes()
    assert main(["demo", "--write", str(directory), "--html", str(drawn[0])]) == Exit.BAD_INPUT


def test_the_demo_writes_over_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "demo.yaml").write_text("mine", encoding="utf-8")
    assert main(["demo", "--write", str(tmp_path)]) == Exit.BAD_INPUT
    assert "demo.yaml is there already" in capsys.readouterr().err
    assert (tmp_path / "demo.yaml").read_text(encoding="utf-8") == "mine"


def test_a_file_is_no_directory_for_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--write", "/dev/null"]) == Exit.BAD_INPUT
    assert capsys.readouterr().err == "error: /dev/null is no directory; name another one\n"


def test_a_directory_that_cannot_be_made_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    assert main(["demo", "--write", str(file / "below")]) == Exit.OUTPUT
    assert "demo.yaml cannot be written" in capsys.readouterr().err


def test_every_policy_and_mechanism_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "policies")
    names = [line.split()[0].partition("(")[0] for line in out.splitlines() if line]
    assert [name for name in names if name not in ("policy", "mechanism", "for")] == [
        *policy_names(),
        *mechanism_names(),
        *whole_names(),
    ]
