"""A real `fairlead serve` with the local engine, for the tests of the commands that talk to it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fairlead.cli.main import main
from tests.surroundings import without_service
from tests.zygote.forked import Forked, finished

CLUSTER = """\
machines:
  - {name: "a[1-2]", capacity: {cpu: 2, memory: 2GiB}, labels: {zone: east}}
  - {name: b1, capacity: {cpu: 4, memory: 2GiB}, labels: {zone: west}}
tenants:
  - {name: research}
  - {name: vision, parent: research, weight: 2}
  - {name: sales}
"""

PATIENCE = 240.0
"""Seconds until a test gives up: a machine that is busy with other things is no failure."""


@dataclass
class Served:
    """A service that runs: its process, state folder and address."""

    process: subprocess.Popen[str]
    state: Path
    url: str
    said: list[str] = field(default_factory=list)

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Its exit code and the rest of what it said."""
        self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, rest


def environment(folder: Path) -> dict[str, str]:
    """Variables without a service of whoever runs the tests."""
    kept = without_service() | {"XDG_STATE_HOME": str(folder / "state-home"), "COLUMNS": "100"}
    return kept | {"XDG_CONFIG_HOME": str(folder / "config-home"), "PYTHONUTF8": "1"}


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """The process of `fairlead serve`."""
    return Forked(
        ["fairlead", "serve", *words],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )


def fairlead(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    return finished(["fairlead", *words], folder, environment(folder))


@contextmanager
def lacking(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A service that waits for what it lacks at its start, and what it says of it."""
    process = start(folder, *words)
    assert process.stdout is not None
    try:
        said = process.stdout.readline()
        assert said.endswith("; waiting for it up to 60 s\n")
        yield process, said
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[Served]:
    """A service, on any free port if none is said, up and running; killed at the end if it is
    still there."""
    state = folder / "state"
    unsaid = {"--listen": "127.0.0.1:0", "--state": str(state)}
    given = [word for item in unsaid.items() if item[0] not in words for word in item]
    process = start(folder, *given, *words)
    assert process.stdout is not None
    try:
        said: list[str] = []
        while not said or not said[-1].startswith("Ctrl-C"):
            line = process.stdout.readline()
            assert line, "".join(said)
            said.append(line.rstrip("\n"))
        yield Served(process, state, (state / "address").read_text().strip(), said)
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


@dataclass
class Terminal:
    """Runs commands in this process, as a user would in a shell with these variables."""

    capture: Callable[[], tuple[str, str]]

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """The exit code, and what was printed on stdout and stderr."""
        code = main(list(words))
        return (code, *self.capture())

    def good(self, *words: str) -> str:
        """What a command prints that succeeds."""
        code, out, err = self(*words)
        assert code == 0, err
        return out

    def json(self, *words: str) -> Any:
        """The same, read as JSON."""
        at = words.index("--") if "--" in words else len(words)
        return json.loads(self.good(*words[:at], "--json", *words[at:]))

    def refused(self, *words: str, code: int = 2) -> str:
        """The sentences of a refusal; nothing is printed on stdout then."""
        got, out, err = self(*words)
        assert (got, out) == (code, ""), err
        assert err.startswith("error: ")
        assert "Traceback" not in err
        return err


def until(holds: Callable[[], object]) -> None:
    """Returns when it holds; fails where it does not in time. It looks the less often the longer
    that takes: each look of a service asks it."""
    begun = time.monotonic()
    while not holds():
        waited = time.monotonic() - begun
        assert waited < PATIENCE, "it never came to hold"
        time.sleep(min(0.5, max(0.05, waited / 8)))


def column(table: str, name: str) -> list[str]:
    """A column of a table of words."""
    header, *rows = table.splitlines()
    index = header.split().index(name)
    return [row.split()[index] for row in rows]


def names(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The names of rows."""
    return [str(row["name"]) for row in rows]


def administrator(
    served: Served,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Terminal:
    """A terminal of that service's administrator, in an empty folder."""
    for name in ("FAIRLEAD_URL", "FAIRLEAD_TOKEN", "FAIRLEAD_CONFIG", "FAIRLEAD_CA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FAIRLEAD_STATE", str(served.state))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.chdir(folder)

    def capture() -> tuple[str, str]:
        printed = capsys.readouterr()
        return printed.out, printed.err

    return Terminal(capture)
