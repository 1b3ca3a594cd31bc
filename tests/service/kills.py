"""`kill -9` of a real service, of the process that starts its tasks, of both, and of the shells
above tasks, again and again, while clients submit: a program that counts.

`python -m tests.service.kills FOLDER SEED KILLS` prints what it counted as JSON, and on the way, on
stderr, how far it is. Nearly all its time is that of starts of the service: some seconds a kill.
Ctrl-C stops the killing early; what was done until then is counted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from random import Random
from typing import Any

import psutil

from fairlead.client.client import Client
from fairlead.client.errors import ServiceError, UnreachableError
from fairlead.service.journal.places import open_reader
from fairlead.wire.kinds import JobState
from tests.ports import kept_port
from tests.surroundings import without_service
from tests.zygote.forked import Forked

CLUSTER = """\
machines:
  - {name: "a[1-3]", capacity: {cpu: 4, memory: 1GiB}}
"""

SCRIPT = """\
echo "begin $FAIRLEAD_JOB_ID $FAIRLEAD_TASK $FAIRLEAD_ATTEMPT $(date +%s%N) $PPID" >> "$LINES"
sleep "$NAP"
echo "end $FAIRLEAD_JOB_ID $FAIRLEAD_TASK $FAIRLEAD_ATTEMPT $(date +%s%N) $PPID" >> "$LINES"
exit "$CODE"
"""

SPAWNER = "fairlead.engines.local.spawner"
"""By this in its command line the spawner is known, and its forks."""

GOES_ON = (JobState.PENDING, JobState.RUNNING)

MOST_LOSSES = 3
"""How often a task is tried again where nothing is said of retries."""

PATIENCE = 5.0
"""Seconds for a service to start what starts its tasks; one that only begins may take longer."""

TOLD = 10
"""So many starts are between two words on how far it is."""

AT_MOST = 600.0
"""Seconds until everything is over once the killing has stopped."""


class Victim(Enum):
    """What is killed."""

    SERVICE = "the service"
    SPAWNER = "the process that starts tasks"
    BOTH = "both"
    SHIM = "the shell above a task"


AT_LEAST = Counter({Victim.SERVICE: 3, Victim.SPAWNER: 1, Victim.BOTH: 1, Victim.SHIM: 1})
"""So often each is killed at least: which kinds come about is a matter of time."""

TASKS, RAN_THROUGH = 24, 5
"""So many tasks are accepted, and run through a kill, at least; once nobody answers a client."""


@dataclass
class Killing:
    """A service that is killed and started again, and what was asked of it. `kills`: of which
    processes when, in nanoseconds; `shims`: the tasks whose shells were killed; `seen`: whether
    clients see the next one start, and it may be killed meanwhile."""

    folder: Path
    random: Random
    port: int
    process: subprocess.Popen[str] | None = None
    kills: list[tuple[Victim, int]] = field(default_factory=list)
    shims: Counter[tuple[int, int]] = field(default_factory=Counter)
    accepted: dict[int, tuple[int, int, bool]] = field(default_factory=dict)
    waiting: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)
    seen: bool = False
    enough: bool = False
    ended_by_itself: str = ""

    def goes_on(self, kills: int) -> bool:
        """Whether there is more to kill."""
        seen = Counter(victim for victim, _ in self.kills)
        seen[Victim.SHIM] = self.shims.total()
        few = (
            self.tasks() < TASKS
            or not self.answered[UnreachableError.__name__]
            or len(self.ran_through_a_kill()) < RAN_THROUGH
        )
        return not self.enough and (len(self.kills) < kills or bool(AT_LEAST - seen) or few)

    def tasks(self) -> int:
        """How many tasks were accepted."""
        return sum(tasks for tasks, _, _ in self.accepted.values())

    def ran_through_a_kill(self) -> set[tuple[int, int]]:
        """The tasks that began before some kill and ended after it."""
        begun: dict[tuple[int, int], int] = {}
        found = set()
        for word, job, task, _, moment, _ in _lines(self.folder):
            if word == "begin":
                begun.setdefault((job, task), moment)
            elif any(begun[job, task] < kill < moment for _, kill in self.kills):
                found.add((job, task))
        return found

    def start(self) -> None:
        """Starts it; it is not waited for. One that is seen imports all it needs, and requests come
        meanwhile. Any other is forked from a warm interpreter: ready sooner, and the same from
        then on."""
        words = ("--cluster", "cluster.yaml", "--state", "state", "--no-auth", "--log", "off")
        address = ("--listen", f"127.0.0.1:{self.port}")
        with (self.folder / "said").open("ab") as said:
            program = ["fairlead", "serve", *words, *address]
            begin: type[subprocess.Popen[str]] = subprocess.Popen if self.seen else Forked
            self.process = begin(
                [sys.executable, "-m", *program] if self.seen else program,
                cwd=self.folder,
                env=without_service(),
                encoding="utf-8",
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,  # Ctrl-C is for this program
            )

    def is_there(self) -> bool:
        """Whether the process lives. One that ended by itself has failed: why is noted, and the
        killing ends."""
        assert self.process is not None
        code = self.process.poll()
        if code is not None:
            said = (self.folder / "said").read_text(errors="replace")[-2000:]
            self.ended_by_itself = f"the service ended by itself with {code}: {said}"
            self.enough = True
        return code is None

    def kill(self, victim: Victim) -> None:
        """Kills it, if it is there; tasks run on, but for the one whose shell is killed."""
        assert self.process is not None
        if victim is Victim.SHIM:
            self._kill_shim()
            return
        spawner = None if victim is Victim.SERVICE else _spawner(self.process.pid)
        end = time.monotonic() + PATIENCE
        while victim is Victim.BOTH and spawner is None and time.monotonic() < end:
            time.sleep(0.02)  # it was killed alone a moment ago: the service starts another one
            spawner = _spawner(self.process.pid)
        if victim is not Victim.SERVICE and spawner is None:
            if victim is Victim.SPAWNER:
                return
            victim = Victim.SERVICE
        self.kills.append((victim, time.time_ns()))
        if spawner is not None:
            _end(spawner)
        if victim is not Victim.SPAWNER:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def _kill_shim(self) -> None:
        """Of a task that has begun and has not ended."""
        begun: dict[tuple[int, int], int] = {}
        for word, job, task, _, _, shim in _lines(self.folder):
            if word == "begin":
                begun[job, task] = shim
            else:
                begun.pop((job, task), None)
        if not begun:
            return
        at = self.random.choice(sorted(begun))
        if _is_shim(begun[at], self.folder):
            self.shims[at] += 1
            _end(begun[at])

    def want(self, number: int) -> None:
        """One more job is to be submitted."""
        nap = self.random.choice((0.0, 0.05, 0.3, 2.0, 6.0))
        job = {
            "name": f"job-{number}",
            "demand": {"cpu": "0.5"},
            "tasks": self.random.randint(1, 3),
            "command": ["sh", "-c", SCRIPT],
            "env": {
                "LINES": str(self.folder / "lines"),
                "NAP": str(nap),
                "CODE": str(self.random.choice((0, 0, 7))),
            },
            "rerunnable": self.random.random() < 0.5,
        }
        self.waiting.append((f"key-{number}", job))

    def submit(self) -> None:
        """Tries to submit what is not accepted yet, each under its own key."""
        left = []
        with Client(f"http://127.0.0.1:{self.port}", timeout=5.0) as client:
            for key, job in self.waiting:
                try:
                    said = client.submit(job, key=key)
                except ServiceError as error:
                    self.answered[type(error).__name__] += 1
                    left.append((key, job))
                    continue
                self.answered["accepted"] += 1
                number = said.jobs[0].id
                code = int(job["env"]["CODE"])
                self.accepted[number] = (job["tasks"], code, job["rerunnable"])
        self.waiting = left


def run(folder: Path, seed: int, kills: int) -> dict[str, Any]:
    """Kills the service so often, lets everything end, and counts."""
    (folder / "cluster.yaml").write_text(CLUSTER)
    (folder / "lines").touch()
    with kept_port() as port:
        killing = Killing(folder, Random(seed), port)

        def stop(*_: object) -> None:
            killing.enough = True

        before = signal.signal(signal.SIGINT, stop)
        try:
            kill_again_and_again(killing, kills)
            return ended(killing)
        finally:
            signal.signal(signal.SIGINT, before)


def kill_again_and_again(killing: Killing, kills: int) -> None:
    """Kills the service so often, while jobs come."""
    number = 0
    began, starts = time.monotonic(), 0
    while killing.goes_on(kills):
        # The first always: that somebody is not answered must happen once.
        killing.seen = killing.random.random() >= 0.8 or not starts
        killing.start()
        starts += 1
        if starts % TOLD == 0:
            passed = time.monotonic() - began
            sys.stderr.write(f"{len(killing.kills)} of {kills} kills in {passed:.0f} s\n")
        if killing.seen:
            life = killing.random.uniform(0.3, 4.0)  # somewhere in its start
        else:
            wait_until_ready(killing)
            life = killing.random.uniform(0.0, 4.0)
        until = time.monotonic() + life
        while time.monotonic() < until and killing.is_there():
            if killing.random.random() < 0.5 and len(killing.waiting) < 5:
                killing.want(number)
                number += 1
            killing.submit()
            if killing.random.random() < 0.25:
                killing.kill(killing.random.choice((Victim.SPAWNER, Victim.SPAWNER, Victim.SHIM)))
            time.sleep(killing.random.uniform(0.0, 0.1))
        killing.kill(Victim.BOTH if starts % 3 == 0 else Victim.SERVICE)


def ended(killing: Killing) -> dict[str, Any]:
    """What came of everything, once a last service had the time to bring it to its end."""
    killing.seen = False
    killing.start()
    end = time.monotonic() + AT_MOST
    while (killing.waiting or not is_over(killing)) and time.monotonic() < end:
        if not killing.is_there():
            break
        killing.submit()
        time.sleep(0.2)
    assert killing.process is not None
    killing.process.terminate()
    code = killing.process.wait(AT_MOST)
    return counted(killing) | {"exit code of the service": code}


def wait_until_ready(killing: Killing) -> None:
    """Waits until it works, or has ended by itself, or for AT_MOST."""
    end = time.monotonic() + AT_MOST
    while time.monotonic() < end and killing.is_there():
        try:
            with Client(f"http://127.0.0.1:{killing.port}", timeout=5.0) as client:
                if client.ready().ready:
                    return
        except ServiceError:
            pass  # it does not answer yet
        time.sleep(0.05)


def _spawner(service: int) -> int | None:
    """The process that starts the service's tasks, if there is one now."""
    try:
        for child in psutil.Process(service).children():
            if any(SPAWNER in word for word in child.cmdline()):
                return child.pid
    except psutil.Error:
        return None
    return None


def _is_shim(pid: int, folder: Path) -> bool:
    """Whether that is the shim above a task of the service in this folder, and not a later process
    of the same number: a task whose shim was killed never says that it ended, and by then another
    test may have a shim."""
    try:
        words = psutil.Process(pid).cmdline()
    except psutil.Error:
        return False
    ours = any(word.startswith(f"{folder.resolve()}/") for word in words)
    return ours and any(SPAWNER in word for word in words)


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it ended by itself just now


def _lines(folder: Path) -> Iterator[tuple[str, int, int, int, int, int]]:
    """What tasks wrote: begin or end, of which attempt (job, task, number), when, below which
    shell. The line that is being written is left out."""
    for line in (folder / "lines").read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            word, *numbers = line.split()
            job, task, attempt, moment, shim = map(int, numbers)
            yield word, job, task, attempt, moment, shim


def is_over(killing: Killing) -> bool:
    try:
        with Client(f"http://127.0.0.1:{killing.port}", timeout=5.0) as client:
            return all(job.state not in GOES_ON for job in client.jobs(all=True))
    except ServiceError:
        return False


def counted(killing: Killing) -> dict[str, Any]:
    """What the journal and the tasks' own lines say, and what is wrong."""
    results: dict[tuple[int, int], list[tuple[str, int, str]]] = {}
    keys: Counter[str] = Counter()
    reader = open_reader(killing.folder / "state")
    for entry in reader.read():
        body = entry.body
        if entry.kind in ("task_finished", "task_failed"):
            found = results.setdefault((body["id"], body["task"]), [])
            found.append((entry.kind, body["code"], body["cause"]))
        elif entry.kind == "job_submitted":
            keys[body["key"]] += 1
    reader.close()
    begun = Counter(
        (job, task) for word, job, task, *_ in _lines(killing.folder) if word == "begin"
    )
    wrong = [killing.ended_by_itself] if killing.ended_by_itself else []
    again = lost = 0
    for job, (tasks, code, rerunnable) in sorted(killing.accepted.items()):
        for task in range(tasks):
            at = (job, task)
            shims, starts = killing.shims[at], begun[at]
            wanted = [("task_finished" if code == 0 else "task_failed", code, "exited")]
            found = results.get(at, [])
            if shims and len(found) == 1 and found[0][2] == "lost":
                lost += 1
                wanted = found if not rerunnable or shims > MOST_LOSSES else wanted
            if found != wanted:
                wrong.append(f"task {job}.{task} has the results {found}, not {wanted}")
            if not 1 <= starts <= 1 + (shims if rerunnable else 0):
                wrong.append(f"task {job}.{task} began {starts} times")
            again += max(0, starts - 1)
    wrong += [f"{key} was accepted {times} times" for key, times in keys.items() if times > 1]
    wrong += [f"{key} was never accepted" for key, _ in killing.waiting]
    wrong += [
        f"task {job}.{task} is nobody's" for job, task in results if job not in killing.accepted
    ]
    victims = Counter(victim.value for victim, _ in killing.kills)
    return {
        "kills": len(killing.kills),
        "of": dict(sorted(victims.items())) | {Victim.SHIM.value: killing.shims.total()},
        "jobs": len(killing.accepted),
        "tasks": killing.tasks(),
        "results": sum(len(each) for each in results.values()),
        "ran through a kill": len(killing.ran_through_a_kill()),
        "ran again": again,
        "lost with their shells": lost,
        "answers": dict(sorted(killing.answered.items())),
        "wrong": wrong,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))) + "\n")
