"""`fairlead start`: the example, in a terminal and in a pipe, ends and leaves nothing behind."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from fairlead.cli.commands.start import invitation
from tests.cli.live.place import environment, until
from tests.cli.live.traps import caught
from tests.transcripts import ROOT
from tests.zygote.forked import Forked, finished

PATIENCE = 300.0
"""Seconds until the example shows something: the first start on a machine compiles the core."""

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def start_in(folder: Path) -> dict[str, str]:
    """The example's variables: what it makes for itself lies below this folder."""
    return environment(folder) | {"TMPDIR": str(folder), "TERM": "xterm"}


def left_behind(folder: Path) -> list[str]:
    """Folders of the example, and processes that were started with its variables or run in it."""
    found = [str(path) for path in folder.glob("fairlead-start-*")]
    for process in psutil.process_iter(["cmdline", "environ"]):
        words = " ".join(process.info["cmdline"] or ())
        told = (process.info["environ"] or {}).get("TMPDIR", "")
        if str(folder) in (told, *words.split()) or f"{folder}/" in words:
            found.append(words)
    return [each for each in found if each]


def in_a_terminal(trapped: Path, enough: Callable[[str], bool], keys: bytes) -> tuple[int, str]:
    """The exit code and all that was shown on a terminal of 100 columns in that folder, where these
    keys are pressed once there is enough to see."""
    base = trapped.parent
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(trapped)
        words = [sys.executable, str(base / "bin" / "fairlead"), "start"]
        os.execve(sys.executable, words, start_in(base) | {"LINES": "40"})
    shown, pressed = "", False
    end = time.monotonic() + PATIENCE
    while True:
        assert time.monotonic() < end, shown[-3000:]
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                data = os.read(terminal, 65536)
            except OSError:  # the other side is gone
                break
            if not data:
                break
            shown += data.decode("utf-8", "replace")
        if not pressed and enough(ESCAPES.sub("", shown)):
            os.write(terminal, keys)
            pressed = True
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status), ESCAPES.sub("", shown)


def at_work(shown: str) -> bool:
    """Whether a picture shows a tenant with tasks that run, and why others wait, which is asked
    for by itself."""
    runs = re.search(r"robotics +[1-9]\d* +[\d-]+ +0\.\d+ +0\.\d+", shown)
    return runs is not None and "why it waits" in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    "keys", [pytest.param(b"q", marks=pytest.mark.deep), b"\x03"], ids=["q", "Ctrl-C"]
)
def test_in_a_terminal_it_shows_the_tenants_at_work_until_a_key_ends_it(
    keys: bytes, trapped: Path, tmp_path: Path
) -> None:
    code, shown = in_a_terminal(trapped, at_work, keys)
    assert caught(trapped) == ""  # nothing of the folder is run, in whatever process
    assert code == 0, shown[-3000:]
    assert "The service listens at http://127.0.0.1:" in shown
    assert f"export FAIRLEAD_STATE={tmp_path}" in shown
    assert "5 of 5 machines up" in shown
    assert "why it waits" in shown
    assert "nothing of the example is left" in shown
    assert "Traceback" not in shown
    until(lambda: left_behind(tmp_path) == [])


@pytest.mark.slow
def test_in_a_pipe_it_prints_lines_and_ends_by_itself(tmp_path: Path) -> None:
    words = ["fairlead", "start", "--for", "9s"]  # a line every other second
    done = finished(words, tmp_path, start_in(tmp_path), PATIENCE)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    lines = [line for line in done.stdout.splitlines() if re.match(r" *\d+ s  vision", line)]
    assert len(lines) >= 2
    assert re.search(r"[1-9]\d* running", lines[-1])
    assert done.stdout.splitlines()[-1].endswith("nothing of the example is left")
    until(lambda: left_behind(tmp_path) == [])


def example_at_work(folder: Path) -> subprocess.Popen[str]:
    """The example in a pipe, once tasks run."""
    process = Forked(
        ["fairlead", "start", "--for", "1000s"],
        cwd=folder,
        env=start_in(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdout is not None
    for line in process.stdout:
        if re.search(r"[1-9]\d* running", line):
            break
    return process


@pytest.mark.deep
@pytest.mark.slow
def test_a_signal_ends_it_as_cleanly(tmp_path: Path) -> None:
    process = example_at_work(tmp_path)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "nothing of the example is left" in out
    until(lambda: left_behind(tmp_path) == [])


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ([], "start"),
        (["--for", "1s"], "start --for 1s"),
        (["--help"], "start --help"),
        (["--version"], "--version"),
        (["start", "--for", "1s"], "start --for 1s"),
        (["demo"], "demo"),
    ],
)
def test_the_script_of_a_checkout_runs_the_example_or_any_command(
    words: list[str], command: str, tmp_path: Path
) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    # The environment is there already, and its Python says what it is told to do.
    (tmp_path / "scripts" / "environment.sh").write_text("need_environment() { :; }\n")
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)
    script = tmp_path / "start"
    script.write_bytes((ROOT / "start").read_bytes())
    script.chmod(0o755)
    done = subprocess.run(
        [str(script), *words], cwd="/", capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout == f"-P -m fairlead {command}\n"


def test_it_says_how_its_environment_is_entered_where_fairlead_is_no_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    activate = tmp_path / "bin" / "activate"
    activate.parent.mkdir()
    activate.touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    line = f"  source {activate}   # then fairlead is a command"
    assert line in invitation(tmp_path)
    command = tmp_path / "fairlead"
    command.touch(mode=0o755)
    assert line not in invitation(tmp_path)
