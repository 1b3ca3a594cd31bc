"""The head file beside a journal: how far the journal went, written down outside of it.

A journal that lost its end (its write-ahead log was deleted or damaged, the file was cut off or
replaced by an older copy) is consistent in itself. The head tells: it is overwritten in place after
every durable append, and never synced by itself, so it is never ahead of what is durable.
"""

from __future__ import annotations

import json
import os
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fairlead.service.journal.entry import CorruptJournalError, JournalError
from fairlead.whole_file import sync_folder

SIZE = 256
"""Bytes of the file: less than a disk's sector, so that it is written whole or not at all."""


@dataclass(frozen=True, slots=True)
class Mark:
    """So many entries of the journal of this name were durable, and this was the last's link."""

    journal: str
    seq: int
    link: str


class Head:
    """A head file, open to be written. 0600; its place in the folder is durable on return."""

    def __init__(self, path: Path, mark: Mark) -> None:
        self._path = path
        self._file = -1
        try:
            if not path.exists():
                _create(path, mark)
            self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            self.write(mark)
        except OSError as error:
            self.close()
            raise _unwritten(path, error) from error

    def write(self, mark: Mark) -> None:
        """From now on the journal has gone so far. Raises JournalError."""
        try:
            if os.pwrite(self._file, _text(mark), 0) != SIZE:
                raise JournalError(f"{self._path} could not be written whole: make room for it")
        except OSError as error:
            raise _unwritten(self._path, error) from error

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def read_head(path: Path) -> Mark | None:
    """Reads the head file, None where there is none. Raises CorruptJournalError where it says
    nothing that can be understood."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise JournalError(f"{path} cannot be read: {error.strerror}") from error
    with suppress(ValueError, KeyError, TypeError):  # whatever is wrong, the sentence is below
        text, _, check = data.rstrip(b"\n ").rpartition(b" ")
        if len(data) == SIZE and int(check, 16) == zlib.crc32(text):
            tree = json.loads(text)
            return Mark(str(tree["journal"]), int(tree["seq"]), str(tree["link"]))
    raise CorruptJournalError(
        f"{path} is damaged: it says how far the journal went; if the journal beside it is whole"
        f" (`fairlead journal check`), remove {path.name} to go on with it"
    )


def _create(path: Path, mark: Mark) -> None:
    """A new head file, whole or not at all."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)  # of a start that was killed
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, _text(mark))
        os.fsync(file)
    finally:
        os.close(file)
    new.rename(path)
    sync_folder(path.parent)


def _text(mark: Mark) -> bytes:
    tree = {"journal": mark.journal, "link": mark.link, "seq": mark.seq}
    text = json.dumps(tree, sort_keys=True).encode()
    return (text + b" %08x" % zlib.crc32(text)).ljust(SIZE - 1) + b"\n"


def _unwritten(path: Path, error: OSError) -> JournalError:
    return JournalError(f"{path} cannot be written: {error.strerror}")
