"""A state folder whose journal is gone: nothing begins anew that was not asked to."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from fairlead.cli.main import Exit, main
from fairlead.client import Client, wait_for
from fairlead.engines.local.processes import process
from fairlead.model.job import Job
from tests.cli.live.place import PATIENCE, Served, serving, until


def client_of(served: Served) -> Client:
    return Client(served.url, (served.state / "admin-token").read_text().strip())


def content(folder: Path) -> dict[str, bytes]:
    """All files of it, but the lock of who looked."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return {name: data for name, data in found.items() if name != "journal.db-lock"}


@pytest.fixture(name="left")
def fixture_left(tmp_path: Path) -> tuple[Path, int]:
    """A state folder whose journal was removed while a task ran, and the task's process."""
    pid = tmp_path / "pid"
    with serving(tmp_path) as served:
        with client_of(served) as client:
            command = f"echo of another; touch mine; echo $$ >{pid}.new; mv {pid}.new {pid}"
            job = Job("old", {"cpu": 1}, tasks=1, command=f"{command}; exec sleep 1000")
            client.submit(job)
            until(pid.exists)
        served.stop(signal.SIGINT)
    for path in served.state.glob("journal.db*"):
        path.unlink()
    return served.state, int(pid.read_text())


def refused(capsys: pytest.CaptureFixture[str], state: Path, *words: str) -> str:
    """Its sentence; not a byte of the state has changed."""
    capsys.readouterr()
    before = content(state)
    command = ["serve", "--listen", "127.0.0.1:0", "--state", str(state), *words]
    assert main(command) == Exit.BAD_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert content(state) == before
    return err


def test_a_journal_begins_anew_only_when_it_is_told_to(
    left: tuple[Path, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state, pid = left
    try:
        for _ in range(2):  # the first refusal is not what makes the second
            said = refused(capsys, state)
            assert "the journal is gone" in said
            assert "holds admin-token, shares-history, local/output, local/engine" in said
            assert "--begin-anew" in said
        elsewhere = refused(capsys, state, "--journal", str(tmp_path / "other.db"))
        assert "the journal is gone" in elsewhere
        assert not (tmp_path / "other.db").exists()
        running = process(pid)
        assert running is not None
        assert not running.zombie
        with serving(tmp_path, "--begin-anew") as served:
            assert any("what an earlier journal left is in" in line for line in served.said)
            until(lambda: (found := process(pid)) is None or found.zombie)
            with client_of(served) as client:
                assert list(client.jobs(all=True)) == []
                client.submit(Job("new", {"cpu": 1}, tasks=1, command="ls; echo mine alone"))
                *_, last = wait_for(client, ["new"], timeout=PATIENCE)
                assert last["new"].tasks.finished == 1
                (record,) = list(client.jobs(all=True))
                output = client.output("new", 0)
            assert record.id == 1  # as the old one was: its outputs would have been this one's
            assert output.data == b"mine alone\n"
            served.stop(signal.SIGINT)
        (aside,) = state.glob("before-*")
        (kept,) = (aside / "output").rglob("*.stdout")
        assert kept.read_text() == "of another\n"
        names = sorted(content(state))
        words = ["serve", "--listen", "127.0.0.1:0", "--state", str(state), "--begin-anew"]
        assert main(words) == Exit.BAD_INPUT
        assert "this one's is there" in capsys.readouterr().err
        assert sorted(content(state)) == names
        with serving(tmp_path) as served, client_of(served) as client:
            assert client.job("new").tasks.finished == 1
    finally:
        if (found := process(pid)) is not None and not found.zombie:
            os.kill(pid, signal.SIGKILL)
