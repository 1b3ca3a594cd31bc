"""`kill -9` of a real service, again and again, while clients submit: a program that counts.

`python -m tests.service.kills FOLDER SEED KILLS` prints what it counted as JSON."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from fairlead.client.client import Client
from fairlead.client.errors import ServiceError
from fairlead.service.journal.places import open_reader
from fairlead.wire.jobs import JobState

CLUSTER = """\
machines:
  - {name: "a[1-3]", capacity: {cpu: 4, memory: 1GiB}}
"""

SCRIPT = """\
echo "begin $FAIRLEAD_JOB_ID $FAIRLEAD_TASK $FAIRLEAD_ATTEMPT $(date +%s%N)" >> "$LINES"
sleep "$NAP"
echo "end $FAIRLEAD_JOB_ID $FAIRLEAD_TASK $FAIRLEAD_ATTEMPT $(date +%s%N)" >> "$LINES"
exit "$CODE"
"""

GOES_ON = (JobState.PENDING, JobState.RUNNING)

AT_MOST = 600.0
"""Seconds until everything is over once the killing has stopped."""


@dataclass
class Killing:
    """A service that is killed and started again, and what was asked of it."""

    folder: Path
    random: Random
    port: int
    process: subprocess.Popen[bytes] | None = None
    kills: list[int] = field(default_factory=list)  # when, in nanoseconds
    accepted: dict[int, tuple[int, int, bool]] = field(default_factory=dict)
    waiting: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)

    def start(self) -> None:
        """Starts it; it is not waited for."""
        words = ("--cluster", "cluster.yaml", "--state", "state", "--no-auth", "--log", "off")
        address = ("--listen", f"127.0.0.1:{self.port}")
        with (self.folder / "said").open("ab") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "fairlead", "serve", *words, *address],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )

    def kill(self) -> None:
        """Kills it; what it started runs on."""
        assert self.process is not None
        self.kills.append(time.time_ns())
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

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
            "retries": 0,
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
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    killing = Killing(folder, Random(seed), port)
    number = 0
    for _ in range(kills):
        killing.start()
        if killing.random.random() < 0.8:
            _until_ready(killing)
            life = killing.random.uniform(0.0, 2.5)
        else:
            life = killing.random.uniform(0.3, 4.0)  # somewhere in its start
        until = time.monotonic() + life
        while time.monotonic() < until:
            if killing.random.random() < 0.5 and len(killing.waiting) < 5:
                killing.want(number)
                number += 1
            killing.submit()
            time.sleep(killing.random.uniform(0.0, 0.1))
        killing.kill()
    killing.start()
    end = time.monotonic() + AT_MOST
    while (killing.waiting or not _over(killing)) and time.monotonic() < end:
        killing.submit()
        time.sleep(0.2)
    assert killing.process is not None
    killing.process.terminate()
    code = killing.process.wait(60)
    return counted(killing) | {"exit code of the service": code}


def _until_ready(killing: Killing) -> None:
    """Waits until it works, or for AT_MOST."""
    end = time.monotonic() + AT_MOST
    while time.monotonic() < end:
        try:
            with Client(f"http://127.0.0.1:{killing.port}", timeout=5.0) as client:
                client.ready()
                return
        except ServiceError:
            time.sleep(0.05)


def _over(killing: Killing) -> bool:
    try:
        with Client(f"http://127.0.0.1:{killing.port}", timeout=5.0) as client:
            return all(job.state not in GOES_ON for job in client.jobs(all=True))
    except ServiceError:
        return False


def counted(killing: Killing) -> dict[str, Any]:
    """What the journal and the tasks' own lines say, and what is wrong."""
    results: dict[tuple[int, int], list[tuple[str, int]]] = {}
    keys: Counter[str] = Counter()
    reader = open_reader(killing.folder / "state")
    for entry in reader.read():
        body = entry.body
        if entry.kind in ("task_finished", "task_failed"):
            found = results.setdefault((body["id"], body["task"]), [])
            found.append((entry.kind, body["code"]))
        elif entry.kind == "job_submitted":
            keys[body["key"]] += 1
    reader.close()
    begun: dict[tuple[int, int], list[int]] = {}
    ended: dict[tuple[int, int], int] = {}
    for line in (killing.folder / "lines").read_text().splitlines():
        word, said_job, said_task, _, moment = line.split()
        if word == "begin":
            begun.setdefault((int(said_job), int(said_task)), []).append(int(moment))
        else:
            ended[int(said_job), int(said_task)] = int(moment)
    wrong: list[str] = []
    again = survived = 0
    for job, (tasks, code, rerunnable) in sorted(killing.accepted.items()):
        for task in range(tasks):
            at = (job, task)
            wanted = ("task_finished", 0) if code == 0 else ("task_failed", code)
            if results.get(at) != [wanted]:
                wrong.append(f"task {job}.{task} has the results {results.get(at)}, not {wanted}")
            starts = begun.get(at, [])
            if not starts or (not rerunnable and len(starts) > 1):
                wrong.append(f"task {job}.{task} began {len(starts)} times")
            again += max(0, len(starts) - 1)
            if starts and any(starts[0] < kill < ended.get(at, 0) for kill in killing.kills):
                survived += 1
    wrong += [f"{key} was accepted {times} times" for key, times in keys.items() if times > 1]
    wrong += [f"{key} was never accepted" for key, _ in killing.waiting]
    wrong += [
        f"task {job}.{task} is nobody's" for job, task in results if job not in killing.accepted
    ]
    return {
        "kills": len(killing.kills),
        "jobs": len(killing.accepted),
        "tasks": sum(tasks for tasks, _, _ in killing.accepted.values()),
        "results": sum(len(each) for each in results.values()),
        "ran through a kill": survived,
        "ran again": again,
        "answers": dict(sorted(killing.answered.items())),
        "wrong": wrong,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))) + "\n")
