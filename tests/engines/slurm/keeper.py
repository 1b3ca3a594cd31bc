"""Keeps the processes of a Slurm cluster of the tests: it starts and kills them as it is told on
standard input, and ends with all of them when that ends, however its parent does.

A line is a list in JSON: ["start", NAME, [ARGUMENTS]], answered by the process's number, or
["kill", NAME, SIGNAL], answered once the process is gone.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection
from pathlib import Path

SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of Linux: what loses its parent below this process becomes its child, so
that nothing leaves: not a job's processes when their slurmd is killed, nor who forks twice."""


def children() -> list[int]:
    """The children of this process now."""
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return [int(word) for word in path.read_text(encoding="ascii").split()]


def reap(keep: Collection[int]) -> None:
    """Takes the ends of children that came here as orphans; those in `keep` are waited for where
    they are killed."""
    for pid in children():
        if pid not in keep:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def end_all() -> None:
    """Kills children until there are none: theirs become ours meanwhile."""
    while left := children():
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.005)


def main() -> None:
    """Does what it is told until the input ends."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Sent to the whole group: its parent ends, then this. What is ignored, daemons would ignore.
    signal.signal(signal.SIGTERM, lambda *_: None)
    running: dict[str, int] = {}
    starting = threading.Event()  # one that ends at once is not in `running` yet

    def ended(*_: object) -> None:
        if not starting.is_set():
            reap(running.values())

    signal.signal(signal.SIGCHLD, ended)
    try:
        for line in sys.stdin:
            method, name, how = json.loads(line)
            if method == "start":
                starting.set()
                process = subprocess.Popen(
                    how,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,  # they have their logs
                    start_new_session=True,
                )
                answer = running[name] = process.pid
                starting.clear()
                reap(running.values())  # who ended meanwhile
            else:
                answer = running[name]
                os.kill(answer, how)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(answer, 0)
                del running[name]
            sys.stdout.write(f"{answer}\n")
            sys.stdout.flush()
    finally:
        end_all()


if __name__ == "__main__":
    main()
