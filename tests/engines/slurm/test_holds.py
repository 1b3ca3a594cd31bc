"""Who may lift the hold of a job on a real Slurm: what placing by Fairlead stands on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.engines.slurm.placing.controller import Commands
from fairlead.engines.slurm.placing.marks import put_back
from fairlead.engines.slurm.reading.commands import COMMANDS
from fairlead.engines.slurm.reading.parse import parse
from fairlead.engines.slurm.reading.values import SlurmJob
from tests.cli.live.place import until
from tests.engines.slurm.ground import LUA, Ground

pytestmark = pytest.mark.slow

USER = "nobody"
"""Somebody without any rights in Slurm."""

READ = ("version.txt", "partitions.txt", "nodes.json", "jobs.json")

SUBMIT = ("sbatch", "--parsable", "--output=/dev/null", "--wrap=true")


@pytest.fixture(name="job")
def fixture_job(slurm: Ground) -> Iterator[str]:
    """The number of the user's job in the partition whose jobs are held."""
    if os.geteuid() != 0:
        pytest.skip("only root can submit as another user")
    number = slurm.run(*SUBMIT, "--partition=fair", user=USER).strip()
    yield number
    slurm.run("scancel", number)


def priority(slurm: Ground, number: str) -> str:
    return slurm.run("squeue", "--noheader", "--jobs", number, "--format=%T %Q %P").strip()


@pytest.mark.parametrize(
    "words",
    [
        ("release", "{}"),
        ("update", "JobId={}", "Priority=100"),
        ("update", "JobId={}", "Partition=main"),
        ("update", "JobId={}", "Nice=-100"),
        ("update", "JobId={}", "Comment=fairlead:another:1.0.1"),
        ("top", "{}"),
    ],
    ids=" ".join,
)
def test_a_user_cannot_jump_the_queue(slurm: Ground, job: str, words: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["scontrol", *(word.format(job) for word in words)],
        user=USER, env=slurm.environment, cwd="/", capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert priority(slurm, job) == "PENDING 0 fair"


def attempted(slurm: Ground, *words: str) -> bool:
    """Whether Slurm lets the user do this."""
    done = subprocess.run(
        words, user=USER, env=slurm.environment, cwd="/", capture_output=True, check=False
    )
    return done.returncode == 0


def test_a_user_cannot_come_in_by_another_partition(slurm: Ground) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can submit as another user")
    assert not attempted(slurm, *SUBMIT, "--partition=fair,main")
    assert not attempted(slurm, *SUBMIT, "--partition=main,fair")
    number = slurm.run(*SUBMIT, "--partition=main", "--hold", user=USER).strip()
    assert not attempted(slurm, "scontrol", "update", f"JobId={number}", "Partition=fair")
    assert attempted(slurm, "scontrol", "update", f"JobId={number}", "Partition=gpu")
    slurm.run("scancel", number)


def test_a_user_who_gives_a_job_back_does_not_start_it_again(slurm: Ground) -> None:
    """Slurm lets it wait two minutes, which its owner could change: that was found to be a jump."""
    if os.geteuid() != 0:
        pytest.skip("only root can submit as another user")
    asked = (*SUBMIT[:-1], "--partition=fair", "--wrap=sleep 1000")
    number = slurm.run(*asked, user=USER).strip()
    slurm.run("scontrol", given=f"update JobId={number} ReqNodeList=d2\nrelease {number}\n")
    until(lambda: priority(slurm, number).startswith("RUNNING"))
    assert attempted(slurm, "scontrol", "requeue", number)
    until(lambda: priority(slurm, number).startswith("PENDING"))
    assert not attempted(slurm, "scontrol", "update", f"JobId={number}", "StartTime=now")
    assert not attempted(slurm, "scontrol", "update", f"JobId={number}", "ReqNodeList=d1")
    assert not attempted(slurm, "scontrol", "update", f"JobId={number}", "TimeLimit=5")
    assert priority(slurm, number).startswith("PENDING")
    slurm.run("scancel", number)


def test_a_user_does_not_start_what_slurm_found_impossible(slurm: Ground) -> None:
    """Slurm takes such a job's priority away, and gives it back at a change of the wish."""
    if os.geteuid() != 0:
        pytest.skip("only root can submit as another user")
    number = slurm.run(*SUBMIT, "--partition=fair", "--tmp=100", user=USER).strip()
    slurm.run("scontrol", given=f"update JobId={number} ReqNodeList=d2\nrelease {number}\n")
    until(lambda: "BadConstraints" in slurm.run("squeue", "-h", "-j", number, "-o", "%r"))
    assert not attempted(slurm, "scontrol", "update", f"JobId={number}", "MinTmpDiskNode=0")
    assert priority(slurm, number).startswith("PENDING 0")
    lines = put_back((int(number), ""), seen(slurm, number))
    assert lines == []  # it has no mark
    slurm.run("scontrol", given=f"update JobId={number} AdminComment=fairlead:0:asked=\n")
    lines = put_back((int(number), ""), seen(slurm, number))
    slurm.run("scontrol", given="".join(f"{line}\n" for line in lines))
    found = seen(slurm, number)
    assert (found.priority, found.reason, found.required) == (0, "JobHeldUser", "")
    slurm.run("scancel", number)


def seen(slurm: Ground, number: str) -> SlurmJob:
    """A job as it is read."""
    outputs = {name: slurm.run(*command) for name, command in COMMANDS.items() if name in READ}
    (job,) = (job for job in parse(outputs).jobs if job.number == int(number))
    return job


def test_what_slurm_refuses_is_known_by_its_job(
    slurm: Ground, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    change, line = Commands().change, f"update JobId={job} AdminComment="
    assert change([line, "release 999999"])["999999"] == "Invalid job id specified"
    assert list(change([line, f"update JobId={job} NumNodes=1-0"])) == [""]
    assert change([line]) == {}


def test_a_hold_that_means_nothing_is_said_to_its_owner(slurm: Ground) -> None:
    asked = (*SUBMIT, "--partition=fair", "--hold")
    done = subprocess.run(
        asked, user=USER, env=slurm.environment, cwd="/", capture_output=True, text=True, check=True
    )
    assert "--hold means nothing in this partition" in done.stderr
    slurm.run("scancel", done.stdout.strip())


def test_the_how_to_shows_the_lines_that_are_tried_here() -> None:
    page = Path("docs/howto/place-on-slurm.md").read_text(encoding="utf-8")
    assert f"```lua\n{LUA}```" in page


def test_an_administrator_releases_it_to_the_node_that_was_chosen(slurm: Ground, job: str) -> None:
    slurm.run("scontrol", given=f"update JobId={job} ReqNodeList=d2\nrelease {job}\n")
    shown = slurm.wait_until_over(job)
    assert "JobState=COMPLETED" in shown
    assert " NodeList=d2 " in shown


def test_a_hold_of_the_owner_is_one_that_he_can_lift(slurm: Ground) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can submit as another user")
    number = slurm.run(*SUBMIT, "--hold", "--partition=main", user=USER).strip()
    assert priority(slurm, number) == "PENDING 0 main"
    slurm.run("scontrol", "release", number, user=USER)
    assert "JobState=COMPLETED" in slurm.wait_until_over(number)
