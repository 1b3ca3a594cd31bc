"""The folder of attempts, which the nodes see: who may start one, that it started, how it ended.

An attempt has a permit, and whoever renames it has it: the batch job, which starts then, or the
engine, and it never starts. A rename succeeds once, whatever Slurm forgets or does twice.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from fairlead.engines.interface import (
    Attempt,
    EngineError,
    Output,
    Stream,
    damaged,
    first_byte,
    overtaken,
)
from fairlead.engines.people import Person, make_work_folder
from fairlead.model.errors import InputError
from fairlead.whole_file import write_private

IDENTITY = re.compile(r"([0-9a-f]{12}) ([0-9]{1,18})\n")
ATTEMPT = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})\.([0-9]{1,18})")

FILES = {Stream.OUT: "stdout", Stream.ERR: "stderr"}

LONGEST = 100
"""Bytes of the file that says how an attempt ended."""


@dataclass(frozen=True, slots=True)
class Note:
    """The engine's own record of an attempt: its job's number in Slurm (0: not known), how many
    permits there were, why it was stopped, whether its end was acknowledged, and whether it is of a
    journal that is gone, or was before it was restored: what has its name now is another one."""

    number: int = 0
    permits: int = 0
    stopped: str = ""
    over: bool = False
    old: bool = False


def attempt_of(text: str) -> Attempt | None:
    """The attempt that a name says; None where it says none."""
    found = ATTEMPT.fullmatch(text)
    return None if found is None else Attempt(int(found[1]), int(found[2]), int(found[3]))


class Folder:
    """`base` is the engine's own and closed to others; below `work` each attempt has a folder of
    its user's. Methods raise OSError; making one raises InputError where the file of its name is
    damaged: no time mends it."""

    def __init__(self, base: Path, work: Path) -> None:
        self.work = work
        self._base, self._notes = base, base / "notes"
        self._notes.mkdir(mode=0o700, parents=True, exist_ok=True)
        base.chmod(0o700)
        make_work_folder(work)
        self._file = base / "engine"
        self.new = not self._file.exists()
        # Of two engines the one that was made first has the lesser name.
        made = f"{int(time.time()):08x}{secrets.token_hex(2)}"
        try:
            self.identity, self._owner = (made, 0) if self.new else self._read()
        except EngineError as error:
            raise InputError(*damaged(self._file)) from error

    def take(self, owner: int) -> None:
        """From now on, durably, nobody with a lower number starts anything here. Raises
        EngineError where another one has a higher number."""
        self.check(owner)
        if self.new or owner != self._owner:
            write_private(self._file, f"{self.identity} {owner}\n")
            self._owner, self.new = owner, False

    def check(self, owner: int) -> None:
        """Raises EngineError where somebody with a higher number was here."""
        newest = 0 if self.new else self._read()[1]
        if owner < newest:
            raise EngineError(overtaken("this state folder", newest, owner))

    def path(self, attempt: Attempt) -> Path:
        return self.work / str(attempt)

    def issue(self, attempt: Attempt, person: Person | None) -> Path:
        """A new permit to start it. Those of before are taken back."""
        folder, note = self.path(attempt), self.note(attempt)
        self.revoke(attempt)
        number = note.permits + 1
        self.write(attempt, replace(note, permits=number, number=0))
        with contextlib.suppress(FileExistsError):
            folder.mkdir(0o700)
        permit = folder / f"permit-{number}"
        os.close(os.open(permit, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        if person is not None:
            os.chown(folder, person.uid, person.gid, follow_symlinks=False)
        return permit

    def revoke(self, attempt: Attempt) -> bool:
        """Takes its permits back: it never starts. False: it has started."""
        folder = self.path(attempt)
        with contextlib.suppress(FileNotFoundError):
            for each in folder.iterdir():
                if each.name.startswith("permit-"):
                    with contextlib.suppress(FileNotFoundError):  # the job was quicker
                        each.rename(folder / each.name.replace("permit", "revoked"))
        return self.started(attempt) is None

    def started(self, attempt: Attempt) -> int | None:
        """The time at which it started, in microseconds; None where it did not."""
        try:
            return (self.path(attempt) / "claim").lstat().st_ctime_ns // 1000
        except FileNotFoundError:
            return None

    def end(self, attempt: Attempt) -> tuple[str, int, int] | None:
        """The end as its script wrote it: a word, a code, and when; None: nothing so far."""
        handle = self._open(attempt, "end")
        if handle is None:
            return None
        with os.fdopen(handle, "rb") as file:
            words = file.read(LONGEST).split()
            time = os.fstat(file.fileno()).st_mtime_ns // 1000
        if len(words) != 2 or not words[1].isdigit() or len(words[1]) > 9:
            return None
        return words[0].decode("ascii", "replace"), int(words[1]), time

    def note(self, attempt: Attempt) -> Note:
        """The engine's record of it; an empty one where there is none."""
        try:
            return Note(**json.loads((self._notes / str(attempt)).read_text("utf-8")))
        except FileNotFoundError:
            return Note()
        except (ValueError, TypeError) as error:
            raise EngineError(f"{self._notes / str(attempt)} is damaged; remove it") from error

    def write(self, attempt: Attempt, note: Note) -> None:
        """Keeps the record. It is not synced: what is lost of it is found in Slurm."""
        path = self._notes / str(attempt)
        beside = path.with_name(f"{path.name}.new")
        beside.write_text(json.dumps(asdict(note)), encoding="utf-8")
        beside.replace(path)

    def disown(self, attempt: Attempt) -> None:
        """Nobody expects it: whatever has its name from now on is another one."""
        self.write(attempt, replace(self.note(attempt), old=True))

    def clear(self, attempt: Attempt) -> None:
        """Nothing of another one of its name is left, but for the number of its last permit: what
        Slurm may have of that one shall not find the next permit."""
        permits = self.note(attempt).permits
        self.remove(attempt)
        if permits:
            self.write(attempt, Note(permits=permits))

    def present(self) -> Sequence[Attempt]:
        """All attempts whose end was not acknowledged."""
        return [each for each in self._known() if not self.note(each).over]

    def _known(self) -> Sequence[Attempt]:
        return sorted(filter(None, (attempt_of(each.name) for each in self._notes.iterdir())))

    def output(
        self, attempt: Attempt, stream: Stream, offset: int, most: int, over: bool
    ) -> Output:
        handle = self._open(attempt, FILES[stream]) if stream in FILES else None
        if handle is None:
            return Output(b"", 0, 0, over)
        with os.fdopen(handle, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            begin = first_byte(offset, size)
            file.seek(begin)
            return Output(file.read(max(0, most)), begin, size, over)

    def remove(self, attempt: Attempt) -> None:
        """Forgets it, with what it wrote."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.path(attempt))
        (self._notes / str(attempt)).unlink(missing_ok=True)

    def begin_anew(self) -> None:
        """The journal of its owners is gone, and a new one numbers them, and jobs, from the first:
        durably."""
        for attempt in self._known():
            self.disown(attempt)
        if not self.new:
            write_private(self._file, f"{self.identity} 0\n")
            self._owner = 0

    def _open(self, attempt: Attempt, name: str) -> int | None:
        """A plain file of its folder: whose it is may put something else there."""
        folder = self.path(attempt)
        try:
            handle = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            if folder.joinpath(name).is_symlink():
                return None
            raise
        about = os.fstat(handle)
        own = about.st_uid in (folder.lstat().st_uid, os.geteuid())
        if stat.S_ISREG(about.st_mode) and about.st_nlink == 1 and own:
            return handle
        os.close(handle)
        return None

    def _read(self) -> tuple[str, int]:
        try:
            found = IDENTITY.fullmatch(self._file.read_text(encoding="ascii"))
        except (OSError, UnicodeError):
            found = None
        if found is None:
            raise EngineError("; ".join(damaged(self._file)))
        return found[1], int(found[2])
