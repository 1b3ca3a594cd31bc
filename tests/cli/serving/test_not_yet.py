"""What a start waits for, which errors are those of a full disk, and for how long it waits."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest

from fairlead.cli.serving import not_yet
from fairlead.cli.serving.not_yet import Patience, is_full, why_not_yet
from fairlead.client.errors import BusyError
from fairlead.engines.interface import EngineError
from fairlead.model.errors import InputError, OutputError
from fairlead.service.journal.entry import (
    AwayJournalError,
    CorruptJournalError,
    JournalError,
    TakenJournalError,
    VersionJournalError,
)
from fairlead.service.process.listening import UnboundError


def caused_by(cause: Exception) -> OutputError:
    error = OutputError("process cannot be written")
    error.__cause__ = cause
    return error


def test_an_error_is_a_full_disks_by_its_cause(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert is_full(caused_by(OSError(errno.ENOSPC, "No space left on device")), tmp_path)
    assert not is_full(caused_by(OSError(errno.EACCES, "Permission denied")), tmp_path)
    broken = caused_by(sqlite3.OperationalError("disk I/O error"))
    monkeypatch.setattr(not_yet, "LEAST", 0)
    assert not is_full(broken, tmp_path)
    monkeypatch.setattr(not_yet, "LEAST", 1 << 62)
    assert is_full(broken, tmp_path)


@pytest.mark.parametrize("kind", [AwayJournalError, TakenJournalError, EngineError, UnboundError])
def test_what_others_have_is_waited_for(kind: type[Exception], tmp_path: Path) -> None:
    assert why_not_yet(kind("it is away"), tmp_path) == "it is away"


@pytest.mark.parametrize(
    "kind", [InputError, OutputError, JournalError, CorruptJournalError, VersionJournalError]
)
def test_what_never_comes_by_itself_is_not(kind: type[Exception], tmp_path: Path) -> None:
    assert why_not_yet(kind("it is wrong"), tmp_path) is None


def test_what_is_lacking_is_waited_for_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(not_yet, "PAUSE", 0.0)
    patience, away = Patience(said.append), EngineError("Ray is away")
    patience.wait(away, "Ray is away for 1 s")
    patience.wait(away, "Ray is away for 2 s")
    assert said == ["Ray is away for 1 s; waiting for it up to 60 s"]
    monkeypatch.setattr(not_yet, "PATIENCE", -1.0)
    late = Patience(said.append)
    late.wait(away, "Ray is away")
    with pytest.raises(BusyError, match="Ray is away for 61 s"):
        late.wait(away, "Ray is away for 61 s")
