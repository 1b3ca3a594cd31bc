"""No process outlives the command that started it, whichever signal ends the command."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.cli.live.place import PATIENCE, environment, serving, until
from tests.cli.live.test_start import example_at_work, left_behind
from tests.zygote.forked import Forked

STUDY = (
    "simulate",
    "overload(machines=200, jobs=20, each=200000)",  # at work at once, and for long
    "--policies",
    "tsf,drf",
    "--repeat",
    "8",
)
TABLE = ("study", "cdrf-promises")  # minutes


def process_of(
    words: tuple[str, ...], folder: Path, kind: type[subprocess.Popen[str]] = Forked
) -> subprocess.Popen[str]:
    program = ["fairlead", *words]
    return kind(
        program if kind is Forked else [sys.executable, "-m", *program],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )


@pytest.fixture(autouse=True)
def hear_closed_terminals() -> Iterator[None]:
    """As in a terminal, also where these tests were started by nohup, which children inherit."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def below(pid: int) -> list[psutil.Process]:
    """All that it started, and what those started."""
    return psutil.Process(pid).children(recursive=True)


def there(process: psutil.Process) -> bool:
    """Whether it has not ended; where nobody reaps it, something of it stays."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:  # it went between the two looks
        return False


def gone(processes: list[psutil.Process]) -> bool:
    return not any(map(there, processes))


def with_processes(pid: int, busy: Callable[[], bool]) -> list[psutil.Process]:
    """The processes that belong to it, once it is at work."""
    process = psutil.Process(pid)
    until(lambda: busy() or not there(process))
    found = below(pid)
    assert len(found) >= 2
    return found


def tables(folder: Path) -> list[Path]:
    return list(folder.rglob(".*.parquet.*"))


def runs(folder: Path) -> set[Path]:
    """Those that are over."""
    return set(folder.rglob("run.json"))


@contextmanager
def standing_still(processes: list[psutil.Process]) -> Iterator[None]:
    """Within, they do nothing: workers have the runs that they had before, however busy the machine
    is."""
    try:
        for each in processes:
            each.suspend()
        until(lambda: all(each.status() == psutil.STATUS_STOPPED for each in processes))
        yield
    finally:
        for each in processes:
            each.resume()


def is_told_to_end(process: psutil.Process) -> bool:
    """Whether a process that stands still is to end as soon as it goes on."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    pending = int(status.partition("ShdPnd:")[2].split()[0], 16)
    return bool(pending >> signal.SIGTERM - 1 & 1)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_workers_of_a_study_end_with_it(number: signal.Signals, tmp_path: Path) -> None:
    process = process_of((*STUDY, "--workers", "2", "--out", "runs"), tmp_path)
    # A worker writes the four tables of a run; both seldom do at the same moment.
    found = with_processes(process.pid, lambda: len(tables(tmp_path)) >= 4)
    if number is signal.SIGKILL:
        process.send_signal(number)
        process.communicate(timeout=PATIENCE)
        until(lambda: gone(found))
        assert process.returncode == -number
        return
    with standing_still(found):
        over = runs(tmp_path)
        assert len(over) < 14  # of 16: some are left that one could go on to
        process.send_signal(number)
        until(lambda: sum(map(is_told_to_end, found)) >= 2)
    _, said = process.communicate(timeout=PATIENCE)
    until(lambda: gone(found))
    assert process.returncode == 128 + number
    assert said.splitlines()[-1] == "interrupted"
    assert "Traceback" not in said, said
    assert tables(tmp_path) == []
    assert runs(tmp_path) == over  # no worker went on, with its own or with another one


@pytest.mark.deep
@pytest.mark.slow
def test_workers_of_a_study_end_when_the_terminal_is_closed(tmp_path: Path) -> None:
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(tmp_path)
        words = [sys.executable, "-m", "fairlead", *STUDY, "--workers", "2", "--out", "runs"]
        os.execve(sys.executable, words, environment(tmp_path))
    found = with_processes(process, lambda: len(tables(tmp_path)) >= 4)
    os.close(terminal)
    os.waitpid(process, 0)
    until(lambda: gone(found))


@pytest.mark.deep
@pytest.mark.slow
def test_what_nohup_runs_is_not_ended_by_a_closed_terminal(tmp_path: Path) -> None:
    words = ("simulate", "table-ii", "--policies", "tsf,drf", "--workers", "2", "--out", "runs")
    process = subprocess.Popen(
        ["nohup", sys.executable, "-m", "fairlead", *words],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until((tmp_path / "runs").exists)
    process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=300) == 0
    assert len(list(tmp_path.glob("runs/*/run.json"))) == 2


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda number: number.name)
def test_workers_of_a_paper_s_table_end_with_it(number: signal.Signals, tmp_path: Path) -> None:
    process = process_of(TABLE, tmp_path)
    found = with_processes(
        process.pid, lambda: sum(each.cpu_times().user > 1 for each in below(process.pid)) >= 2
    )
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    until(lambda: gone(found))


@pytest.mark.slow
def test_a_killed_service_leaves_no_process_of_its_own(tmp_path: Path) -> None:
    with serving(tmp_path) as served:  # no tasks: those would go on, as is meant
        found = with_processes(served.process.pid, lambda: len(below(served.process.pid)) >= 2)
        served.process.kill()
        served.process.wait(timeout=60)
        until(lambda: gone(found))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_service_that_was_not_waited_for_does_not_go_on_unseen(
    number: signal.Signals, tmp_path: Path
) -> None:
    words = ("serve", "--detach", "--listen", "127.0.0.1:0", "--state", "state")
    process = process_of(words, tmp_path, subprocess.Popen)
    until(lambda: below(process.pid))
    found = below(process.pid)
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number, said
    assert not (tmp_path / "state" / "address").exists()
    until(lambda: gone(found))


@pytest.mark.slow
def test_a_killed_example_is_cleaned_up_by_its_service(tmp_path: Path) -> None:
    process = example_at_work(tmp_path)
    found = below(process.pid)
    process.kill()
    process.communicate(timeout=PATIENCE)
    until(lambda: gone(found))
    until(lambda: left_behind(tmp_path) == [])
