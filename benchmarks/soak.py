"""A soak: many tasks through the service and the engine in memory, with faults all the time.

`python -m benchmarks.soak --tasks 1000000` simulates an hour, whatever the number of tasks, and
prints what it counted as JSON. The journal is SQLite in a temporary folder; time is simulated."""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import psutil

from fairlead.engines.interface import Report
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.service.journal.entry import Entry
from fairlead.service.journal.places import open_store
from fairlead.service.journal.sql import SqlStore
from fairlead.service.loop.loop import Service
from fairlead.service.requests import Caller, Done, SubmitJobs
from fairlead.service.settings import Retention, Settings
from tests.engines.fake import Call, FakeEngine
from tests.engines.world import World, random_fates

SECOND = 1_000_000
START = 1_800_000_000 * SECOND
HOUR = 3600
STEP = SECOND // 10
TASKS_OF_A_JOB = 100
MACHINES = 100
KEPT = Retention(jobs=200, tasks=20_000)


class Troubles:
    """Calls that fail, before, in the middle or after, and reports that come late."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.on = True
        self.failed = self.late = 0

    def doing(self, call: Call, size: int) -> int | None:
        """Faults.doing: one call in five hundred."""
        if not self.on or call is Call.OUTPUT or self.random.random() >= 0.002:
            return None
        self.failed += 1
        return self.random.randint(0, size)

    def reports(self, reports: Sequence[Report]) -> Sequence[Report]:
        """Faults.reports: now and then only the first half comes."""
        if not self.on or self.random.random() >= 0.02:
            return reports
        self.late += 1
        return reports[: len(reports) // 2]


class Counts:
    """The end of every task of every job, from the durable entries alone."""

    def __init__(self) -> None:
        self.open: dict[int, bytearray] = {}
        self.results = self.doubled = self.missing = self.over = 0

    def hear(self, entries: Sequence[Entry]) -> None:
        """These entries are durable."""
        for entry in entries:
            body = entry.body
            if entry.kind == "job_submitted":
                self.open[body["id"]] = bytearray(int(body["job"]["tasks"]))
            elif entry.kind in ("task_finished", "task_failed"):
                seen = self.open[body["id"]]
                self.results += 1
                self.doubled += seen[body["task"]] > 0
                seen[body["task"]] = 1
            elif entry.kind == "job_forgotten":
                self._close(body["id"])

    def _close(self, job: int) -> None:
        self.missing += self.open.pop(job).count(0)
        self.over += 1

    def finish(self) -> None:
        """All that is open is over."""
        for job in list(self.open):
            self._close(job)


class Soak:
    """The service, the world and the clock."""

    def __init__(self, folder: Path, tasks: int, seed: int, seconds: int) -> None:
        self.random = Random(seed)
        self.now = START
        self.jobs = tasks // TASKS_OF_A_JOB
        self.end = START + seconds * SECOND
        self.each = seconds * SECOND / self.jobs  # between two jobs
        mean = seconds * SECOND * MACHINES * 4 // tasks  # four of a machine's ten slots are in use
        self.machines = [Machine(f"m{i:03}", {"cpu": 10}) for i in range(MACHINES)]
        fates = random_fates(seed, max(mean, 1), failing=0.02, delay=1000)
        self.world = World(self.machines, lambda: self.now, fates)
        self.troubles = Troubles(self.random)
        self.counts = Counts()
        self.folder = folder
        self.tenants = tuple(Tenant(f"t{i}") for i in range(10))
        self.lives = self.left = self.lost = self.troubled = 0
        self.store: SqlStore
        self.service: Service
        self.begin()

    def begin(self) -> None:
        """A new life of the service, from the journal."""
        self.lives += 1
        self.store = open_store(self.folder)
        settings = Settings(tenants=self.tenants, retention=KEPT)
        self.service = Service(self.store, FakeEngine(self.world, self.troubles), settings)
        self.service.listeners.append(self.counts.hear)

    def run(self) -> dict[str, Any]:
        """Submits everything over an hour, and goes on until it is over."""
        submitted = steps = overloaded = 0
        memory: list[int] = []
        started = time.monotonic()
        waiting: list[SubmitJobs] = []
        while submitted < self.jobs or waiting or not self._over():
            self.now += STEP
            steps += 1
            due = min(self.jobs, int((self.now - START) / self.each))
            waiting += [self._job(number) for number in range(submitted, due)]
            submitted = due
            replies = self.service.step(self.now, waiting)
            # What was refused, or is not known to be accepted, is asked for again by its key.
            pairs = zip(waiting, replies, strict=True)
            waiting = [asked for asked, reply in pairs if not isinstance(reply, Done)]
            if self.now < self.end:
                self._fault()
            else:
                self.troubles.on = False
            if steps % 3000 == 0:
                overloaded += len(self.world.overloaded())
                memory.append(psutil.Process().memory_info().rss // 2**20)
                sys.stderr.write(
                    f"{steps} steps, {self.counts.results} results, {memory[-1]} MiB\n"
                )
        self.counts.finish()
        self.service.close()
        return {
            "tasks": self.jobs * TASKS_OF_A_JOB,
            "results": self.counts.results,
            "doubled": self.counts.doubled,
            "missing": self.counts.missing,
            "attempts started": self.world.started,
            "machines over capacity": overloaded,
            "faults": {
                "calls that failed": self.troubles.failed,
                "late reports": self.troubles.late,
                "machines that left": self.left,
                "machines in trouble": self.troubled,
                "attempts that were lost": self.lost,
                "lives of the service": self.lives,
            },
            "entries": self.service.records.seq,
            "simulated seconds": (self.now - START) // SECOND,
            "seconds": round(time.monotonic() - started),
            "memory in MiB, every 300 simulated seconds": memory,
            "most memory in MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }

    def _job(self, number: int) -> SubmitJobs:
        tenant = self.tenants[number % len(self.tenants)].name
        retries = 10**6  # machines leave often: what is lost is tried again until it ends
        job = Job(
            f"j{number}",
            {"cpu": 1},
            tenant=tenant,
            tasks=TASKS_OF_A_JOB,
            command=("work",),
            retries=retries,
        )
        return SubmitJobs(Caller("soak"), (job,), f"k{number}")

    def _fault(self) -> None:
        """The events of a tenth of a second, mostly none."""
        dice = self.random.random()
        name = self.random.choice(self.machines).name
        if dice < 0.003 and name in self.world.nodes:
            self.world.leave(name)
            self.left += 1
        elif dice < 0.006 and name in self.world.nodes:
            self.world.trouble(name)
            self.troubled += 1
        elif dice < 0.016:
            running = self.world.running(name) if name in self.world.nodes else []
            if running:
                self.world.lose(running[0].attempt)
                self.lost += 1
        elif dice < 0.0163:
            # It is killed: nothing is closed but what another life needs, the journal's lock.
            self.store.close()
            self.begin()
        elif dice < 0.1:
            self._mend()

    def _mend(self) -> None:
        for machine in self.machines:
            node = self.world.nodes.get(machine.name)
            if node is None:
                self.world.join(machine)
                return
            if node.problem:
                self.world.mend(machine.name)
                return

    def _over(self) -> bool:
        records = self.service.records
        self._mend()
        return len(records.over) == len(records.jobs)


def soak(tasks: int, seed: int = 1, seconds: int = HOUR) -> dict[str, Any]:
    """The counts of a soak of so many simulated seconds."""
    with tempfile.TemporaryDirectory() as folder:
        return Soak(Path(folder), tasks, seed, seconds).run()


def main() -> int:
    """Runs it; 1 if anything was lost or doubled."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    counted = soak(asked.tasks, asked.seed)
    sys.stdout.write(json.dumps(counted, indent=2) + "\n")
    wrong = counted["missing"] + counted["doubled"] + counted["machines over capacity"]
    return int(wrong > 0 or counted["results"] != counted["tasks"])


if __name__ == "__main__":
    sys.exit(main())
