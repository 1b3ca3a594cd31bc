"""Users' own jobs in a partition that Fairlead places, on a real Slurm: by `fairlead serve`."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.live.place import Served, Terminal, administrator, serving, start, until
from tests.engines.slurm.ground import Ground, path

pytestmark = pytest.mark.slow

USER = "nobody"
"""Somebody without any rights in Slurm."""

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "place-on-slurm.md"

LONG = "--wrap=sleep 1000"

OPTIONS = ("--engine", "slurm", "--mode", "place", "--partition", "fair", "--config", "config.yaml")


@dataclass
class Site:
    """A partition of the tests' Slurm, and a state folder of the service that places there."""

    slurm: Ground
    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def submit(self, *words: str, user: str = USER) -> str:
        """The number of a job that a user submits."""
        asked = ("sbatch", "--parsable", "--output=/dev/null", "--partition=fair", *words)
        return self.slurm.run(*asked, user=user).strip()

    def state(self, job: str) -> str:
        """A job's, or a part's, in Slurm: its state, its priority, and its nodes."""
        shown = ("squeue", "-h", "--states=all", "--jobs", job, "--format=%T %Q %N")
        return " ".join(self.slurm.run(*shown).split())

    def root(self, *words: str) -> str:
        return self.slurm.run("scontrol", *words)

    def user(self, *words: str, user: str = USER) -> bool:
        """Whether Slurm lets the owner do this."""
        done = subprocess.run(
            ("scontrol", *words),
            user=user, env=self.slurm.environment, cwd="/", capture_output=True, check=False,
        )  # fmt: skip
        return done.returncode == 0

    def shell(self, served: Served) -> Terminal:
        return administrator(served, self.folder, self.monkeypatch, self.capsys)

    def why(self, shell: Terminal, job: str) -> str:
        """All that `fairlead why` says; nothing while the job was not read yet."""
        code, out, _ = shell("why", job)
        return out if code == 0 else ""


@pytest.fixture(name="site")
def fixture_site(
    slurm: Ground, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Site]:
    if os.geteuid() != 0:
        pytest.skip("only root can submit as another user")
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    with tempfile.TemporaryDirectory(prefix="fairlead-adopting-") as made:
        folder = Path(made)
        folder.chmod(0o711)
        (folder / "config.yaml").write_text("read_every: 600ms\n", encoding="utf-8")
        yield Site(slurm, folder, monkeypatch, capsys)
        slurm.run("scancel", "--partition=fair")
        slurm.run("scancel", "--partition=main")
        until(lambda: not slurm.run("squeue", "-h").strip())
        slurm.wait_until_idle()


def tasks(shell: Terminal, job: str) -> dict[str, int]:
    """How many tasks of a job are in which state; empty where it is not known."""
    rows = {row["name"]: row["tasks"] for row in shell.json("jobs", "--all")["jobs"]}
    found: dict[str, int] = rows.get(job, {})
    return {state: count for state, count in found.items() if count}


def running(shell: Terminal) -> dict[str, int]:
    """How many tasks each tenant runs."""
    return {each["name"]: each["running"] for each in shell.json("shares")["tenants"]}


def test_users_jobs_are_released_to_nodes_in_the_fair_order(site: Site) -> None:
    run = site.slurm.run
    with serving(site.folder, *OPTIONS) as served:
        shell = site.shell(served)
        gang = site.submit("--nodes=2", "--ntasks-per-node=3", LONG)
        array = site.submit("--array=1-3%2", "--cpus-per-task=2", "--constraint=amd", LONG)
        asked = ("--constraint=v100", "--cpus-per-task=8", LONG)
        first = [site.submit(*asked) for _ in range(4)]
        never = site.submit(*asked, "--exclude=v[1-2]")
        until(lambda: site.state(gang) == "RUNNING 0 c[1-2]")
        until(lambda: tasks(shell, array) == {"running": 2})
        assert run("squeue", "-h", "-r", "-t", "PD", "-j", array, "-o", "%K").split() == ["3"]
        # Both V100 nodes are one user's; another one who comes later is before all he has waiting.
        until(lambda: [tasks(shell, each) for each in first[:2]] == [{"running": 1}] * 2)
        later = site.submit(*asked, user="games")
        until(lambda: tasks(shell, later) == {"waiting": 1})
        said = site.why(shell, later)
        assert "Slurm holds it until Fairlead releases it to a node" in said
        run("scancel", first[0])
        until(lambda: site.state(later).startswith("RUNNING 0 v"))
        assert [site.state(each) for each in first[2:]] == ["PENDING 0", "PENDING 0"]
        # What is not a thing of Fairlead's is refused here, and what is done there is followed.
        assert "Slurm has job" in shell.refused("cancel", later)
        run("scancel", first[1])
        until(lambda: site.state(first[2]).startswith("RUNNING"))
        assert tasks(shell, first[1]) == {"failed": 1}
        # A constraint that no node satisfies waits, and says why.
        until(lambda: tasks(shell, never) == {"waiting": 1})
        assert "it can never run" in site.why(shell, never)


def test_nobody_jumps_the_queue_and_administrators_may(site: Site) -> None:
    with serving(site.folder, *OPTIONS) as served:
        shell = site.shell(served)
        asked = ("--nodelist=d1", "--cpus-per-task=8", LONG)
        runs = site.submit(*asked)
        until(lambda: tasks(shell, runs) == {"running": 1})
        waits = site.submit(*asked, user="games")
        until(lambda: tasks(shell, waits) == {"waiting": 1})
        for words in (
            ("release", waits),
            ("top", waits),
            ("hold", waits),
            ("uhold", waits),
            ("requeue", waits),
            ("update", f"JobId={waits}", "Priority=9"),
            ("update", f"JobId={waits}", "StartTime=now"),
            ("update", f"JobId={waits}", "Partition=main"),
            ("update", f"JobId={waits}", "ReqNodeList=d2"),
            ("update", f"JobId={waits}", "AdminComment=fairlead:0:asked="),
        ):
            assert not site.user(*words, user="games"), words
        # What runs and is given back by its owner waits for a turn again.
        assert site.user("requeue", runs)
        until(lambda: site.state(waits) == "RUNNING 0 d1")
        assert not site.user("release", runs)
        assert not site.user("update", f"JobId={runs}", "StartTime=now")
        assert site.state(runs) == "PENDING 0"
        # An administrator's release: it starts where Slurm wants it, and is told.
        mine = site.submit("--nodelist=d1", "--cpus-per-task=8", "--exclude=d2", LONG)
        until(lambda: tasks(shell, mine) == {"waiting": 1})
        site.root("release", mine)
        # Only then: a job whose own nodes are free is released to them by Fairlead itself.
        site.root("update", f"JobId={mine}", "ReqNodeList=d3")
        until(lambda: site.state(mine).startswith("RUNNING"))
        until(lambda: "counts as taken on d3" in site.why(shell, mine))
        until(lambda: running(shell) == {"games": 1, "nobody": 0})
        # His change: it goes on as what it asks for now.
        small = site.submit(*asked)
        until(lambda: tasks(shell, small) == {"waiting": 1})
        site.root("update", f"JobId={small}", "ReqNodeList=d2")
        until(lambda: site.state(small) == "RUNNING 0 d2")
        # It has its turn again once it has rested.
        until(lambda: tasks(shell, runs) == {"waiting": 1})
        # His own hold, and the way back.
        site.root("hold", runs)
        until(lambda: "Slurm holds it (JobHeldAdmin)" in site.why(shell, runs))
        site.slurm.run("scancel", waits)
        until(lambda: tasks(shell, waits) == {"failed": 1})
        assert site.state(runs) == "PENDING 0"
        site.root("uhold", runs)
        until(lambda: site.state(runs) == "RUNNING 0 d1")


def test_what_waits_for_reasons_of_its_own_says_so(site: Site) -> None:
    with serving(site.folder, *OPTIONS) as served:
        shell = site.shell(served)
        runs = site.submit(LONG)
        job = runs
        for words, why in (
            ((f"--dependency=afterok:{runs}",), "it depends on other jobs (afterok:"),
            (("--begin=now+1hour",), "it is not to start before another"),
            (("--exclusive",), "it is not understood: --exclusive; it waits until an admin"),
        ):
            job = site.submit(*words, LONG)
            until(lambda job=job, why=why: why in site.why(shell, job))  # type: ignore[misc]
            assert site.state(job) == "PENDING 0"
        site.root("release", job)
        until(lambda: site.state(job).startswith("RUNNING"))
        until(lambda: [each["running"] for each in shell.json("shares")["tenants"]] == [1])


def test_what_a_user_asks_for_is_his_share_in_whatever_words(site: Site) -> None:
    with serving(site.folder, *OPTIONS) as served:
        shell = site.shell(served)
        # Slurm would take as many nodes as it may: what it took beyond was nobody's share.
        wanted = (
            (("--nodes=1-4", "--ntasks=8", "--nodelist=d1"), "d1", 1),
            (("--nodes=2-4", "--ntasks=8", "--constraint=v100"), "v[1-2]", 2),
            (("--spread-job", "--ntasks=8", "--nodelist=d2"), "d2", 8),
            (("--overcommit", "--ntasks=16", "--nodes=1", "--exclude=a[1-2]"), "c1", 1),
            (("--mincpus=8", "--exclude=v[1-2],d[1-2]"), "d3", 1),
            (("--partition=fair,fair",), "c1", 1),
            (("--nodelist=c1",), "c1", 1),
        )
        jobs = [site.submit(*words, LONG) for words, _, _ in wanted]
        gang = ("--nodes=1-2", "--ntasks=4", LONG)
        never = site.submit("--ntasks-per-node=1", *gang)
        least = site.submit("--tmp=100", LONG)  # more than any node has
        job = jobs[-1]
        until(lambda: site.state(job) == "RUNNING 0 c1" and tasks(shell, job) == {"running": 1})
        assert not site.user("update", f"JobId={job}", "NumNodes=1")
        # Given back to be held, 22.05 shows a flag in the place of its state: it is not over.
        assert site.user("requeuehold", "State=SpecialExit", job)
        until(lambda: "Restarts=1" in site.root("show", "job", job))
        for each, (_, where, count) in zip(jobs[:-1], wanted, strict=False):
            until(lambda each=each, where=where: site.state(each) == f"RUNNING 0 {where}")  # type: ignore[misc]
            until(lambda each=each, count=count: tasks(shell, each) == {"running": count})  # type: ignore[misc]
        # What is impossible is held again as before: Slurm would start it at the next change.
        until(lambda: "it is tried again after 5 min" in site.why(shell, never))
        until(lambda: "Reason=JobHeldUser" in site.root("show", "job", never))
        assert "ReqNodeList=(null)" in site.root("show", "job", never)
        # As Slurm shows --nodes=1-2 of four tasks; it was 1-1 meanwhile.
        assert "NumNodes=2-2" in site.root("show", "job", never)
        assert not site.user("update", f"JobId={never}", "JobName=now")
        assert site.state(never) == "PENDING 0"
        until(lambda: "lists, --tmp 100" in site.why(shell, least))
        until(lambda: site.state(job) == "RUNNING 0 c1")  # it has rested
        until(lambda: tasks(shell, job) == {"running": 1})  # Slurm hears of it a step earlier


@pytest.mark.deep
def test_a_node_and_the_service_die_and_nothing_runs_twice(site: Site) -> None:
    starts = site.folder / "starts"
    starts.touch()
    starts.chmod(0o666)

    def started() -> int:
        return len(starts.read_text().split())

    once = f"--wrap=echo $SLURMD_NODENAME >>{starts}; exec sleep 1000"
    with serving(site.folder, *OPTIONS) as served:
        shell = site.shell(served)
        job = site.submit("--constraint=new&amd", "--cpus-per-task=5", "--exclude=a[1-2]", once)
        until(lambda: tasks(shell, job) == {"running": 1} and started() == 1)
        until(lambda: site.state(job).startswith("RUNNING 0"))
        node = starts.read_text().split()[0]
        served.process.kill()
        served.process.wait()
    # Slurm gives it back by itself, and it waits, whoever is there.
    site.root("update", f"NodeName={node}", "State=DOWN", "Reason=tried")
    try:
        until(lambda: site.state(job) == "PENDING 0")
        with serving(site.folder, *OPTIONS) as served:
            shell = site.shell(served)
            until(lambda: started() == 2 and tasks(shell, job) == {"running": 1})
            until(lambda: site.state(job).startswith("RUNNING 0"))
            shown = site.root("show", "job", job)
            other = site.submit("--nodelist=d3", LONG)
            until(lambda: site.state(other) == "RUNNING 0 d3")
            assert re.search("AdminComment=fairlead:[0-9a-f]{12}:1:asked=", shown)
    finally:
        until(lambda: "down" not in site.slurm.run("sinfo", "-h", "-n", node, "-O", "StateLong"))
    # And back, as the how-to says it.
    left = site.submit("--nodelist=d1", "--cpus-per-task=8", "--wrap=true")
    site.root("requeue", job)
    until(lambda: site.state(job) == "PENDING 0")
    assert site.state(left) == "PENDING 0"
    page = PAGE.read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.endswith("| scontrol >/dev/null")]
    back, take_off, release = lines
    site.slurm.run("sh", "-c", back)
    site.slurm.run("sh", "-c", take_off)
    assert "AdminComment=fairlead" not in site.root("show", "job", other)
    shown = site.root("show", "job", job)
    assert "ReqNodeList=(null)" in shown
    assert "AdminComment=fairlead" not in shown
    site.slurm.run("sh", "-c", release)
    until(lambda: site.state(left).startswith("COMPLETED"))
    assert site.state(job) == "PENDING 1"


@pytest.mark.deep
@pytest.mark.parametrize("word", ["ReqNodeList=", "release "])
def test_the_service_is_killed_as_it_releases_and_nothing_is_held_for_ever(
    site: Site, word: str, tmp_path: Path
) -> None:
    """It is killed once Slurm has done what has this word: a job got its nodes, and waits for its
    release; or is released, and nobody knows."""
    tool, armed = tmp_path / "scontrol", tmp_path / "armed"
    tool.write_text(
        f"#!/bin/sh\nPATH={path()}\n"
        '[ $# -gt 0 ] && exec scontrol "$@"\n'
        f'said=$(cat); echo "$said" | scontrol\n'
        f'case "$said" in *"{word}"*) rm {armed} 2>/dev/null && kill -9 $PPID;; esac\n'
    )
    tool.chmod(0o755)
    site.monkeypatch.setenv("PATH", f"{tmp_path}:{path()}")
    starts = site.folder / "starts"
    starts.touch()
    starts.chmod(0o666)
    once = f"--wrap=echo $SLURM_JOB_ID >>{starts}; exec sleep 1000"
    jobs = [site.submit("--nodelist=d1", "--cpus-per-task=4", once) for _ in range(3)]
    armed.touch()
    state = str(site.folder / "state")
    # Perhaps it is killed before it says that it is there.
    with start(site.folder, "--listen", "127.0.0.1:0", "--state", state, *OPTIONS) as first:
        first.communicate()
    assert not armed.exists()
    before = [site.state(each) for each in jobs]
    assert [state.startswith("PENDING 0") for state in before].count(True) == (
        3 if word == "ReqNodeList=" else 1
    )
    with serving(site.folder, *OPTIONS) as served:
        shell = site.shell(served)

        def run() -> list[str]:
            return [each for each in jobs if tasks(shell, each) == {"running": 1}]

        until(lambda: len(run()) == 2)
        two = run()  # any: one that was launched and did not begin has had its turn all the same
        (third,) = set(jobs) - set(two)
        until(lambda: [site.state(each) for each in two] == ["RUNNING 0 d1"] * 2)
        until(lambda: site.state(third) == "PENDING 0")
        assert "AdminComment=fairlead" not in site.root("show", "job", third)
        site.slurm.run("scancel", two[0])
        until(lambda: site.state(third) == "RUNNING 0 d1")
        until(lambda: [each["running"] for each in shell.json("shares")["tenants"]] == [2])
    assert sorted(starts.read_text().split()) == sorted(jobs)
