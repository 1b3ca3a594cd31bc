"""A real Slurm with slurmdbd: whose its jobs are, what they may, and who may ask and write."""

from __future__ import annotations

import functools
import signal
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from fairlead.engines.interface import EngineError
from fairlead.engines.slurm.importing import translate
from fairlead.engines.slurm.observer import cluster_name
from fairlead.engines.slurm.orderer import Orderer
from fairlead.engines.slurm.ordering import SPACE, write_factors
from fairlead.engines.slurm.reading.commands import ask
from tests.engines.slurm.ground import Ground, path
from tests.engines.slurm.test_observe import OFTEN, Watch

pytestmark = pytest.mark.slow

SOMEBODY = "uucp"
"""A user without any right, who has no job and no account."""

PRIVATE = "PrivateData=jobs\n"


@pytest.fixture
def empty(accounted: Ground) -> Iterator[Ground]:
    """The cluster, and at the end again without jobs."""
    yield accounted
    for user in ("root", "games", "lp", "man"):
        accounted.run("scancel", "-u", user)
    accounted.wait_until_idle()


@pytest.fixture
def as_somebody(empty: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    """The cluster, asked by commands of which each is run by a user without rights."""
    for name in ("sinfo", "squeue", "scontrol", "sacctmgr", "sshare", "sprio", "sdiag"):
        tool = tmp_path / name
        # PATH is left out so that it finds Slurm's own.
        tool.write_text(
            f"#!/bin/sh\nPATH={path()}\n"
            f'exec setpriv --reuid={SOMEBODY} --regid={SOMEBODY} --clear-groups {name} "$@"\n'
        )
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{path()}")
    monkeypatch.setenv("SLURM_CONF", str(empty.conf))
    return empty


def sbatch(ground: Ground, user: str, account: str, *words: str) -> str:
    asked = ("sbatch", "--parsable", "-o", "/dev/null", "-A", account, *words)
    return ground.run(*asked, "--wrap=sleep 1000", user=user).strip()


def weights(ground: Ground) -> dict[tuple[str, str], str]:
    """The shares of accounts (their user is empty) and of users, as slurmctld has them."""
    rows = [line.split("|") for line in ground.run("sshare", "-ahP").splitlines()]
    found = {(row[0].strip(), row[1]): row[2] for row in rows}
    return {key: share for key, share in found.items() if key[0] != "root"}


@pytest.fixture
def watch(empty: Ground, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    """A service that observes, and reads the accounts each time."""
    monkeypatch.setattr("fairlead.engines.slurm.reading.reader.SELDOM", 0.0)
    made = Watch(empty, monkeypatch)
    yield made
    made.service.close()


def test_the_tree_of_tenants_is_that_of_a_real_sshare_and_changes_are_followed(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairlead.engines.slurm.reading.reader.SELDOM", 0.5)

    def agrees() -> bool:
        tenants = watch.service.records.tenants
        found = {(t.name, ""): t.weight for t in tenants.values() if "@" not in t.name}
        for each in tenants.values():
            user, at, account = each.name.partition("@")
            if at:
                assert each.parent == account
                found[account, user] = each.weight
        wanted = {key: Fraction(share) for key, share in weights(watch.ground).items()}
        return found == wanted

    watch.until(agrees)
    tenants = watch.service.records.tenants
    assert tenants["maps"].parent == "vision"
    assert tenants["games@maps"].weight == 5
    change = ("sacctmgr", "--immediate", "modify")
    watch.ground.run(*change, "user", "games", "where", "account=maps", "set", "fairshare=7")
    watch.ground.run(*change, "account", "vision", "set", "grptres=gres/gpu=6")
    try:
        watch.until(lambda: tenants["games@maps"].weight == 7 and agrees())
        watch.until(lambda: tenants["vision"].limit == {"gpu": 6})
        runs = sbatch(watch.ground, "games", "maps", "--gres=gpu:a100:4", "-C", "a100")
        alike = sbatch(watch.ground, "man", "maps", "--gres=gpu:a100:4", "-C", "a100")
        other = sbatch(watch.ground, "man", "physics", "-c", "2")
        # The limit of its account holds one of them: it claims nothing and is in nobody's way.
        watch.until(lambda: bool(watch.where(runs)) and bool(watch.where(other)))
        watch.until(lambda: alike in watch.service.apart)
        assert watch.service.apart[alike].why == "Slurm holds it (AssocGrpGRES)"
        assert watch.service.records.names[runs].job.tenant == "games@maps"
        assert watch.service.records.names[other].job.tenant == "man@physics"
    finally:
        watch.ground.run(*change, "user", "games", "where", "account=maps", "set", "fairshare=5")
        watch.ground.run(*change, "account", "vision", "set", "grptres=gres/gpu=-1")
    watch.until(lambda: not tenants["vision"].limit and bool(watch.where(alike)))


def test_gpus_are_billed_where_a_job_takes_most_of_them(empty: Ground) -> None:
    """The fair tree of the comparison is at its best."""
    shown = [
        empty.run("scontrol", "-o", "show", "job", sbatch(empty, "man", "maps", *words))
        for words in (("-c", "3"), ("-c", "3", "--gres=gpu:v100:2", "-C", "v100"))
    ]
    assert " TRES=cpu=3,mem=300M,node=1,billing=3 " in shown[0]
    assert "billing=16,gres/gpu=2" in shown[1]


def test_a_user_without_rights_may_observe(as_somebody: Ground) -> None:
    job = sbatch(as_somebody, "games", "maps", "-c", "2")
    outputs = ask()
    _, jobs, _ = translate(outputs)
    assert [(each.name, each.tenant) for each in jobs] == [(job, "games@maps")]
    cluster, _, _ = translate(outputs)
    assert {t.name for t in cluster.tenants} >= {"maps", "lp@physics", "man@maps"}
    with pytest.raises(EngineError, match="Invalid user id"):
        write_factors({job: 5})


def test_what_is_private_an_operator_sees_and_may_order(as_somebody: Ground) -> None:
    ground = as_somebody
    before = ground.conf.read_text(encoding="utf-8")
    manage = ("sacctmgr", "--immediate")
    try:
        ground.reconfigure(before + PRIVATE)
        blocks = sbatch(ground, "games", "maps", "-w", "d1", "-c", "8")
        waits = sbatch(ground, "lp", "physics", "-w", "d1", "-c", "8")
        assert translate(ask())[1] == ()
        # The two lines of the how-to.
        ground.run(*manage, "add", "user", SOMEBODY, "account=root")
        ground.run(*manage, "modify", "user", SOMEBODY, "set", "adminlevel=Operator")
        assert {job.name for job in translate(ask())[1]} == {blocks, waits}
        write_factors({waits: 12345})
        assert priority(ground, waits) >= 12345
        with pytest.raises(AssertionError, match="denied"):  # and no more than that: no node
            ground.run("scontrol", "update", "NodeName=c1", "State=DRAIN", user=SOMEBODY)
    finally:
        ground.reconfigure(before)
        ground.run(*manage, "delete", "user", SOMEBODY)


AWAY = 3.0
"""Seconds for which slurmctld is away: a minute by `--cases 20`."""


@pytest.mark.deep
def test_slurmctld_is_killed_and_away_under_services_that_observe_and_order(
    empty: Ground, monkeypatch: pytest.MonkeyPatch, cases: int
) -> None:
    order = Watch(empty, monkeypatch, lambda: Orderer(OFTEN, ask, cluster_name))
    both = (order, Watch(empty, monkeypatch))

    def until(seen: Callable[[Watch], bool]) -> None:
        for each in both:
            each.until(functools.partial(seen, each))

    try:
        array = sbatch(empty, "games", "maps", "-c", "8", "-w", "d1", "--array=1-3")
        until(lambda watch: len(watch.where(array)) == 1)
        behind = sbatch(empty, "lp", "physics", "-c", "8", "-w", "d1")
        until(lambda watch: watch.waits(behind) == 1)
        order.until(lambda: priority(empty, behind) >= SPACE)
        time.sleep(6)  # slurmctld writes down what it knows each five seconds
        late = [sbatch(empty, "lp", "physics", "-c", "2", "-w", f"d{n}") for n in (2, 3)]
        until(lambda watch: all(watch.where(each) for each in late))
        numbers = [watch.service.records.names[array].id for watch in both]
        empty.kill("slurmctld", signal.SIGKILL)
        try:
            until(lambda watch: not watch.service.ready)
            seqs = [watch.service.records.seq for watch in both]
            end = time.monotonic() + AWAY * cases
            while time.monotonic() < end:
                for watch in both:
                    watch.step()
                    assert not watch.service.ready
            assert [watch.service.records.seq for watch in both] == seqs
            assert all(watch.where(array) == {"1": ["d1"]} for watch in both)
        finally:
            empty.start("slurmctld")
            empty.wait_until_up()
        # What slurmctld forgot is gone here too, and what it lets wait again waits.
        until(lambda watch: watch.service.ready and watch.agrees())
        until(lambda watch: len(watch.where(array)) + watch.waits(array) == 3)
        assert [watch.service.records.names[array].id for watch in both] == numbers
        order.until(lambda: priority(empty, behind) >= SPACE)
    finally:
        for watch in both:
            watch.service.close()


def priority(ground: Ground, job: str) -> int:
    """Slurm's priority of a job that waits."""
    return int(ground.run("squeue", "-h", "-j", job, "-o", "%Q"))
