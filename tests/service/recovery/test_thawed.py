"""A leader that was frozen for longer than its lease, and a follower that is cut off, as processes
on a real database: what reaches them meanwhile, and what they say and do once it is over."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from fairlead.client.client import Client
from fairlead.model.job import Job
from fairlead.service.journal.leases import RUN_OUT
from fairlead.service.journal.places import open_reader
from fairlead.wire.kinds import JobState
from tests.cli.live.place import CLUSTER, PATIENCE, serving, until
from tests.service.failovers import Way
from tests.service.recovery.test_failover import follows, get, leads
from tests.surroundings import NOBODY


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Two places for services, with one cluster."""
    found = [tmp_path / "a", tmp_path / "b"]
    for folder in found:
        folder.mkdir()
        (folder / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    return found


def once(lines: Path) -> Job:
    """A job that notes each time that it begins."""
    script = 'echo "$FAIRLEAD_JOB $FAIRLEAD_ATTEMPT" >> ' + str(lines)
    return Job(lines.name, {"cpu": 1}, tasks=1, command=script, rerunnable=False)


def late(name: str) -> dict[str, Any]:
    """A submission that comes to the wrong one."""
    return {"jobs": [{"name": name, "demand": {"cpu": 1}, "tasks": 1, "command": ["true"]}]}


@pytest.mark.deep
def test_what_reaches_a_leader_while_it_is_frozen_is_neither_done_nor_believed(
    database: str, folders: list[Path], tmp_path: Path
) -> None:
    words = ("--cluster", "cluster.yaml", "--journal", database, "--no-auth")
    with (
        serving(folders[0], *words) as one,
        serving(folders[1], *words) as other,
        ThreadPoolExecutor(8) as pool,
        httpx2.Client(base_url=one.url, timeout=PATIENCE, verify=NOBODY) as frozen,
    ):
        with Client(one.url) as client:
            client.submit(once(tmp_path / "before"))
            until(lambda: client.job("before").state is JobState.FINISHED)
        one.process.send_signal(signal.SIGSTOP)
        reads = [pool.submit(frozen.get, "/v1/jobs?all=true") for _ in range(3)]
        ready = pool.submit(frozen.get, "/v1/ready")
        writes = [
            pool.submit(frozen.post, "/v1/jobs", json=late(f"late-{number}")) for number in range(3)
        ]
        until(lambda: leads(other.url))
        with Client(other.url) as client:
            client.submit(once(tmp_path / "after"))
            until(lambda: client.job("after").state is JobState.FINISHED)
        one.process.send_signal(signal.SIGCONT)
        for each in writes:
            try:
                assert each.result().status_code in (421, 503)
            except httpx2.TransportError:  # it begins anew, and drops what it had not heard
                continue
        for each in [*reads, ready]:
            try:
                answer = each.result()
            except httpx2.TransportError:
                continue
            # What it knows may be old, and it says so; what it says of itself is true.
            assert answer.status_code == 503 or float(answer.headers["fairlead-age"]) > 0
        until(lambda: follows(one.url, other.url))
        assert leads(other.url)
        with Client(other.url) as client:
            assert sorted(row.name for row in client.jobs(all=True)) == ["after", "before"]
    reader = open_reader(database)
    launched = [entry.body["job"] for entry in reader.read() if entry.kind == "launch"]
    reader.close()
    assert launched == ["before", "after"]
    for name in launched:
        assert (tmp_path / name).read_text() == f"{name} 1\n"


@pytest.mark.deep
def test_a_follower_that_is_cut_off_says_how_old_it_is_and_takes_nothing_over(
    database: str, folders: list[Path], tmp_path: Path
) -> None:
    way = Way(tmp_path / "way", Path(database.rpartition("host=")[2]))
    place = f"{database.partition('?')[0]}?host={way.folder}"
    words = ("--cluster", "cluster.yaml", "--no-auth", "--journal")
    with (
        serving(folders[0], *words, database) as one,
        serving(folders[1], *words, place) as other,
        Client(one.url) as client,
    ):
        client.submit(once(tmp_path / "first"))
        until(lambda: "first" in get(other.url, "/v1/jobs?all=true").text)
        way.stalled = True
        client.submit(once(tmp_path / "second"))
        until(lambda: client.job("second").state is JobState.FINISHED)

        def age() -> float:
            return float(get(other.url, "/v1/jobs?all=true").headers["fairlead-age"])

        until(lambda: age() > 2 * RUN_OUT)
        assert "second" not in get(other.url, "/v1/jobs?all=true").text
        refused = httpx2.post(
            f"{other.url}/v1/jobs",
            json=late("third"),
            timeout=PATIENCE,
            verify=NOBODY,
        )
        assert refused.status_code in (421, 503)
        assert leads(one.url)
        way.stalled = False
        until(lambda: age() < RUN_OUT)
        until(lambda: "second" in get(other.url, "/v1/jobs?all=true").text)
        assert leads(one.url)
        assert follows(other.url, one.url)
        assert client.job("second").state is JobState.FINISHED
    reader = open_reader(database)
    assert [e.kind for e in reader.read()].count("service_started") == 1
    reader.close()
