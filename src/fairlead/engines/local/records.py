"""Records on disk of each attempt: its claim, the cause of its stop, its end, and its output.

    live/1.0.1.claim        process number and start of the shim that runs it, and as whom it runs;
                            "never": nobody may; "unknown": nobody can say any more; below it how
                            and when it ended, where the disk had no room for a file more
    live/1.0.1.why          why the engine stopped it, written before the first signal
    live/1.0.1.cut          nothing more is kept of what it writes
    live/1.0.1.status       how it ended, written by the shim
    live/1.0.1.old          it is of a journal that is gone, or was before it was restored: what
                            has this name now is another one
    claiming-...            where the shims of one spawner write their claims before these get their
                            names; the next spawner takes it away, so that none of them comes late
    output/0/1.0.1.stdout, .stderr
    work/1.0.1              its working folder, where its job names no other

The records are in one folder, which is the service's own and closed to all others: a folder for
each attempt would cost as much as starting it. The engine and the shims alone write there, all of
them as the service's user. A record goes when the end is acknowledged, output and working folder
when the attempt is forgotten.

A user of tenants owns the working folders and the output files of his attempts, nothing else; the
folders above are closed to him, so that he reaches no more of them than what his processes were
started with. What lies among the records all the same, be it that tasks run as the service's user,
costs at most the attempt of which it has the name.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal, cast

from fairlead.engines.interface import Attempt, Cause, Stream, first_byte
from fairlead.engines.local.record_file import create, read, writer
from fairlead.engines.local.spawner import JOBS_A_FOLDER

NEVER = "never\n"
UNKNOWN = "unknown\n"
OLD = "old"


@dataclass(frozen=True, slots=True)
class Claim:
    """Which shim runs an attempt, as whom, and since when (microseconds since 1970)."""

    pid: int
    start: int
    uid: int
    time: int


class Unclaimed(Enum):
    """Why there is no claim that says who runs an attempt."""

    ABSENT = "nobody claimed it"
    FORBIDDEN = "the engine itself took the claim: it never started"
    UNKNOWN = "what was written of it was lost with the machine"
    UNREADABLE = "what lies there is no claim"


@dataclass(frozen=True, slots=True)
class Status:
    """A task's end, as the shim wrote it. `broken`: the machine could not run it, for the reason of
    this number; `missed`: its command could not be run; `exit`: the number says what is missing of
    its outputs."""

    kind: Literal["exit", "missed", "broken"]
    code: int
    number: int
    time: int  # nanoseconds


MOST_FAULTS = 1000
"""So many that were told are known; a record that is none of ours is met at every look."""

_END = re.compile(r"(exit|missed|broken) ([0-9]{1,3}) ([0-9]{1,3})(?: ([0-9]{1,19}))?\n")


def _status(match: re.Match[str], time: int) -> Status:
    kind = cast('Literal["exit", "missed", "broken"]', match[1])
    return Status(kind, int(match[2]), int(match[3]), time)


def parse(name: str) -> Attempt | None:
    """The attempt whose record has this name."""
    match = re.fullmatch(r"([0-9]{1,18})\.([0-9]{1,18})\.([0-9]{1,18})", name)
    return Attempt(int(match[1]), int(match[2]), int(match[3])) if match else None


class Records:
    """The folders of one engine. `faults`: what was found that nobody of ours wrote, a sentence
    each."""

    def __init__(self, base: Path, work: Path) -> None:
        self.live = base / "live"
        self.outputs = base / "output"
        self.work = work
        self.lock = base / "lock"
        self.faults: list[str] = []
        self._told_faults: set[str] = set()
        for folder in (base, self.live, self.outputs):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def take_faults(self) -> Sequence[str]:
        """The faults since the last call; the same one is told once."""
        found, self.faults = self.faults, []
        new = tuple(one for one in dict.fromkeys(found) if one not in self._told_faults)
        if len(self._told_faults) > MOST_FAULTS:
            self._told_faults.clear()
        self._told_faults.update(new)
        return new

    def record(self, attempt: Attempt) -> str:
        """The path of an attempt's record: its files have this name and an ending."""
        return f"{self.live}/{attempt}"

    def folder(self, attempt: Attempt) -> str:
        """Its working folder, where it has none of its job's."""
        return f"{self.work}/{attempt}"

    def output(self, attempt: Attempt, stream: Stream) -> str:
        return f"{self.outputs}/{attempt.job // JOBS_A_FOLDER}/{attempt}.{stream.value}"

    def present(self) -> list[Attempt]:
        """The attempts that have records, in their order. What is no record is told and left."""
        found = set()
        for name in os.listdir(self.live):
            attempt = parse(name.rpartition(".")[0])
            if attempt is not None:
                found.add(attempt)
                continue
            pid = writer(name)
            if pid is None:
                self.faults.append(f"{self.live}/{name} is no record, and is left alone")
            elif not os.path.exists(f"/proc/{pid}"):  # it was killed while it wrote
                _remove(f"{self.live}/{name}")
        return sorted(found)

    def collect_ended(self) -> set[Attempt]:
        """The attempts whose shims wrote down an end."""
        names = os.listdir(self.live)
        found = (parse(name[: -len(".status")]) for name in names if name.endswith(".status"))
        return {attempt for attempt in found if attempt is not None}

    def remove(self, attempt: Attempt) -> None:
        record = self.record(attempt)
        for name in ("why", "cut", "status", "claim", OLD):  # this one last
            try:
                _remove(f"{record}.{name}")
            except OSError as error:
                self.faults.append(f"{record}.{name} cannot be removed: {error.strerror}")

    def disown(self, attempt: Attempt) -> None:
        """Write down that nobody expects it: whatever has its name from now on is another one."""
        with contextlib.suppress(OSError):  # a full disk: then a restart takes it for that one
            create(f"{self.record(attempt)}.{OLD}", "old\n")

    def is_old(self, attempt: Attempt) -> bool:
        """Whether that was written of what has this name."""
        return os.path.lexists(f"{self.record(attempt)}.{OLD}")

    def allow(self, attempt: Attempt) -> None:
        """Give back a claim that the engine took, so that a shim may."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self.record(attempt)}.claim")

    def claim(self, attempt: Attempt) -> Claim | Unclaimed:
        found = read(f"{self.record(attempt)}.claim")
        if found is None:
            return Unclaimed.ABSENT
        text, time = found
        if text == NEVER:
            return Unclaimed.FORBIDDEN
        if text == UNKNOWN:
            return Unclaimed.UNKNOWN
        line, _, _ = text.partition("\n")
        match = re.fullmatch(r"([0-9]{1,9}) ([0-9]{1,18}) ([0-9]{1,10})", line)
        if match is None or int(match[1]) < 2:
            self._tell(attempt, "claim")
            return Unclaimed.UNREADABLE
        return Claim(int(match[1]), int(match[2]), int(match[3]), time // 1000)

    def last_claim(self, attempt: Attempt, same_boot: bool) -> Claim | Unclaimed:
        """The same; where the machine is up since, and nobody claimed it, nobody will."""
        claim = self.claim(attempt)
        # A shim may be on its way: who creates the file first has the attempt.
        if claim is Unclaimed.ABSENT and same_boot:
            if self.forbid(attempt):
                return Unclaimed.ABSENT
            claim = self.claim(attempt)
        return claim

    def forbid(self, attempt: Attempt, text: str = NEVER) -> bool:
        """Take the claim, so that no shim ever runs the attempt. Whether nobody had it."""
        return create(f"{self.record(attempt)}.claim", text)

    def status(self, attempt: Attempt) -> Status | None:
        """Reads its end, if its shim wrote that down."""
        found = read(f"{self.record(attempt)}.status")
        if found is None:
            return self._noted_status(attempt)
        text, time = found
        match = _END.fullmatch(text)
        if match is None or match[4]:
            self._tell(attempt, "status")
            return None
        return _status(match, time)

    def _noted_status(self, attempt: Attempt) -> Status | None:
        """The same, where its shim had to write it below its claim."""
        text, _ = read(f"{self.record(attempt)}.claim") or ("", 0)
        match = _END.fullmatch(text.partition("\n")[2])
        return _status(match, int(match[4])) if match is not None and match[4] else None

    def stop(self, attempt: Attempt, cause: Cause) -> None:
        """Write down why the engine is going to stop it; the first cause stays."""
        create(f"{self.record(attempt)}.why", f"{cause.value}\n")

    def why(self, attempt: Attempt) -> tuple[Cause, int] | None:
        """Why the engine stopped it, and since when (nanoseconds)."""
        found = read(f"{self.record(attempt)}.why")
        if found is None:
            return None
        for cause in (Cause.STOPPED, Cause.TIME_LIMIT, Cause.MEMORY):
            if found[0] == f"{cause.value}\n":
                return cause, found[1]
        self._tell(attempt, "why")
        return None

    def _tell(self, attempt: Attempt, ending: str) -> None:
        self.faults.append(
            f"{self.record(attempt)}.{ending} is none of ours: attempt {attempt} pays for it"
        )

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

    def written(self, attempt: Attempt) -> int:
        """Bytes of its outputs."""
        size = 0
        for stream in (Stream.OUT, Stream.ERR):
            with contextlib.suppress(OSError):  # there is none, or it is nothing that is kept
                size += os.stat(self.output(attempt, stream), follow_symlinks=False).st_size
        return size

    def cut(self, attempt: Attempt) -> None:
        """Have its shim keep nothing more of what it writes."""
        with contextlib.suppress(OSError):  # a full disk keeps nothing more, either
            create(f"{self.record(attempt)}.cut", "cut\n")

    def empty(self, attempt: Attempt) -> bool:
        """It never ran, so outputs under its name are another's: it begins with nothing. The files
        stay, for a working folder without them is a forgotten one. Whether there is something in
        such a folder, too."""
        flags = os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        for stream in Stream:
            path = self.output(attempt, stream)
            try:
                os.close(os.open(path, flags))
            except FileNotFoundError:
                continue
            except OSError as error:  # something that a task of the service's user put there
                self.faults.append(f"{path} cannot be emptied: {error.strerror}")
        try:
            return bool(os.listdir(self.folder(attempt)))
        except FileNotFoundError:
            return False
        except OSError:
            return True

    def forget(self, attempt: Attempt) -> None:
        """Remove its outputs, and their folder if nobody else has any there."""
        for stream in Stream:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.output(attempt, stream))
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(self.output(attempt, Stream.OUT)))


def disown_all(live: Path) -> None:
    """Write down of all attempts that have records there, durably, that nobody expects them."""
    if not live.is_dir():
        return
    for name in {each.rpartition(".")[0] for each in os.listdir(live)}:
        if parse(name) is not None:
            create(f"{live}/{name}.{OLD}", "old\n")
    folder = os.open(live, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _remove(path: str) -> None:
    """Remove a record's file, or what lies in its place."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        os.rmdir(path)
