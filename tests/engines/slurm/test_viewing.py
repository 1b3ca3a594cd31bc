"""Pictures of Slurm, one after the other, as views of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Semaphore
from typing import Any

import pytest

from fairlead.engines.interface import Cause, EngineError, Health
from fairlead.engines.observing import SeenJob, View
from fairlead.engines.slurm.observer import Observer
from fairlead.engines.slurm.reading.commands import AwayError, load
from fairlead.engines.slurm.reading.parse import parse
from fairlead.engines.slurm.reading.reader import Reader
from fairlead.engines.slurm.reading.values import Association, Gres, Picture, SlurmJob, SlurmNode
from fairlead.engines.slurm.viewing import Viewer
from fairlead.model.errors import InputError

PATIENCE = 60.0
"""Seconds for a reading, on a machine that is busy with other tests."""

SAVED = Path(__file__).parents[3] / "examples" / "slurm" / "saved"
NODES = tuple(
    SlurmNode(f"n{i}", 8, 8000, ("x",), (), ("main",), frozenset({"IDLE"}), "") for i in (1, 2)
)


def job(number: int, state: str = "PENDING", **more: Any) -> SlurmJob:
    plain = SlurmJob(
        number=number,
        array=0,
        elements=1,
        throttle=0,
        name="job",
        user="ana",
        account="vision",
        state=state,
        reason="Priority",
        partitions=("main",),
        nodes=1,
        most_nodes=0,
        running_on=0,
        tasks=1,
        cpus=2,
        cpus_per_gpu=0,
        memory=100,
        memory_of_node=False,
        per_job=(),
        per_node=(),
        per_task=(),
        features="",
        required="",
        excluded="",
        minutes=0,
        node_list="",
        beyond=(),
        priority=5,
    )
    return replace(plain, **more)


def running(
    number: int, where: str, cores: tuple[tuple[str, int], ...] = (), **more: Any
) -> SlurmJob:
    has: dict[str, Any] = {
        "node_list": where,
        "running_on": max(1, len(cores)),
        "cores": cores,
        "started": 50,
    }
    return job(number, "RUNNING", **has, **more)


ACCOUNTS = tuple(
    Association("here", account, user, "", "1", "")
    for account, user in (("vision", ""), ("vision", "ana"), ("maps", ""), ("maps", "ana"))
)


def seen(
    *jobs: SlurmJob,
    viewer: Viewer | None = None,
    nodes: tuple[SlurmNode, ...] = NODES,
    accounts: tuple[Association, ...] = ACCOUNTS,
) -> View:
    picture = Picture("22.05.8", "here", nodes, jobs, accounts, frozenset())
    return (viewer or Viewer()).view(picture, 100_000_000)


def test_a_job_asks_for_the_same_whether_it_waits_or_runs() -> None:
    viewer = Viewer()
    waits = seen(job(7, tasks=4, cpus=4), viewer=viewer).jobs["7"]
    assert (waits.waiting, waits.job.gang, waits.job.tenant) == (4, 4, "ana@vision")
    runs = seen(running(7, "n1", tasks=4, cpus=4), viewer=viewer).jobs["7"]
    assert runs.job is waits.job
    assert runs.running[0].machines == ("n1",) * 4
    assert runs.running[0].started == 50_000_000


def test_tasks_are_where_their_cores_are() -> None:
    cores = (("n1", 3), ("n2", 1))
    found = seen(running(7, "n[1-2]", tasks=4, cpus=4, cores=cores)).jobs["7"]
    assert found.running[0].machines == ("n1", "n1", "n1", "n2")


def test_what_nobody_can_say_where_it_lies_counts_as_taken() -> None:
    cores = (("n1", 2), ("n2", 1))
    view = seen(running(7, "n[1-2]", tasks=4, cpus=4, cores=cores))
    assert view.jobs == {}
    assert [node.machine.capacity["cpu"] for node in view.nodes] == [5, 6]
    assert "job 7 is not understood" in view.nodes[0].problem


UNEVEN: dict[str, Any] = {"nodes": 2, "tasks": 4, "cpus": 4, "cores": (("n1", 3), ("n2", 1))}
"""`-N 2 -n 4` as Slurm puts it on two empty nodes."""


def test_tasks_of_several_nodes_count_where_they_lie_also_once_it_is_over() -> None:
    viewer = Viewer()
    assert seen(job(7, nodes=2, tasks=4, cpus=4), viewer=viewer).jobs["7"].job.gang == 2
    runs = running(7, "n[1-2]", **UNEVEN)
    found = seen(runs, viewer=viewer).jobs["7"]
    assert found.job.gang == 4
    assert found.job.demand["cpu"] == 1
    assert found.running[0].machines == ("n1", "n1", "n1", "n2")
    over = seen(replace(runs, state="COMPLETED", ended=60), viewer=viewer).jobs["7"]
    assert over.job is found.job
    assert over.ended[0].part.machines == ("n1", "n1", "n1", "n2")
    even = seen(replace(runs, cores=(("n1", 2), ("n2", 2)))).jobs["7"]
    assert even.running[0].machines == ("n1", "n2")


def test_what_its_tasks_do_not_explain_counts_as_taken_where_it_lies() -> None:
    memory = seen(running(7, "n[1-2]", memory_of_node=True, **UNEVEN))
    assert [node.machine.capacity["cpu"] for node in memory.nodes] == [5, 7]
    assert "how its tasks lie" in memory.apart["7"].why
    devices = tuple((f"g{i}", (Gres("gpu", "a100", count),)) for i, count in ((1, 3), (2, 1)))
    nodes = tuple(
        replace(node, name=f"g{i}", gres=(Gres("gpu", "a100", 4),))
        for i, node in enumerate(NODES, 1)
    )
    cores = (("g1", 1), ("g2", 1))
    asked: dict[str, Any] = {
        "nodes": 2,
        "tasks": 2,
        "per_job": (Gres("gpu", "", 4),),
        "devices": devices,
    }
    row = running(7, "g[1-2]", cores=cores, **asked)
    assert [node.machine.capacity["gpu"] for node in seen(row, nodes=nodes).nodes] == [1, 3]


def test_elements_of_an_array_are_parts_and_no_more_wait_than_may_run() -> None:
    rows = (
        job(9, array=9, elements=8, throttle=3),
        running(10, "n1", array=9, element="0", throttle=3),
        running(11, "n2", array=9, element="1", throttle=3),
    )
    found = seen(*rows).jobs["9"]
    assert found.waiting == 1
    assert [part.name for part in found.running] == ["0", "1"]


def test_an_array_with_a_limit_says_how_many_of_it_wait() -> None:
    rows = (job(9, array=9, elements=5000, throttle=30), job(10, elements=2, array=10, throttle=3))
    said = {name: each.said for name, each in seen(*rows).jobs.items()}
    assert "5000 of its elements wait, of which 30 may start now" in said["9"]
    assert "may start now" not in said["10"]


def test_one_that_was_held_till_it_was_cancelled_is_over_and_not_gone() -> None:
    viewer = Viewer()
    gone = job(7, "CANCELLED", started=60, ended=60)
    assert seen(gone, viewer=viewer).jobs == {}
    held = job(7, reason="JobHeldUser"), job(8, reason="JobHeldUser", array=8, elements=2)
    assert set(seen(*held, viewer=viewer).apart) == {"7", "8"}
    one = job(9, "CANCELLED", array=8, element="1", started=60, ended=60)
    for _ in range(2):
        view = seen(gone, held[1], one, viewer=viewer)
        assert set(view.apart) == {"8"}
        assert view.jobs.keys() == {"7"}
        assert view.jobs["7"] == SeenJob(view.jobs["7"].job, 0)
    assert seen(held[1], viewer=viewer).jobs == {}


def test_elements_that_were_changed_are_a_job_of_their_own() -> None:
    viewer = Viewer()
    plain, changed = job(9, array=9, elements=3), job(12, array=9, element="5", cpus=4)
    assert set(seen(plain, viewer=viewer).jobs) == {"9"}
    both = seen(plain, changed, viewer=viewer).jobs
    assert {name: each.waiting for name, each in both.items()} == {"9": 3, "9-2": 1}
    assert set(seen(replace(plain, cpus=6), viewer=viewer).jobs) == {"9"}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"reason": "JobHeldUser"}, "Slurm holds it (JobHeldUser)"),
        ({"reason": "", "priority": 0}, "Slurm holds it (its priority is 0)"),
        ({"reason": "BeginTime"}, "Slurm holds it (BeginTime)"),
        ({"beyond": ("--exclusive",)}, "it is not understood: --exclusive"),
    ],
)
def test_what_claims_nothing_says_why(more: dict[str, Any], why: str) -> None:
    view = seen(job(7, **more))
    assert view.jobs == {}
    assert (view.apart["7"].why, view.apart["7"].tenant) == (why, "ana@vision")


def test_what_slurm_gave_back_goes_on_waiting() -> None:
    found = seen(job(7, reason="BeginTime", restarts=1)).jobs["7"]
    assert (found.waiting, found.again) == (1, frozenset([""]))
    assert found.said == "Slurm says: BeginTime, priority 5"


@pytest.mark.parametrize(
    ("state", "status", "cause", "code"),
    [
        ("COMPLETED", 0, Cause.EXITED, 0),
        ("FAILED", 3 << 8, Cause.EXITED, 3),
        ("FAILED", 9, Cause.SIGNALLED, 9),
        ("TIMEOUT", 15, Cause.TIME_LIMIT, 0),
        ("OUT_OF_MEMORY", 9, Cause.MEMORY, 0),
        ("CANCELLED", 15, Cause.STOPPED, 0),
        ("NODE_FAIL", 0, None, 0),
    ],
)
def test_ends_are_what_slurm_says(state: str, status: int, cause: Cause | None, code: int) -> None:
    row = running(7, "n1", ended=60, exit=status)
    (end,) = seen(replace(row, state=state)).jobs["7"].ended
    assert (end.cause, end.code, end.ended) == (cause, code, 60_000_000)


@pytest.mark.parametrize(
    ("user", "account", "tenant"),
    [
        ("ana", "maps", "ana@maps"),
        ("ana", "made-up", "ana@vision"),
        ("ana", "", "ana@vision"),
        ("bob", "maps", "bob"),
        ("bob", "made-up", "bob"),
    ],
)
def test_nobody_has_a_share_in_an_account_that_he_only_names(
    user: str, account: str, tenant: str
) -> None:
    view = seen(job(7, user=user, account=account))
    assert view.jobs["7"].job.tenant == tenant
    assert {each.name for each in view.tenants} == {"vision", "maps", "ana@vision", "ana@maps"} | {
        tenant
    }
    assert any("has no share in it" in note for note in view.notes) is (tenant != "ana@maps")
    alone = seen(job(7, user=user, account=account), accounts=())
    assert [each.name for each in alone.tenants] == [user]


def test_what_a_job_wants_at_least_of_a_node_names_the_nodes() -> None:
    has = (("--tmp", 0), ("--threads-per-core", 2))
    nodes = (replace(NODES[0], has=(("--tmp", 500), has[1])), replace(NODES[1], has=has))
    found = {
        least: seen(job(7, least=least), nodes=nodes).jobs["7"].job.machines
        for least in (
            (("--tmp", 500),),
            (("--threads-per-core", 2),),
            (("--sockets-per-node", 4),),  # what an older saving does not say is no hindrance
        )
    }
    assert list(found.values()) == [("n1",), None, None]
    why = seen(job(7, least=(("--tmp", 501),)), nodes=nodes).apart["7"].why
    assert (
        why
        == "it is not understood: no node is left by its constraint, partition, lists, --tmp 501"
    )


@pytest.mark.parametrize(
    ("states", "health"),
    [
        ({"IDLE", "POWERED_DOWN"}, Health.READY),
        ({"IDLE", "POWERING_DOWN"}, Health.READY),
        ({"MIXED", "NOT_RESPONDING", "POWERING_UP"}, Health.READY),
        ({"IDLE", "POWERED_DOWN", "DRAIN"}, Health.DRAINING),
        ({"MIXED", "NOT_RESPONDING"}, Health.DRAINING),
    ],
)
def test_a_node_that_saves_power_is_there_and_wakes_for_a_job(
    states: set[str], health: Health
) -> None:
    node = replace(NODES[0], states=frozenset(states))
    assert seen(running(7, "n1"), nodes=(node, NODES[1])).nodes[0].health is health


def test_one_that_was_cancelled_before_it_ran_has_no_end() -> None:
    assert seen(job(7, "CANCELLED")).jobs == {}


def test_a_closed_node_is_there_while_something_runs_on_it() -> None:
    closed = replace(NODES[0], states=frozenset({"DRAIN", "MIXED"}), reason="fan")
    view = seen(running(7, "n1"), nodes=(closed, NODES[1]))
    assert [(node.machine.name, node.health) for node in view.nodes] == [
        ("n1", Health.DRAINING),
        ("n2", Health.READY),
    ]
    assert view.nodes[0].problem == "Slurm says: drain, mixed (fan)"
    assert [node.machine.name for node in seen(nodes=(closed, NODES[1])).nodes] == ["n2"]


def test_the_recorded_cluster_is_seen_as_it_is_imported() -> None:
    view = Viewer().view(parse(load(SAVED)), 0)
    assert view.weighed
    assert {"1", "2", "3", "5", "16", "17", "22", "30"} <= view.jobs.keys()
    assert view.apart["18"].why == "Slurm holds it (Dependency)"
    assert {tenant.name: tenant.weight for tenant in view.tenants}["science"] == 60


def test_where_accounts_cannot_be_had_those_of_before_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fairlead.engines.slurm.reading.reader.SELDOM", 0.0)
    outputs, away = load(SAVED), True

    def asked(known: Mapping[str, str]) -> dict[str, str]:
        if away and "accounts.txt" not in known:
            raise AwayError("sacctmgr failed: Connection refused")
        return {name: text for name, text in outputs.items() if name not in known}

    reader = Reader(asked)
    with pytest.raises(AwayError):  # a tree of no accounts would be another one
        reader.read()
    away = False
    first = reader.read()
    away = True
    assert reader.read() == replace(first, dated="sacctmgr failed: Connection refused")
    notes = Viewer().view(reader.read(), 0).notes
    assert "accounts are as they were read before: sacctmgr failed: Connection refused" in notes
    away = False
    assert reader.read() == first


def test_the_version_is_asked_for_again_only_after_a_reading_that_failed() -> None:
    outputs, here, asked = load(SAVED), True, 0

    def ask(known: Mapping[str, str]) -> dict[str, str]:
        nonlocal asked
        if not here:
            raise EngineError("squeue failed: Unable to contact slurm controller")
        asked += "version.txt" not in known
        return {name: text for name, text in outputs.items() if name not in known}

    reader = Reader(ask)
    first = reader.read()
    assert reader.read() == first
    assert asked == 1
    here = False
    with pytest.raises(EngineError):
        reader.read()
    here, outputs["version.txt"] = True, "slurm-wlm 25.05.2"
    with pytest.raises(InputError, match=r"says 25\.05\.2"):
        reader.read()
    outputs["version.txt"] = load(SAVED)["version.txt"]
    assert reader.read() == first
    assert asked == 3


def test_readings_go_on_after_one_that_failed() -> None:
    outputs, granted, read = load(SAVED), Semaphore(1), Semaphore(0)
    fails = iter((False, True))

    def asked(known: Mapping[str, str]) -> dict[str, str]:
        assert granted.acquire(timeout=PATIENCE)
        if next(fails, False):
            raise EngineError("squeue failed: Unable to contact slurm controller")
        return {name: text for name, text in outputs.items() if name not in known}

    def read_again() -> None:
        granted.release()
        assert read.acquire(timeout=PATIENCE)

    observer = Observer(1000, asked, lambda: "here")
    observer.listen(read.release)
    try:
        assert observer.identity == "slurm:here"
        assert any("job 28 (count) is not understood" in each for each in observer.take_faults())
        first = observer.view()
        assert first is not None
        assert observer.view() is None  # it has nothing new
        read_again()
        with pytest.raises(EngineError, match="what is shown is"):
            observer.view()
        read_again()
        found = observer.view()
        assert found is not None
        assert found.tenants == first.tenants  # accounts are not asked for each time
        assert list(observer.take_faults()) == []
    finally:
        granted.release(1_000_000)  # the thread that reads is not waited for in vain
        observer.close()
