"""Two services on one database that are killed, frozen and cut off from it again and again, while
clients submit: a program that counts.

`python -m tests.service.failovers FOLDER SEED TROUBLES` prints what it counted as JSON, and on the
way, on stderr, each trouble and how long nobody led. The local engine is the machine's own, so what
ran below a leader that is gone counts as lost there, perhaps started: a task that may run once
fails then, and may never begin again; all others run until they end well."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from random import Random
from typing import Any

import httpx2

from fairlead.client.client import Client
from fairlead.client.errors import ServiceError
from fairlead.service.journal.places import open_reader
from fairlead.wire.kinds import JobState
from tests.ports import kept_port
from tests.service.journal import postgres_server
from tests.surroundings import NOBODY

CLUSTER = """\
machines:
  - {name: "a[1-3]", capacity: {cpu: 4, memory: 1GiB}}
"""

SCRIPT = """\
echo "begin $FAIRLEAD_JOB_ID $FAIRLEAD_TASK $FAIRLEAD_ATTEMPT" >> "$LINES"
sleep "$NAP"
echo "end $FAIRLEAD_JOB_ID $FAIRLEAD_TASK $FAIRLEAD_ATTEMPT" >> "$LINES"
"""

GOES_ON = (JobState.PENDING, JobState.RUNNING)

AT_MOST = 600.0
"""Seconds until somebody leads, and until everything is over once the troubles have stopped."""


# A start takes twice as long where Python may not keep what it compiled of each module.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


class Trouble(Enum):
    """What happens to whom."""

    KILLED = "the leader is killed"
    FROZEN = "the leader freezes and thaws"
    FROZEN_SHORTLY = "the leader freezes for less time than a follower waits"
    CUT_OFF = "the leader is cut off from the database, which is not told"
    DISCONNECTED = "the leader's connections to the database break, and none comes about"
    FOLLOWER_KILLED = "the follower is killed"
    FOLLOWER_FROZEN = "the follower freezes and thaws"
    BOTH_KILLED = "both are killed"
    BOTH_FROZEN = "both freeze, and the leader thaws last"


class Way:
    """The way from one service to the database: a socket beside the server's. `stalled`: nothing
    goes through, and nobody is told; `closed`: connections break, and none comes about. From the
    moment at which one of them is set nothing goes through."""

    def __init__(self, folder: Path, server: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self._stalled = self._closed = False
        self._carrying = threading.Lock()
        self._server = str(server / ".s.PGSQL.5432")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def stalled(self) -> bool:
        return self._stalled

    @stalled.setter
    def stalled(self, to: bool) -> None:
        with self._carrying:
            self._stalled = to

    @property
    def closed(self) -> bool:
        return self._closed

    @closed.setter
    def closed(self, to: bool) -> None:
        with self._carrying:
            self._closed = to

    def _passes(self) -> bool:
        return not (self._stalled or self._closed)

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            if self.closed:
                client.close()
                continue
            threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server, suppress(OSError):
            while self.stalled:
                time.sleep(0.02)
            server.connect(self._server)
            other = {client: server, server: client}
            while not self.closed:
                if not self._passes():
                    time.sleep(0.02)
                    continue
                for end in select.select([client, server], [], [], 0.05)[0]:
                    with self._carrying:
                        if not self._passes():
                            break
                        data = end.recv(65536)
                        if not data:
                            return
                        other[end].sendall(data)


@dataclass
class Place:
    """One of the two services, its state folder and its way to the database."""

    folder: Path
    port: int
    way: Way
    process: subprocess.Popen[bytes] | None = None
    frozen: bool = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, database: str) -> None:
        """Starts it where it does not run; it is not waited for."""
        if self.process is not None and self.process.poll() is None:
            return
        with (self.folder / "said").open("ab") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "fairlead", "serve", "--cluster", "cluster.yaml",
                 "--state", "state", "--no-auth", "--log", "off",
                 "--journal", f"postgresql://postgres@/{database}?host={self.way.folder}",
                 "--listen", f"127.0.0.1:{self.port}"],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                start_new_session=True, env=ENVIRONMENT,
            )  # fmt: skip

    def signal(self, number: int) -> None:
        """To the process, where there is one."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            self.frozen = number == signal.SIGSTOP
            if number == signal.SIGKILL:
                self.process.wait()

    def leads(self) -> bool:
        """Whether it says that it leads and can write."""
        try:
            return httpx2.get(f"{self.url}/v1/ready", timeout=2.0, verify=NOBODY).status_code == 200
        except httpx2.HTTPError:
            return False


@dataclass
class Pair:
    """The two, what was asked of them, and what happened."""

    places: list[Place]
    database: str
    lines: Path
    random: Random
    accepted: dict[int, tuple[int, bool]] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    happened: Counter[str] = field(default_factory=Counter)
    without: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    stopped: bool = False

    def leader(self) -> Place:
        """Who leads; waited for."""
        found = self.who_leads(time.monotonic() + AT_MOST)
        assert found is not None, "nobody leads"
        return found

    def who_leads(self, end: float) -> Place | None:
        """Who leads and reaches the database; None if nobody does until then."""
        while time.monotonic() < end:
            for each in self.places:
                reaches = not (each.frozen or each.way.stalled or each.way.closed)
                if reaches and each.leads():
                    return each
            time.sleep(0.05)
        return None

    def submit(self) -> None:
        """Submits jobs until it is told to stop, as clients of both do."""
        urls, number = ",".join(each.url for each in self.places), 0
        with Client(urls, timeout=5.0, patience=60.0) as client:
            while not self.stopped:
                number += 1
                once, tasks = self.random.random() < 0.6, self.random.randint(1, 3)
                nap = self.random.choice((0, 0.1, 0.5, 2, 8))
                job = {
                    "name": f"job-{number}",
                    "demand": {"cpu": "0.5"},
                    "tasks": tasks,
                    "command": ["sh", "-c", SCRIPT],
                    "env": {"LINES": str(self.lines), "NAP": str(nap)},
                    "rerunnable": not once,
                    "retries": 0 if once else 1000,
                }
                key, end = f"key-{number}", time.monotonic() + AT_MOST
                while time.monotonic() < end:
                    try:
                        said = client.submit(job, key=key).jobs[0].id
                    except ServiceError:
                        time.sleep(0.2)
                        continue
                    if self.keys.setdefault(key, said) != said:
                        self.wrong.append(f"{key} is {self.keys[key]} and {said}")
                    self.accepted[said] = (tasks, once)
                    break
                else:
                    self.wrong.append(f"{key} was never accepted")
                time.sleep(self.random.uniform(0, 0.8))

    def strike(self, trouble: Trouble) -> None:
        """It happens, and is over in the end."""
        leader = self.leader()
        (follower,) = (each for each in self.places if each is not leader)
        began, lasts = time.monotonic(), self.random.uniform(7.5, 14.0)
        self.happened[trouble.value] += 1
        if trouble is Trouble.KILLED:
            leader.signal(signal.SIGKILL)
        elif trouble is Trouble.FROZEN_SHORTLY:
            leader.signal(signal.SIGSTOP)
            time.sleep(self.random.uniform(1.0, 6.5))
            leader.signal(signal.SIGCONT)
        elif trouble is Trouble.FROZEN:
            leader.signal(signal.SIGSTOP)
        elif trouble is Trouble.CUT_OFF:
            leader.way.stalled = True
        elif trouble is Trouble.DISCONNECTED:
            leader.way.closed = True
        elif trouble is Trouble.FOLLOWER_KILLED:
            follower.signal(signal.SIGKILL)
        elif trouble is Trouble.FOLLOWER_FROZEN:
            follower.signal(signal.SIGSTOP)
        elif trouble is Trouble.BOTH_KILLED:
            leader.signal(signal.SIGKILL)
            follower.signal(signal.SIGKILL)
            follower.start(self.database)
        else:
            follower.signal(signal.SIGSTOP)
            leader.signal(signal.SIGSTOP)
            time.sleep(lasts)
            began = time.monotonic()
            follower.signal(signal.SIGCONT)
        found = self.leader()
        self.without.append(time.monotonic() - began)
        who = "abc"[self.places.index(found)]
        sys.stderr.write(f"{trouble.value}: {who} leads after {self.without[-1]:.1f} s\n")
        if found is not leader:
            time.sleep(max(0.0, began + lasts - time.monotonic()))
        for each in self.places:
            each.signal(signal.SIGCONT)
            each.way.stalled = each.way.closed = False
            each.start(self.database)

    def follows(self) -> None:
        """Waits until one leads and the other one follows it."""
        leader, end = self.leader(), time.monotonic() + AT_MOST
        while time.monotonic() < end:
            answers = []
            for each in self.places:
                with suppress(httpx2.HTTPError, ValueError):
                    answers.append(
                        httpx2.get(f"{each.url}/v1/ready", timeout=2.0, verify=NOBODY).json()
                    )
            if sorted((each["leads"], each["ready"]) for each in answers) == [
                (False, False),
                (True, True),
            ]:
                return
            time.sleep(0.1)
        self.wrong.append(f"nobody follows {leader.url}")

    def is_over(self) -> bool:
        """Whether nothing goes on."""
        with suppress(ServiceError), Client(self.leader().url, timeout=5.0) as client:
            return all(job.state not in GOES_ON for job in client.jobs(all=True))
        return False


def run(folder: Path, seed: int, troubles: int) -> dict[str, Any]:
    """So many troubles, then an end to everything, and a count."""
    programs = postgres_server.programs()
    assert programs is not None, "PostgreSQL is not installed"
    random, lines = Random(seed), folder / "lines"
    lines.touch()
    with ExitStack() as stack:
        server = postgres_server.start(programs)
        stack.callback(server.stop)
        server.make("journal")
        places = []
        for name in ("a", "b"):
            (folder / name).mkdir()
            (folder / name / "cluster.yaml").write_text(CLUSTER)
            way = Way(folder / f"way-{name}", server.folder)
            places.append(Place(folder / name, stack.enter_context(kept_port()), way))
        pair = Pair(places, "journal", lines, random)
        for each in places:
            stack.callback(each.signal, signal.SIGKILL)
        places[0].start("journal")
        pair.leader()
        places[1].start("journal")
        pair.follows()
        client = threading.Thread(target=pair.submit, daemon=True)
        client.start()
        for trouble in _drawn(random, troubles):
            time.sleep(random.uniform(0, 3))
            pair.strike(trouble)
            pair.follows()
        pair.stopped = True
        client.join(AT_MOST)
        end = time.monotonic() + AT_MOST
        while not pair.is_over() and time.monotonic() < end:
            time.sleep(0.3)
        return _counted(pair, server.url("journal"))


def _drawn(random: Random, troubles: int) -> list[Trouble]:
    """Each of them as often as the others."""
    found: list[Trouble] = []
    while len(found) < troubles:
        found += random.sample(list(Trouble), len(Trouble))
    return found[:troubles]


def _lines(path: Path) -> Iterator[tuple[str, int, int, int]]:
    for line in path.read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            word, job, task, attempt = line.split()
            yield word, int(job), int(task), int(attempt)


def _counted(pair: Pair, journal: str) -> dict[str, Any]:
    """What the journal and the tasks' own lines say, and what is wrong."""
    results: dict[tuple[int, int], list[tuple[str, str]]] = {}
    keys: Counter[str] = Counter()
    starts = 0
    reader = open_reader(journal)
    for entry in reader.read():
        body = entry.body
        starts += entry.kind == "service_started"
        if entry.kind in ("task_finished", "task_failed"):
            found = results.setdefault((body["id"], body["task"]), [])
            found.append((entry.kind, body["cause"]))
        elif entry.kind == "job_submitted":
            keys[body["key"]] += 1
    reader.close()
    wrong = pair.wrong
    begun: Counter[tuple[int, int]] = Counter()
    attempts: Counter[tuple[int, int, int]] = Counter()
    ended: Counter[tuple[int, int]] = Counter()
    for word, job, task, attempt in _lines(pair.lines):
        begun[job, task] += word == "begin"
        attempts[job, task, attempt] += word == "begin"
        ended[job, task] += word == "end"
    wrong += [f"attempt {at} began {times} times" for at, times in attempts.items() if times > 1]
    lost = 0
    for job, (tasks, once) in sorted(pair.accepted.items()):
        for task in range(tasks):
            found = results.get((job, task), [])
            if len(found) != 1:
                wrong.append(f"task {job}.{task} has the results {found}")
                continue
            kind, cause = found[0]
            if once and begun[job, task] > 1:
                wrong.append(f"task {job}.{task} may run once and began {begun[job, task]} times")
            if kind == "task_finished" and not ended[job, task]:
                wrong.append(f"task {job}.{task} finished and did not end")
            if kind == "task_failed":
                lost += 1
                if not once or cause != "lost":
                    wrong.append(f"task {job}.{task} failed: {cause}")
    wrong += [f"{key} was accepted {times} times" for key, times in keys.items() if times > 1]
    wrong += [f"task {at} is nobody's" for at in results if at[0] not in pair.accepted]
    return {
        "troubles": dict(sorted(pair.happened.items())),
        "led by": starts,
        "jobs": len(pair.accepted),
        "tasks": sum(tasks for tasks, _ in pair.accepted.values()),
        "results": sum(len(each) for each in results.values()),
        "once, lost with their machine": lost,
        "ran again": sum(times - 1 for times in begun.values() if times > 1),
        "longest without a leader": round(max(pair.without), 1),
        "wrong": wrong,
    }


if __name__ == "__main__":
    os.environ.pop("FAIRLEAD_URL", None)
    sys.stdout.write(json.dumps(run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))) + "\n")
