"""A program that runs a local engine in children of its own, kills them at random moments, and
counts what became of every attempt: `python -m tests.engines.kills FOLDER SEED ROUNDS`.

A child is the smallest service there can be: it writes to a journal what it decided before it does
it, and what it was told before it acknowledges it. It is forked from a process that has imported
everything, so that a round costs no start of Python.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np

from fairlead.engines.interface import Assignment, Attempt, Cause, Ended, EngineError, Started
from fairlead.engines.local.engine import LocalEngine
from fairlead.engines.local.processes import processes, started_with
from fairlead.model.machine import Cluster, Machine
from fairlead.model.values import FrozenMap

CLUSTER = Cluster([Machine("m", {"cpu": 1000})])
WIDE = 12
"""Attempts under way at a time."""


class Journal:
    """Lines that are on disk, as far as a killed process is concerned, once they are written."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.decided: list[int] = []
        self.cancelled: set[int] = set()
        self.ends: dict[int, list[str]] = {}
        for line in path.read_text().splitlines():
            kind, task, *rest = line.split()
            if kind == "launch":
                self.decided.append(int(task))
            elif kind == "cancel":
                self.cancelled.add(int(task))
            elif kind == "end":
                self.ends.setdefault(int(task), []).append(" ".join(rest))

    def write(self, *words: object) -> None:
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


def command(folder: Path, task: int) -> Assignment:
    """Task n adds a line to a file, takes a moment that depends on n, and exits with n modulo 5."""
    takes = (0, 0, 0.02, 0.1, 0.3, 30)[task % 6] if task % 13 else 30
    text = f"echo >>{folder}/starts/{task}; sleep {takes}; exit {task % 5}"
    return Assignment(
        Attempt(1, task, 1), "m", "job", "tenant", FrozenMap({"cpu": Fraction(1)}), text
    )


def lasts(task: int) -> bool:
    """Whether this one ends only because it is cancelled."""
    return task % 13 == 0 or task % 6 == 5


def serve(folder: Path, seed: int, finish: bool) -> None:
    """Go on where the child before stopped, for ever; `finish`: launch nothing new, and end once
    everything has ended."""
    journal = Journal(folder / "journal")
    generator = np.random.Generator(np.random.PCG64(seed))
    engine = LocalEngine(folder / "state", CLUSTER, grace=0.3)
    alive: dict[int, float] = {}

    def reconcile() -> None:
        open_ = [task for task in journal.decided if task not in journal.ends]
        never = engine.reconcile([command(folder, task) for task in open_])
        journal.write("found", 0, len(open_) - len(never), len(never))
        alive.clear()
        alive.update(dict.fromkeys(open_, time.monotonic()))
        again = set(never)
        engine.launch([command(folder, task) for task in open_ if Attempt(1, task, 1) in again])
        engine.cancel([Attempt(1, task, 1) for task in open_ if task in journal.cancelled])

    def step() -> None:
        reports = engine.poll()
        for report in reports:
            task = report.attempt.task
            if isinstance(report, Started):
                continue
            if isinstance(report, Ended):
                journal.write("end", task, report.cause.value, report.code)
            else:
                journal.write("end", task, "lost", int(report.started), report.why)
            journal.ends.setdefault(task, []).append("")
            alive.pop(task, None)
        engine.acknowledge(reports)
        if not finish:
            fresh = []
            while len(alive) < WIDE:
                task = len(journal.decided)
                journal.write("launch", task)
                journal.decided.append(task)
                alive[task] = time.monotonic()
                fresh.append(command(folder, task))
            engine.launch(fresh)
        patience = 0.0 if finish else float(generator.exponential(0.3))
        tired = [
            task
            for task, since in alive.items()
            if lasts(task) and task not in journal.cancelled and time.monotonic() - since > patience
        ]
        for task in tired:
            journal.write("cancel", task)
            journal.cancelled.add(task)
        engine.cancel([Attempt(1, task, 1) for task in tired])

    ready = False
    while not (finish and ready and not alive):
        try:
            if not ready:
                reconcile()
                ready = True
            step()
        except EngineError as error:
            journal.write("error", 0, error)
            ready = False
        time.sleep(0.002)
    engine.close()


def child(folder: Path, seed: int, finish: bool) -> int:
    """Start a child in a session of its own."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setsid()
            serve(folder, seed, finish)
            code = 0
        finally:
            os._exit(code)
    return pid


def spawner_of(pid: int) -> int | None:
    """The spawner of a child, if it has one."""
    found = [one.pid for one in processes() if one.parent == pid]
    return found[0] if found else None


def watch(journal: Path, lines: int) -> None:
    """Wait until the child wrote so many lines, or for a while: rounds get as far on a busy
    machine as on an idle one."""
    end = time.monotonic() + 5
    before = lines_of(journal)
    while lines_of(journal) < before + lines and time.monotonic() < end:
        time.sleep(0.001)


def lines_of(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def main(folder: Path, seed: int, rounds: int) -> dict[str, object]:
    """What was seen; the mistakes are under "wrong"."""
    (folder / "starts").mkdir()
    generator = np.random.Generator(np.random.PCG64(seed))
    kinds: Counter[str] = Counter()
    for number in range(rounds):
        pid = child(folder, seed * 1000 + number, finish=False)
        for _ in range(int(generator.integers(1, 4))):
            watch(folder / "journal", int(generator.integers(0, 9)))
            time.sleep(float(generator.choice([0.0, 0.01, 0.05])) * float(generator.random()))
            kind = str(generator.choice(["engine", "both", "spawner"]))
            kinds[kind] += 1
            if kind == "spawner":
                spawner = spawner_of(pid)
                if spawner is not None:
                    with contextlib.suppress(ProcessLookupError):  # it went away by itself
                        os.kill(spawner, signal.SIGKILL)
                continue
            if kind == "both":
                with contextlib.suppress(ProcessLookupError):  # it has no group of its own yet
                    os.killpg(pid, signal.SIGKILL)
            break
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    pid = child(folder, seed, finish=True)
    _, status = os.waitpid(pid, 0)
    return judge(folder, kinds, status)


def judge(folder: Path, kinds: Counter[str], status: int) -> dict[str, object]:
    """Compare the journal with what the tasks themselves left."""
    wrong: list[str] = []
    if status != 0:
        wrong.append(f"the last engine ended with {status}")
    journal = Journal(folder / "journal")
    ends: Counter[str] = Counter()
    for task in journal.decided:
        file = folder / "starts" / str(task)
        starts = len(file.read_text()) if file.exists() else 0
        told = sorted(set(journal.ends.get(task, [])))
        if len(told) != 1:
            wrong.append(f"{task} has the ends {told}")
            continue
        end = told[0]
        ends[end.split()[0]] += 1
        expected = f"{Cause.EXITED.value} {task % 5}"
        if starts > 1:
            wrong.append(f"{task} started {starts} times")
        elif task not in journal.cancelled and (end != expected or starts != 1):
            wrong.append(f"{task}: {end} instead of {expected}, {starts} starts")
        elif end.startswith("lost 0") and starts:
            wrong.append(f"{task}: {end}, but it started")
        elif end != expected and end.split()[0] not in (Cause.STOPPED.value, "lost"):
            wrong.append(f"{task}: {end}, though it was cancelled")
        elif end.startswith("lost 1"):
            wrong.append(f"{task}: {end}, but nobody killed a shim")
    name = (folder / "state" / "local" / "engine").read_text().split()[0]
    wrong += [
        f"process {one.pid} is left"
        for one, runs in started_with("FAIRLEAD_RUN")
        if f"{name}:" in runs
    ]
    records = [path.name for path in (folder / "state" / "local" / "live").rglob("*.*")]
    if records:
        wrong.append(f"records are left: {records[:10]}")
    lines = [line.split() for line in (folder / "journal").read_text().splitlines()]
    return {
        "attempts": len(journal.decided),
        "ends": dict(ends),
        "kills": dict(kinds),
        "found again": sum(int(line[2]) for line in lines if line[0] == "found"),
        "never started": sum(int(line[3]) for line in lines if line[0] == "found"),
        "errors": sum(line[0] == "error" for line in lines),
        "wrong": wrong,
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))  # noqa: T201 (its answer)
