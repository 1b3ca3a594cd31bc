"""Who looks whether a journal is written, and who writes it."""

from __future__ import annotations

import fcntl
import sys
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from fairlead.service.journal.lock import Lock, is_held

HOLDS = """\
import fcntl, sys
with open(sys.argv[1], "w") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    print(flush=True)
    sys.stdin.read()
"""


def test_who_asks_whether_a_journal_is_written_never_has_its_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lock"
    assert not is_held(file)
    mine = Lock(file, "it")
    assert is_held(file)
    mine.release()
    monkeypatch.setattr(fcntl, "lockf", None)
    assert not is_held(file)
    words = [sys.executable, "-S", "-c", HOLDS, str(file)]
    with Popen(words, stdin=PIPE, stdout=PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"\n"
        assert is_held(file)
        other.communicate()
    assert not is_held(file)
