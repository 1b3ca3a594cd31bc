"""Records on disk of each attempt: its claim, the cause of its stop, its end, and its output.

    live/0/1.0.1.claim      process number and start of the shim that runs it; "never": nobody
                            may; "unknown": nobody can say any more
    live/0/1.0.1.why        why the engine stopped it, written before the first signal
    live/0/1.0.1.status     how it ended, written by the shim
    live/0/1.0.1.missed     the command could not be started
    output/0/1.0.1.stdout, .stderr
    work/1.0.1              its working folder, where its job names no other

The records are in one folder a user of the system, named by his number, which he owns: a folder for
each attempt would cost as much as starting it.
A record goes when the end is acknowledged, output and working folder when the attempt is
forgotten. A user owns his records, the working folders and the output files of his attempts,
nothing else; the folders above are closed to him, so that he reaches no more of them than what his
processes were started with. Everything below is read as if its owner wished us ill.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from fairlead.engines.interface import Attempt, Cause, Stream, first_byte
from fairlead.engines.local.spawner import JOBS_A_FOLDER

NEVER = "never\n"
UNKNOWN = "unknown\n"

LONGEST = 200
"""Bytes of a record's file that are looked at."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Which shim runs an attempt, and since when (microseconds since 1970)."""

    pid: int
    start: int
    time: int


class Unclaimed(Enum):
    """Why there is no claim that says who runs an attempt."""

    ABSENT = "nobody claimed it"
    FORBIDDEN = "the engine itself took the claim: it never started"
    UNKNOWN = "what was written of it was lost with the machine"
    UNFINISHED = "somebody is about to write it, or died over it"


@dataclass(frozen=True, slots=True)
class Status:
    """A task's end, as the shim wrote it."""

    missed: bool
    code: int
    time: int  # nanoseconds


def parse(name: str) -> Attempt | None:
    """The attempt whose record has this name."""
    match = re.fullmatch(r"([0-9]{1,18})\.([0-9]{1,18})\.([0-9]{1,18})", name)
    return Attempt(int(match[1]), int(match[2]), int(match[3])) if match else None


class Records:
    """The folders of one engine. Whose an attempt is, is said once (`belongs`, `present`); of the
    service's own user, where it was not."""

    def __init__(self, base: Path, work: Path) -> None:
        self.live = base / "live"
        self.outputs = base / "output"
        self.work = work
        self.lock = base / "lock"
        self._me = os.geteuid()
        self._owners: dict[Attempt, int] = {}
        self._places: dict[int, str] = {}
        for folder in (base, self.live, self.outputs):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def belongs(self, attempt: Attempt, uid: int) -> None:
        """An attempt is this user's."""
        if uid != self._me:
            self._owners[attempt] = uid

    def owner(self, attempt: Attempt) -> int:
        """The user of the system who owns the attempt."""
        return self._owners.get(attempt, self._me)

    def place(self, attempt: Attempt) -> str:
        """The folder that its record is in, which is made where it is missing."""
        uid = self.owner(attempt)
        place = self._places.get(uid)
        if place is None:
            place = self._places[uid] = f"{self.live}/{uid}"
            with contextlib.suppress(FileExistsError):
                os.mkdir(place, 0o700)
                if uid != self._me:
                    os.chown(place, uid, -1)
        return place

    def record(self, attempt: Attempt) -> str:
        """The path of an attempt's record: its files have this name and an ending."""
        return f"{self.place(attempt)}/{attempt}"

    def folder(self, attempt: Attempt) -> str:
        """Its working folder, where it has none of its job's."""
        return f"{self.work}/{attempt}"

    def output(self, attempt: Attempt, stream: Stream) -> str:
        """The path of its output."""
        return f"{self.outputs}/{attempt.job // JOBS_A_FOLDER}/{attempt}.{stream.value}"

    def present(self) -> list[Attempt]:
        """The attempts that have records, in their order; whose they are is known from now on."""
        found = set()
        for name in sorted(os.listdir(self.live)):
            if name.isdigit():
                for file in os.listdir(self.live / name):
                    attempt = parse(file.rpartition(".")[0])
                    if attempt is not None:
                        self.belongs(attempt, int(name))
                        found.add(attempt)
        return sorted(found)

    def collect_ended(self) -> set[Attempt]:
        """The attempts whose shims wrote down an end."""
        names = (name for place in self._places.values() for name in os.listdir(place))
        found = (parse(name[: -len(".status")]) for name in names if name.endswith(".status"))
        return {attempt for attempt in found if attempt is not None}

    def remove(self, attempt: Attempt) -> None:
        """Remove its record."""
        record = self.record(attempt)
        for name in ("why", "new", "missed", "status", "claim"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{record}.{name}")
        self._owners.pop(attempt, None)

    def allow(self, attempt: Attempt) -> None:
        """Give back a claim that the engine took, so that a shim may."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self.record(attempt)}.claim")

    def claim(self, attempt: Attempt) -> Claim | Unclaimed:
        """Reads the attempt's claim."""
        found = _read(f"{self.record(attempt)}.claim")
        if found is None:
            return Unclaimed.ABSENT
        text, time = found
        if text == NEVER:
            return Unclaimed.FORBIDDEN
        if text == UNKNOWN:
            return Unclaimed.UNKNOWN
        match = re.fullmatch(r"([0-9]{1,9}) ([0-9]{1,18})\n", text)
        if match is None or int(match[1]) < 2:
            return Unclaimed.UNFINISHED
        return Claim(int(match[1]), int(match[2]), time // 1000)

    def forbid(self, attempt: Attempt, text: str = NEVER) -> bool:
        """Take the claim, so that no shim ever runs the attempt. Whether nobody had it."""
        return _create(self.record(attempt), "claim", text)

    def status(self, attempt: Attempt) -> Status | None:
        """Reads its end, if its shim wrote that down."""
        found = _read(f"{self.record(attempt)}.status")
        if found is None:
            return None
        text, time = found
        match = re.fullmatch(r"(exit|missed) ([0-9]{1,3})\n", text)
        return Status(match[1] == "missed", int(match[2]), time) if match else None

    def stop(self, attempt: Attempt, cause: Cause) -> None:
        """Write down why the engine is going to stop it; the first cause stays."""
        _create(self.record(attempt), "why", f"{cause.value}\n")

    def why(self, attempt: Attempt) -> tuple[Cause, int] | None:
        """Why the engine stopped it, and since when (nanoseconds)."""
        found = _read(f"{self.record(attempt)}.why")
        if found is None:
            return None
        for cause in (Cause.STOPPED, Cause.TIME_LIMIT, Cause.MEMORY):
            if found[0] == f"{cause.value}\n":
                return cause, found[1]
        return None

    def part(
        self, attempt: Attempt, stream: Stream, offset: int, most: int
    ) -> tuple[bytes, int, int]:
        """A part of an output, where it begins, and the size of the whole."""
        try:
            file = os.open(self.output(attempt, stream), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return b"", 0, 0
        try:
            size = os.fstat(file).st_size
            begin = first_byte(offset, size)
            return os.pread(file, max(0, min(most, size - begin)), begin), begin, size
        finally:
            os.close(file)

    def forget(self, attempt: Attempt) -> None:
        """Remove its outputs."""
        for stream in Stream:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.output(attempt, stream))


def _create(record: str, ending: str, text: str) -> bool:
    """Make a record's file with this text, whole or not at all; whether it was not there."""
    new = f"{record}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new)
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)
    try:
        # Unlike a rename it leaves what is there as it is.
        os.link(new, f"{record}.{ending}", follow_symlinks=False)
    except FileExistsError:
        return False
    finally:
        os.unlink(new)
    return True


def _read(path: str) -> tuple[str, int] | None:
    """The beginning of a plain file and when it was changed (nanoseconds); None: there is none.

    A link or a pipe in its place, which only its owner can have put there, is as good as nothing.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.open(path, flags)
    except FileNotFoundError:
        return None
    except OSError:
        if os.path.islink(path):
            return None
        raise
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            return None
        return os.read(file, LONGEST).decode("ascii", "replace"), about.st_mtime_ns
    finally:
        os.close(file)
