"""Measures cases: every run in a fresh process, ours and the baseline in turns."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.cases import Call, Case, Row, Side

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 60.0  # seconds: a program that has run for so long is not run again
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
KIBIBYTE = 1024 if sys.platform == "linux" else 1  # in what unit the system counts peak memory


@dataclass
class _Tally:
    """The measurements of one program so far."""

    program: str
    seconds: list[float] = field(default_factory=list)
    memory: int = 0
    limit_reached: bool = False
    error: str | None = None
    numbers: list[float] | None = None
    figures: dict[str, float] = field(default_factory=dict)
    spent: float = 0.0

    @property
    def wants_more(self) -> bool:
        return not self.limit_reached and self.error is None and self.spent < PATIENCE

    def side(self) -> Side:
        return Side(
            self.program,
            tuple(self.seconds),
            self.memory,
            self.limit_reached,
            self.error,
            self.figures,
        )


def measure(case: Case, repeat: int, limit: float, threads: int | None = None) -> Row:
    """The case's row. A program is stopped at the limit (seconds), and is then not run again.
    `threads` is for the linear algebra under NumPy; None leaves it as it is."""
    calls = [case.ours] if case.baseline is None else [case.ours, case.baseline]
    tallies = [_Tally(call.program) for call in calls]
    for _ in range(repeat):
        for call, tally in zip(calls, tallies, strict=True):
            if tally.wants_more:
                _once(call, tally, limit, threads)
    ours, *others = tallies
    theirs = others[0] if others else None
    return Row(
        case,
        ours.side(),
        theirs.side() if theirs else None,
        _difference(ours.numbers, theirs.numbers) if theirs else None,
    )


def _once(call: Call, tally: _Tally, limit: float, threads: int | None) -> None:
    """One run in a fresh process, added to the tally."""
    request = {"prepare": call.prepare, "arguments": dict(call.arguments), "limit": limit}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        started = time.monotonic()
        with subprocess.Popen(
            [sys.executable, "-m", "benchmarks.child", json.dumps(request), str(path)],
            cwd=ROOT,
            env=_environment(threads),
            stdin=subprocess.PIPE,  # by its end the child hears of ours
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as child:
            try:
                said = child.stderr.read() if child.stderr else b""
                _, status, usage = os.wait4(child.pid, 0)
            except BaseException:  # Ctrl-C: leave nothing running
                os.killpg(child.pid, signal.SIGKILL)
                raise
            child.returncode = os.waitstatus_to_exitcode(status)
        result: dict[str, Any] = (
            json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        )
    tally.spent += time.monotonic() - started
    tally.memory = max(tally.memory, usage.ru_maxrss * KIBIBYTE)
    if child.returncode == -signal.SIGALRM:
        tally.limit_reached = True
        tally.seconds.append(limit)
    elif "seconds" in result:
        tally.seconds.append(result["seconds"])
        tally.numbers = result["numbers"]
        tally.figures = result["figures"]
    else:
        last = said.decode(errors="replace").strip().rpartition("\n")[2]
        tally.error = result.get("error") or last or f"exit code {child.returncode}"


def _environment(threads: int | None) -> dict[str, str]:
    """The child's environment: this checkout's Fairlead before any that is installed."""
    search = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH"))))
    fixed = {name: str(threads) for name in THREADS} if threads else {}
    return {**os.environ, "PYTHONPATH": search, **fixed}


def _difference(ours: Sequence[float] | None, theirs: Sequence[float] | None) -> float | None:
    """The largest relative difference; infinite where there are not as many numbers."""
    if ours is None or theirs is None:
        return None
    if len(ours) != len(theirs):
        return math.inf
    return max(
        (abs(a - b) / max(abs(a), abs(b)) for a, b in zip(ours, theirs, strict=True) if a != b),
        default=0.0,
    )
