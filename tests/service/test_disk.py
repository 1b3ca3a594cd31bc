"""A real service whose disk is full, whose journal another program holds, and whose journal is
damaged or gone: it refuses what is new with a sentence, keeps what is known, never begins anew."""

from __future__ import annotations

import functools
import resource
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairlead.client.client import Client
from fairlead.client.errors import ServiceError
from fairlead.wire.kinds import JobState
from tests.cli.live.place import Served, lacking, serving, start
from tests.disks import fill, small_disk

CLUSTER = """\
machines:
  - {name: a, capacity: {cpu: 4, memory: 1GiB}}
"""

WORDS = ("--cluster", "cluster.yaml", "--no-auth", "--log", "off")

ROOM = 300_000
"""Bytes that files of the service may still grow by."""

PATIENCE = 180.0

BIG = {"TEXT": "x" * 20_000}
"""So that few jobs fill little room."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    return tmp_path


@contextmanager
def asked(served: Served) -> Iterator[Client]:
    with Client(served.url, timeout=60.0) as client:
        yield client


def job(number: int, **more: Any) -> dict[str, Any]:
    known = {"name": f"job-{number}", "demand": {"cpu": "0.5"}, "tasks": 1, "command": ["true"]}
    return known | more


def names(client: Client) -> set[str]:
    return {each.name for each in client.jobs(all=True)}


def until(what: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def all_over(client: Client) -> bool:
    return all(each.tasks.finished == 1 for each in client.jobs(all=True))


def is_over(client: Client, name: str) -> bool:
    return client.job(name).state is JobState.FINISHED


def limit_files(served: Served, size: int) -> None:
    """No file of the service grows beyond that."""
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def largest(served: Served) -> int:
    """Bytes of the largest file of the journal."""
    return max(each.stat().st_size for each in served.state.glob("journal.db*"))


def is_accepted(client: Client, number: int) -> bool:
    """Whether the service takes a job: asked again with its key until it says so."""
    try:
        client.submit(job(number, env=BIG), key=f"key-{number}")
    except ServiceError:
        return False
    return True


def refusal(folder: Path) -> str:
    """What a service says that does not start."""
    process = start(folder, "--listen", "127.0.0.1:0", "--state", str(folder / "state"), *WORDS)
    said, _ = process.communicate(timeout=240)
    assert process.returncode in (1, 2, 70), said
    return said


def test_a_full_disk_refuses_what_is_new_and_keeps_what_is_known(folder: Path) -> None:
    with serving(folder, *WORDS) as served:
        with asked(served) as client:
            client.submit(job(0))
            until(lambda: all_over(client))
            limit_files(served, largest(served) + ROOM)
            accepted, asked_for, said = {"job-0"}, {"job-0"}, ""
            number = 0
            while not said or client.ready().ready:  # one failure may make room for one more
                number = len(asked_for)
                assert number < 200
                asked_for.add(f"job-{number}")
                try:
                    client.submit(job(number, env=BIG), key=f"key-{number}")
                    accepted.add(f"job-{number}")
                except ServiceError as error:
                    said = str(error)
            assert "journal" in said
            assert "disk" in said
            assert accepted <= names(client) <= asked_for  # what is known is shown meanwhile
            limit_files(served, resource.RLIM_INFINITY)
            until(lambda: is_accepted(client, number))
            until(lambda: all_over(client))
            known = names(client)
            assert {*accepted, f"job-{number}"} <= known <= asked_for
        served.stop(signal.SIGKILL)
    with serving(folder, *WORDS) as served, asked(served) as client:
        assert names(client) == known


def test_a_full_disk_and_a_kill_lose_nothing(folder: Path) -> None:
    with serving(folder, *WORDS) as served:
        with asked(served) as client:
            client.submit(job(0))
            limit_files(served, largest(served) + ROOM)
            accepted = {"job-0"}
            while is_accepted(client, len(accepted)):
                accepted.add(f"job-{len(accepted)}")
        served.stop(signal.SIGKILL)
    with serving(folder, *WORDS) as served, asked(served) as client:
        # The one that was refused may have been done after all, and no other.
        assert accepted <= names(client) <= {*accepted, f"job-{len(accepted)}"}
        assert is_accepted(client, len(accepted))
        until(lambda: all_over(client))


@pytest.mark.deep
def test_a_start_on_a_full_disk_waits_for_room_and_knows_all_then(folder: Path) -> None:
    with small_disk(folder / "state", 16):
        with serving(folder, *WORDS) as served:
            with asked(served) as client:
                client.submit(job(0))
                until(lambda: all_over(client))
            served.stop(signal.SIGKILL)
        big = folder / "state" / "big"
        fill(big)
        state = str(folder / "state")
        process = start(folder, "--listen", "127.0.0.1:0", "--state", state, *WORDS)
        assert process.stdout is not None
        try:
            while "is full; make room: nothing that was accepted is lost; waiting" not in (
                line := process.stdout.readline()
            ):
                assert line, process.wait()
            big.unlink()
            while not (line := process.stdout.readline()).startswith("Ctrl-C"):
                assert line, process.wait()
            with Client((folder / "state" / "address").read_text().strip()) as client:
                assert names(client) == {"job-0"}
                client.submit(job(1))
                until(lambda: all_over(client))
        finally:
            process.kill()
            process.communicate()


def test_a_locked_journal_refuses_what_is_new_until_it_is_free(folder: Path) -> None:
    with serving(folder, *WORDS) as served, asked(served) as client:
        client.submit(job(0))
        until(lambda: all_over(client))
        other = sqlite3.connect(served.state / "journal.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            with pytest.raises(ServiceError, match="lock"):
                client.submit(job(1), key="key-1")
            assert names(client) == {"job-0"}
        finally:
            other.execute("ROLLBACK")
            other.close()
        until(lambda: is_accepted(client, 1) or names(client) == {"job-0", "job-1"})
        assert names(client) == {"job-0", "job-1"}


@pytest.fixture
def stopped(folder: Path) -> Path:
    """The folder of a service that knows three jobs and was killed."""
    with serving(folder, *WORDS) as served:
        with asked(served) as client:
            for number in range(3):
                client.submit(job(number))
            until(lambda: all_over(client))
        served.stop(signal.SIGKILL)
    return folder


def test_a_damaged_journal_is_refused_and_left_alone(stopped: Path) -> None:
    journal = stopped / "state" / "journal.db"
    with sqlite3.connect(journal) as each:  # what is beside it goes into it
        each.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    each.close()
    swap(journal, b'"job-1"', b'"job-9"')
    for _ in range(2):
        said = refusal(stopped)
        assert "journal" in said
        assert "damaged" in said
    swap(journal, b'"job-9"', b'"job-1"')
    with serving(stopped, *WORDS) as served, asked(served) as client:
        assert names(client) == {"job-0", "job-1", "job-2"}


def swap(path: Path, old: bytes, new: bytes) -> None:
    """Writes other bytes over the last ones that are these."""
    whole = path.read_bytes()
    at = whole.rindex(old)
    path.write_bytes(whole[:at] + new + whole[at + len(old) :])


def test_a_journal_that_is_gone_is_not_begun_anew(stopped: Path) -> None:
    state = stopped / "state"
    (stopped / "away").mkdir()
    moved = [each for each in state.glob("journal.db*") if not each.name.endswith("-head")]
    for each in moved:
        shutil.move(each, stopped / "away" / each.name)
    said = refusal(stopped)
    assert "journal" in said
    assert not (state / "journal.db").exists()
    for each in moved:
        shutil.move(stopped / "away" / each.name, each)
    with serving(stopped, *WORDS) as served, asked(served) as client:
        assert names(client) == {"job-0", "job-1", "job-2"}


def test_a_second_service_does_not_take_the_first_ones_journal(folder: Path) -> None:
    with serving(folder, *WORDS) as served, asked(served) as client:
        client.submit(job(0))
        state = str(folder / "state")
        with lacking(folder, "--listen", "127.0.0.1:0", "--state", state, *WORDS) as (_, said):
            assert "is being written by another service" in said
        until(lambda: all_over(client))


KEPT = """\
limits: {output_per_tenant: 4000000}
retention: {output: 4000000}
"""

FLOOD = "while sleep 0.01; do head -c 200000 /dev/zero; done"
"""Until it is stopped, ten times as much within seconds."""


def size(file: Path) -> int:
    """Bytes; 0 of a file that was removed meanwhile."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


@pytest.mark.deep
def test_a_tenants_outputs_fill_no_disk_and_take_none_of_anothers(folder: Path) -> None:
    (folder / "kept.yaml").write_text(KEPT)
    (folder / "cluster.yaml").write_text(CLUSTER + "tenants: [{name: loud}, {name: quiet}]\n")
    with serving(folder, *WORDS, "--config", "kept.yaml") as served, asked(served) as client:

        def written() -> int:
            found = (served.state / "local" / "output").rglob("*.std*")
            return sum(map(size, found))

        def says(name: str, task: int) -> bytes:
            return client.output(name, task, offset=-200).data

        client.submit(job(0, name="heard", tenant="quiet", command="echo heard"))
        until(functools.partial(is_over, client, "heard"))
        loud = job(0, name="loud", tenant="loud", command=FLOOD, tasks=4, demand={"cpu": "0.7"})
        client.submit(loud)
        until(lambda: all(b"is left out]" in says("loud", task) for task in range(4)))
        assert written() > 4_000_000
        for number in range(1, 4):  # one after the other, of a job that goes on
            client.submit(job(number, tenant="loud", command="head -c 3000000 /dev/zero"))
            until(functools.partial(is_over, client, f"job-{number}"))
        client.cancel("loud")
        until(lambda: written() < 4_100_000)  # all is over, and the first are forgotten
        assert says("heard", 0) == b"heard\n"
