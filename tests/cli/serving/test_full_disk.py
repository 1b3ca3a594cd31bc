"""Which errors of a start are those of a full disk, and for how long it is waited for room."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest

from fairlead.cli.serving import full_disk
from fairlead.cli.serving.full_disk import FullDisk, is_full
from fairlead.client.errors import BusyError
from fairlead.model.errors import OutputError


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
    monkeypatch.setattr(full_disk, "LEAST", 0)
    assert not is_full(broken, tmp_path)
    monkeypatch.setattr(full_disk, "LEAST", 1 << 62)
    assert is_full(broken, tmp_path)


def test_room_is_waited_for_and_not_for_ever(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said: list[str] = []
    monkeypatch.setattr(full_disk, "PAUSE", 0.0)
    full = FullDisk(tmp_path, said.append)
    full.wait()
    full.wait()
    assert len(said) == 1
    monkeypatch.setattr(full_disk, "PATIENCE", -1.0)
    late = FullDisk(tmp_path, said.append)
    late.wait()
    with pytest.raises(BusyError, match="is full; make room: nothing that was accepted is lost"):
        late.wait()
