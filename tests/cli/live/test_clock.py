"""A service that is started while the machine's clock is wrong."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fairlead.cli.main import Exit, main
from fairlead.client import Client, wait_for
from fairlead.model.job import Job
from fairlead.service.journal.places import open_reader
from tests.cli.live.place import PATIENCE, Served, environment, serving, until
from tests.zygote.forked import Forked

DAYS = 86_400 * 10**9


def client_of(served: Served) -> Client:
    return Client(served.url, (served.state / "admin-token").read_text().strip())


def finished(folder: Path) -> Path:
    """The state of a service that ran one job and was stopped."""
    with serving(folder) as served:
        with client_of(served) as client:
            client.submit(Job("kept", {"cpu": 1}, tasks=1, command="true"))
            *_, last = wait_for(client, ["kept"], timeout=PATIENCE)
            assert last["kept"].tasks.finished == 1
        served.stop(signal.SIGINT)
        return served.state


@pytest.mark.parametrize("off", [400, -3])
def test_a_start_with_a_wrong_clock_is_refused_and_forgets_nothing(
    off: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    state = finished(tmp_path)
    before = list(open_reader(state).read())
    clock = time.time_ns
    words = {
        "serve": ["--listen", "127.0.0.1:0", "--state", str(state)],
        "journal prune": ["--keep", "1d", "--state", str(state)],
        "journal adopt": ["--old-machine-is-gone", "--state", str(state)],
    }
    with monkeypatch.context() as patched:
        patched.setattr(time, "time_ns", lambda: clock() + off * DAYS)
        capsys.readouterr()
        for command, options in words.items():
            assert main([*command.split(), *options]) == Exit.BAD_INPUT
            printed = capsys.readouterr()
            assert printed.out == ""
            assert (
                f"{abs(off)} days {'after' if off > 0 else 'before'} the journal's last entry"
                in (printed.err)
            )
            assert "--clock-is-right" in printed.err
    assert list(open_reader(state).read()) == before
    with serving(tmp_path) as served, client_of(served) as client:
        assert client.job("kept").tasks.finished == 1


@contextmanager
def with_clock(folder: Path, off: int, when: Path, *words: str) -> Iterator[Client]:
    """A service with the state in that folder, whose clock is off as long as a file is there; what
    it writes is in `log`."""
    state = folder / "state"
    clocked = ("tests.cli.live.clocked", str(off), str(when))
    with (folder / "log").open("w") as log:
        process = Forked(
            [*clocked, "serve", "--listen", "127.0.0.1:0", "--state", str(state), *words],
            cwd=folder,
            env=environment(folder),
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        until((state / "address").exists)
        token = (state / "admin-token").read_text().strip()
        with Client((state / "address").read_text().strip(), token) as client:
            yield client
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0


def test_a_start_takes_an_operators_word_for_its_clock(tmp_path: Path) -> None:
    finished(tmp_path)
    with with_clock(tmp_path, 400 * DAYS, tmp_path, "--clock-is-right") as client:
        until(lambda: not list(client.jobs(all=True)))  # it is over for 400 days


def test_a_clock_that_is_set_while_the_service_runs_forgets_and_stamps_nothing(
    tmp_path: Path,
) -> None:
    state, sign, log = finished(tmp_path), tmp_path / "sign", tmp_path / "log"
    with with_clock(tmp_path, 400 * DAYS, sign) as client:
        sign.touch()
        until(lambda: "which is not believed" in log.read_text())
        client.submit(Job("later", {"cpu": 1}, tasks=1, command="true"))
        *_, last = wait_for(client, ["later"], timeout=PATIENCE)
        assert last["later"].tasks.finished == 1
        assert client.job("kept").tasks.finished == 1
        sign.unlink()
        until(lambda: "the clock is believed again" in log.read_text())
    latest = time.time_ns() // 1000
    entries = list(open_reader(state).read())
    told = [entry.body[name] for entry in entries for name in ("started", "ended")
            if entry.body.get(name)]  # fmt: skip
    assert told
    assert max(*told, *(entry.time for entry in entries)) <= latest
