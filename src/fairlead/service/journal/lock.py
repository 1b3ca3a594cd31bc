"""One writer at a time: a lock that the kernel drops when the process dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from pathlib import Path

from fairlead.service.journal.entry import JournalError, TakenJournalError

# The `flock` of C: Linux has the kind first, systems of BSD after the range and the process.
_FLOCK, _KIND = (
    (struct.Struct("@hhqqi4x"), 0) if sys.platform == "linux" else (struct.Struct("@qqihh"), 3)
)
_ALL_OF_IT = _FLOCK.pack(*(fcntl.F_WRLCK if at == _KIND else 0 for at in range(5)))
"""The whole of a file from its beginning, to be written by one alone."""

_held: set[tuple[int, int]] = set()
"""The files that this process has locked: to the kernel, a process never excludes itself."""


class Lock:
    """The lock on a file, held until it is released. Raises TakenJournalError.

    It belongs to the process alone: what the process starts does not inherit it."""

    def __init__(self, path: Path, what: str) -> None:
        taken = f"{what} is being written by another service"
        try:
            # Opening it once more and closing that would drop the lock that this process has.
            if path.exists() and _key(path.stat()) in _held:
                raise TakenJournalError(f"{taken} of this process: close that one first")
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise JournalError(f"{path} cannot be written: {error.strerror}") from error
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            who = os.pread(self._file, 32, 0).decode(errors="replace").strip()
            os.close(self._file)
            named = f" (process {who})" if who else ""
            raise TakenJournalError(f"{taken}{named}: stop that one first") from error
        self._held = _key(os.fstat(self._file))
        _held.add(self._held)
        try:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, b"%d\n" % os.getpid(), 0)
        except OSError as error:
            self.release()
            raise JournalError(f"{path} cannot be written: {error.strerror}") from error

    def release(self) -> None:
        if self._file >= 0:
            _held.discard(self._held)
            os.close(self._file)
            self._file = -1


def is_held(path: Path) -> bool:
    """Whether anybody has the lock on the file. It only asks: to try would be to have it for a
    moment, in which whoever starts is refused. Raises JournalError."""
    try:
        # Opening it once more and closing that would drop the lock that this process has.
        if _key(path.stat()) in _held:
            return True
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise JournalError(f"{path} cannot be read: {error.strerror}") from error
    try:
        found = fcntl.fcntl(file, fcntl.F_GETLK, _ALL_OF_IT)
    finally:
        os.close(file)
    kind: int = _FLOCK.unpack(found)[_KIND]
    return kind != fcntl.F_UNLCK


def _key(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
