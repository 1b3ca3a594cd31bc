"""Programs of ours that are forked from this process's zygote."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import IO, Any

from tests.zygote.ask import ask, received

ROOT = Path(__file__).resolve().parents[2]


def another_hash_seed() -> str:
    """A seed of hashing that is not this process's: one of its own making is no such small one."""
    return "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"


class Zygote:
    """A zygote of this process, which ends with it: a Python of these words, which are followed by
    a socket's path and its number."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.path = str(Path(tempfile.mkdtemp(prefix="fairlead-zygote-")) / "socket")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self.path)
            listening.listen(64)
            number = listening.fileno()
            self._process = subprocess.Popen(
                [sys.executable, *words, self.path, str(number)],
                cwd=ROOT,
                env=os.environ | (environment or {}),
                stdin=subprocess.PIPE,  # closed when this process ends, however it does
                pass_fds=[number],
            )

    def end(self) -> None:
        """Ends it, so that its processor time and that of its programs are counted as ours."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@cache
def zygote() -> Zygote:
    """The one of this process for programs of ours, from when it is first asked for."""
    words = ("-X", "utf8", "-m", "tests.zygote.zygote")
    # Cheaper to fork; as every program of ours begins (`fairlead/__main__.py`); and in each of its
    # programs sets are in another order than in this process.
    cheaper = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "OPENBLAS_NUM_THREADS": "1"}
    return Zygote(words, cheaper | {"PYTHONHASHSEED": another_hash_seed()})


class Forked(subprocess.Popen[str]):
    """As `Popen([sys.executable, "-m", *words], ...)`, forked from the zygote: how a process is
    begun and how its end is heard of are the zygote's, all else is as it is there."""

    _path: str | None = None
    _answer: socket.socket
    _waitpid_lock: Lock
    _close_pipe_fds: Callable[..., None]
    _handle_exitstatus: Callable[[int], None]

    def _execute_child(self, args: Sequence[str], *rest: Any) -> None:
        """Begins the process. `rest` is as CPython's own gives it, of which this takes its part."""
        _, _, _, passed, folder, environment, *_ = rest
        pipes, (_, _, _, _, _, session, _) = rest[9:15], rest[15:22]
        stdin, _, _, stdout, _, stderr = pipes
        given = [
            number if each == -1 else each for number, each in enumerate((stdin, stdout, stderr))
        ]
        self._answer, self.pid = ask(
            self._path or zygote().path,
            args,
            folder or os.curdir,
            os.environ if environment is None else environment,
            (*given, *passed),
            session=session,
        )
        self._child_created = True
        self._close_pipe_fds(*pipes)

    def _try_wait(self, flags: int) -> tuple[int, int]:
        try:
            status = received(self._answer, socket.MSG_DONTWAIT if flags & os.WNOHANG else 0)
        except BlockingIOError:
            return 0, 0
        self._answer.close()
        return self.pid, status

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):
            try:
                process, status = self._try_wait(os.WNOHANG)
                if process:
                    self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


def fork_programs_of_ours(path: str) -> None:
    """From now on this process, itself forked from the zygote at that path, forks what it starts
    by `python -P -m`, too: a service in the background."""

    class Beside(Forked):
        _path = path

        def __init__(self, args: Sequence[str], **options: Any) -> None:
            assert list(args[:3]) == [sys.executable, "-P", "-m"]
            super().__init__(args[3:], **options)

    setattr(subprocess, "Popen", Beside)  # noqa: B010 - mypy: a type


def finished(
    words: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    seconds: float = 300,
    stdin: IO[Any] | int = subprocess.DEVNULL,
) -> subprocess.CompletedProcess[str]:
    """A program of ours that has ended, and what it said."""
    with Forked(
        words,
        cwd=folder,
        env=environment,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        said = process.communicate(timeout=seconds)
    return subprocess.CompletedProcess(words, process.returncode, *said)


def asking(module: str) -> list[str]:
    """The words by which a shell runs a module of ours, forked from this process's zygote."""
    return [
        sys.executable,
        "-I",
        "-S",
        str(Path(__file__).with_name("ask.py")),
        zygote().path,
        module,
    ]
