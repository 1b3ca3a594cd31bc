"""The engine's end of the spawner: sends requests and reads messages without waiting."""

from __future__ import annotations

import contextlib
import marshal
import select
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, Popen, TimeoutExpired

from fairlead.engines.interface import Attempt, EngineError
from fairlead.engines.local import spawner
from fairlead.engines.local.records import parse
from fairlead.engines.people import Person

PATIENCE = 10.0
"""Seconds for the spawner before this one to go away."""


PROGRAM = f"""
import sys
sys.path.append({str(Path(spawner.__file__).absolute().parents[3])!r})
from {spawner.__name__} import main
main()
"""
"""Started without the folders of others on its path, and without what their sites would run."""


@dataclass(frozen=True, slots=True)
class SpawnRequest:
    attempt: Attempt
    folder: str
    own_folder: bool  # the folder is made for it
    fresh: bool  # no spawner was told of it before: what has its name is another's
    outputs: tuple[str, str]
    argv: tuple[str, ...]
    env: dict[str, str]
    someone: Person | None
    group: str | None  # the folder of its control group, and what is written there
    limits: dict[str, str]
    most_output: int  # bytes
    grace: float  # seconds


@dataclass(frozen=True, slots=True)
class Spawned:
    """A shim runs."""

    attempt: Attempt
    pid: int
    time: int


@dataclass(frozen=True, slots=True)
class Failed:
    """No shim could be started."""

    attempt: Attempt
    command_at_fault: bool
    why: str


@dataclass(frozen=True, slots=True)
class Dead:
    """A shim is dead: its exit code, or the signal that killed it, negative."""

    pid: int
    code: int


@dataclass(frozen=True, slots=True)
class NotRemoved:
    """A folder that could not be removed."""

    why: str


Word = Spawned | Failed | Dead | NotRemoved


class Spawner:
    """A running spawner, the only one over its lock. Raises EngineError once it is gone."""

    def __init__(self, lock: Path, records: Path, work: Path, outputs: Path) -> None:
        mine, its = socket.socketpair()
        program = [sys.executable, "-I", "-S", "-X", "utf8", "-c", PROGRAM]
        with its:
            self._process = Popen(
                [*program, *map(str, (its.fileno(), lock, records, work, outputs))],
                pass_fds=[its.fileno()],
                stdin=DEVNULL,
                stdout=DEVNULL,
                cwd="/",
            )
        self._socket = mine
        self._out = bytearray()
        self._in = bytearray()
        self._broken = False
        self.pid = self._process.pid
        try:
            self._wait_ready()
        except EngineError:
            self.close()
            raise
        mine.setblocking(False)

    def _wait_ready(self) -> None:
        """It says so once it has the lock: then no spawner of before can start anything more."""
        end = time.monotonic() + PATIENCE
        while b"\n" not in self._in:
            self._socket.settimeout(max(0.001, end - time.monotonic()))
            try:
                data = self._socket.recv(100)
            except TimeoutError:
                raise EngineError(
                    "another service runs tasks with this state folder; stop it first"
                ) from None
            if not data:
                raise EngineError("the process that starts tasks ended at once")
            self._in += data
        del self._in[: self._in.index(b"\n") + 1]

    def start(self, request: SpawnRequest) -> None:
        someone = request.someone
        self._out += _framed(
            {
                "attempt": str(request.attempt),
                "folder": request.folder,
                "own_folder": request.own_folder,
                "fresh": request.fresh,
                "outputs": request.outputs,
                "argv": request.argv,
                "env": request.env,
                "owner": someone and (someone.uid, someone.gid, someone.groups),
                "group": request.group,
                "limits": request.limits,
                "most_output": request.most_output,
                "grace": request.grace,
            }
        )

    def remove(self, attempts: Sequence[Attempt], if_empty: bool = False) -> None:
        """Have the working folders of these removed. What starts later has none of them."""
        mark = "?" if if_empty else ""
        self._out += _framed({"remove": [f"{mark}{attempt}" for attempt in attempts]})

    def events(self) -> dict[int, int]:
        """The events of epoll, by descriptor, at which it has something to say, or takes more."""
        return {self._socket.fileno(): select.EPOLLIN | (select.EPOLLOUT if self._out else 0)}

    def flush(self) -> None:
        """Hand over what it takes now; the rest later."""
        with contextlib.suppress(BlockingIOError):
            while self._out:
                try:
                    del self._out[: self._socket.send(self._out)]
                except OSError as error:
                    if isinstance(error, BlockingIOError):
                        raise
                    raise self._gone_error() from error

    def words(self) -> list[Word]:
        """Reads its messages since the last call."""
        self.flush()
        while True:
            try:
                data = self._socket.recv(1 << 18)
            except BlockingIOError:
                break
            except OSError as error:
                raise self._gone_error() from error
            if not data:
                raise self._gone_error()
            self._in += data
        if self._broken:
            raise self._gone_error()
        lines, _, rest = bytes(self._in).rpartition(b"\n")
        self._in[:] = rest
        try:
            return [_word(line.decode(errors="replace")) for line in lines.split(b"\n") if line]
        except (ValueError, IndexError, KeyError) as error:
            self._broken = True  # what it said is lost: all is to be found anew
            raise self._gone_error() from error

    def _gone_error(self) -> EngineError:
        return EngineError("the process that starts tasks is gone")

    def close(self) -> None:
        """Let it go; what it started goes on."""
        # What was ordered and not handed over yet, such as folders to remove, is handed over.
        with contextlib.suppress(OSError, EngineError):
            self._socket.settimeout(PATIENCE)
            self._socket.sendall(self._out)
        self._socket.close()
        try:
            self._process.wait(PATIENCE)
        except TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _framed(tree: dict[str, object]) -> bytes:
    data = marshal.dumps(tree)
    return len(data).to_bytes(4, "big") + data


def _word(line: str) -> Word:
    kind, *rest = line.split(" ", 3)
    if kind == "dead":
        return Dead(int(rest[0]), int(rest[1]))
    if kind == "kept":
        return NotRemoved(" ".join(rest))
    attempt = parse(rest[0])
    if attempt is not None and kind == "started":
        return Spawned(attempt, int(rest[1]), int(rest[2]))
    if attempt is not None and kind == "failed":
        return Failed(attempt, rest[1] == spawner.COMMAND, rest[2])
    raise ValueError(f"it says {line!r}")
