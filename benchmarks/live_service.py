"""The rows of the benchmark `live` on the service itself: each function prepares, and gives what
is timed. Journals are in a temporary folder, whose disk is the one that is measured."""

from __future__ import annotations

import os
import pickle
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import Measured
from fairlead.engines.interface import Assignment
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.service.fairness.interface import Answered
from fairlead.service.fairness.observer import Counted, Timed
from fairlead.service.fairness.question import question
from fairlead.service.fairness.shortfalls import measure
from fairlead.service.fairness.solve import answer
from fairlead.service.journal.entry import Entry, Store
from fairlead.service.journal.places import open_store
from fairlead.service.loop.loop import Service
from fairlead.service.requests import Caller, Refused, SubmitJobs
from fairlead.service.settings import Limits, Retention, Settings
from tests.engines.fake import FakeEngine
from tests.engines.world import Fate, World, lasting

NOW = 1_800_000_000_000_000
SECOND = 1_000_000
TENANTS = tuple(Tenant(f"t{k}") for k in range(20))
MANY = 10**8
LIMITS = Limits(
    jobs_per_tenant=MANY, tasks_per_tenant=MANY, jobs_per_request=MANY, jobs=MANY, tasks=MANY
)


class Times:
    """An observer that keeps how long decisions and steps took, and the processor time of that."""

    def __init__(self) -> None:
        self.seconds: dict[Timed, list[float]] = {what: [] for what in Timed}
        self.worked: dict[Timed, list[float]] = {what: [] for what in Timed}

    @contextmanager
    def measure(self, what: Timed, /) -> Iterator[None]:
        """Around what takes time."""
        begun, worked = time.perf_counter(), time.thread_time()
        yield
        self.seconds[what].append(time.perf_counter() - begun)
        self.worked[what].append(time.thread_time() - worked)

    def count(self, what: Counted, /, times: int = 1) -> None:
        """Nobody counts."""

    def ended(self, outcome: str, /, times: int = 1) -> None:
        """Nobody counts."""

    def percentile(self, what: Timed, part: float, *, worked: bool = False) -> float:
        """In milliseconds."""
        times = self.worked[what] if worked else self.seconds[what]
        return float(np.percentile(times, part)) * 1e3

    def clear(self) -> None:
        """Forgets all."""
        for kept in (*self.seconds.values(), *self.worked.values()):
            kept.clear()


class Nowhere:
    """A store that keeps nothing."""

    def __init__(self) -> None:
        self.leader, self.restored = "", False
        self._last = 0

    def append(self, entries: Sequence[Entry]) -> None:
        """Forgets them."""
        self._last += len(entries)

    def last(self) -> int:
        """The number that there were."""
        return self._last

    def start(self) -> int:
        """All of them are gone."""
        return self._last

    def read(self, after: int = 0) -> Iterator[Entry]:
        """There are none."""
        return iter(()[after:])

    def until(self, time: int) -> int:  # noqa: ARG002  none is of any time
        """As `start`."""
        return self._last

    def keep(self, seq: int, snapshot: bytes) -> None:
        """Forgets it."""

    def snapshot(self) -> None:
        """There is none."""

    def snapshots(self) -> list[tuple[int, bytes]]:
        """There is none."""
        return []

    def forget(self, seq: int) -> None:
        """They are forgotten already."""

    def renew(self) -> None:
        """Nobody else writes nothing."""

    def close(self) -> None:
        """There is nothing to let go of."""


class Bench:
    """A service on an engine in memory, whose clock the benchmark moves."""

    def __init__(
        self,
        store: Store,
        machines: int,
        fates: Any = None,
        settings: Settings | None = None,
        observer: Any = None,
    ) -> None:
        self.now = NOW
        there = [
            Machine(f"m{k:05}", {"cpu": 32, "memory": 128, "gpu": k % 4}, {"zone": f"z{k % 5}"})
            for k in range(machines)
        ]
        self.world = World(there, lambda: self.now, fates or lasting(None))
        self.settings = settings or Settings(tenants=TENANTS, limits=LIMITS, snapshot_every=0)
        self.service = Service(store, FakeEngine(self.world), self.settings, None, observer)
        self.service.step(self.now)

    def step(self, *jobs: Sequence[Job], later: int = 0) -> None:
        """One step, with a request for each of these lists of jobs."""
        self.now += later
        for reply in self.service.step(self.now, [SubmitJobs(Caller(), tuple(js)) for js in jobs]):
            if isinstance(reply, Refused):
                raise RuntimeError(reply.what)


def job(number: int, random: np.random.Generator, tasks: int = 1) -> Job:
    """A job of some tenant, of one of many sizes; one in ten is bound to a zone."""
    demand: dict[str, int] = {
        "cpu": int(random.integers(1, 9)),
        "memory": int(random.integers(1, 33)),
    }
    if random.random() < 0.05:
        demand["gpu"] = 1
    return Job(
        f"j{number}",
        demand,
        tenant=f"t{number % len(TENANTS)}",
        tasks=tasks,
        where=f"zone = z{number % 5}" if random.random() < 0.1 else "",
        command=["true"],
    )


def batches(jobs: Sequence[Job], size: int) -> list[Sequence[Job]]:
    """The jobs, so many at a time."""
    return [jobs[k : k + size] for k in range(0, len(jobs), size)]


def submitting(machines: int, jobs: int, batch: int) -> Measured:
    """Jobs come in batches, a step each; each step is synced to the disk. The cluster is full, so
    that they wait."""
    folder = tempfile.TemporaryDirectory()
    times = Times()
    bench = Bench(open_store(folder.name), machines, observer=times)
    bench.step([Job("full", {"cpu": 32}, tenant="t0", tasks=machines, command=["true"])])
    random = np.random.Generator(np.random.PCG64(1))
    rounds = iter(
        [
            batches([job(k, random) for k in range(n * jobs, (n + 1) * jobs)], batch)
            for n in range(7)
        ]
    )

    def run() -> dict[str, float]:
        worked = time.process_time()
        for each in next(rounds):
            bench.step(each, later=1000)
        _ = folder  # it stays until all is measured
        return {
            "cpu_s": time.process_time() - worked,
            "journal_ms_p50": times.percentile(Timed.JOURNAL, 50),
        }

    return run


def deciding(machines: int, waiting: int, steps: int, seed: int) -> Measured:
    """So many steps of a full cluster in which so many jobs wait: in each about ten tasks end and
    as many jobs come, and the core decides. The figures are percentiles over the steps."""
    folder = tempfile.TemporaryDirectory()
    random = np.random.Generator(np.random.PCG64(seed))
    lasts = np.random.Generator(np.random.PCG64(seed + 1))

    def fate(_: Assignment) -> Fate:
        return Fate(max(1, int(lasts.exponential(machines * 7 * SECOND / 100))))

    times = Times()
    bench = Bench(open_store(folder.name), machines, fate, observer=times)
    number, core = crowded(bench, random, waiting)
    for _ in range(20):
        bench.step(later=SECOND // 10)
    times.clear()
    whole = core.state.header[0]
    numbers = iter(range(number, 10**9))

    def run() -> dict[str, float]:
        said: list[int] = []
        for _ in range(steps):
            begun = time.perf_counter()
            launched = int(whole["launched"])
            come = [job(next(numbers), random) for _ in range(said[-1] if said else 10)]
            bench.step(come, later=SECOND // 10)
            said.append(int(whole["launched"]) - launched)
            times.seconds[Timed.STEP].append(time.perf_counter() - begun)
        _ = folder
        return {
            "decide_ms_p50": times.percentile(Timed.DECIDE, 50),
            "decide_ms_p99": times.percentile(Timed.DECIDE, 99),
            "decide_cpu_ms_p99": times.percentile(Timed.DECIDE, 99, worked=True),
            "decide_ms_max": times.percentile(Timed.DECIDE, 100),
            "step_ms_p50": times.percentile(Timed.STEP, 50),
            "step_ms_p99": times.percentile(Timed.STEP, 99),
            "journal_ms_p99": times.percentile(Timed.JOURNAL, 99),
            "launches_each": float(np.mean(said)),
            "waiting": float(whole["active"]),
        }

    return run


def crowded(
    bench: Bench, random: np.random.Generator, waiting: int, most: int = 1
) -> tuple[int, Core]:
    """Jobs of up to so many tasks come until the cluster is full and so many wait. Gives how many
    came."""
    number = 0
    while True:
        more = [
            job(number + k, random, tasks=int(random.integers(1, most + 1))) for k in range(1_000)
        ]
        number += len(more)
        bench.step(more)
        core = bench.service.core
        assert core is not None  # it has stepped
        if int(core.state.header[0]["active"]) >= waiting:
            return number, core


def advising(machines: int, waiting: int, seed: int) -> Measured:
    """The exact allocation of what is present, as the adviser answers it."""
    bench = Bench(Nowhere(), machines)
    _, core = crowded(bench, np.random.Generator(np.random.PCG64(seed)), waiting, 3)
    answer(question(core, 0))

    def run() -> dict[str, float]:
        worked = time.process_time()
        begun = time.perf_counter()
        asked = question(core, 1, guarantees=True)
        took = time.perf_counter() - begun
        found = answer(asked)
        if found.problem:
            raise RuntimeError(found.problem)
        begun = time.perf_counter()
        measure(core, Answered(asked, found))
        return {
            "cpu_s": time.process_time() - worked,
            "ask_ms": took * 1e3,
            "measure_ms": (time.perf_counter() - begun) * 1e3,
            "jobs": float(len(asked.jobs)),
            "question_mb": len(pickle.dumps(asked)) / 1e6,
        }

    return run


def recovering(entries: int, behind: int) -> Measured:
    """A journal of so many entries, the newest snapshot so many entries old: until the service has
    its state again."""
    folder = tempfile.TemporaryDirectory()
    settings = Settings(
        tenants=TENANTS,
        limits=LIMITS,
        snapshot_every=entries - behind,
        retention=Retention(jobs=MANY, tasks=MANY),
    )
    bench = Bench(open_store(folder.name), 200, lasting(SECOND), settings)
    random = np.random.Generator(np.random.PCG64(1))
    number = 0
    while bench.service.records.seq < entries:
        each = 10 if entries < 10**5 else 50
        bench.step([job(number + k, random, tasks=each) for k in range(10)], later=SECOND)
        number += 10
    digest = bench.service.core.digest()  # type: ignore[union-attr]  # it has stepped
    found = bench.service.records.seq
    bench.service.store.close()  # as if it had been killed: no snapshot at the end
    world = bench.world
    snapshot = open_store(folder.name)
    newest = snapshot.snapshot()
    snapshot.close()
    assert newest is not None  # it was told to make one
    seq = newest[0]

    def run() -> dict[str, float]:
        worked = time.process_time()
        store = open_store(folder.name)
        service = Service(store, FakeEngine(world), settings)
        if service.core is None or service.core.digest() != digest:
            raise RuntimeError("what was recovered is something else")
        store.close()
        _ = folder
        return {
            "cpu_s": time.process_time() - worked,
            "entries": float(found),
            "after_snapshot": float(found - seq),
        }

    return run


def remembering(tasks: int) -> Measured:
    """So many tasks run and are remembered: what that takes of memory."""
    settings = Settings(
        tenants=TENANTS,
        limits=LIMITS,
        snapshot_every=0,
        retention=Retention(jobs=MANY, tasks=MANY),
    )
    bench = Bench(Nowhere(), 200, lasting(1), settings)
    before = resident()
    each = 1_000
    random = np.random.Generator(np.random.PCG64(1))
    numbers = iter(range(10**9))

    def run() -> dict[str, float]:
        begun = time.perf_counter()
        for made in range(0, tasks, each):
            more = job(next(numbers), random, tasks=min(each, tasks - made))
            bench.step([more], later=SECOND)
        while any(not each.over for each in bench.service.records.jobs.values()):
            bench.step(later=SECOND)
        return {
            "bytes_a_task": (resident() - before) / tasks,
            "resident_mb": resident() / 1e6,
            "tasks_per_second": tasks / (time.perf_counter() - begun),
        }

    return run


def resident() -> int:
    """The bytes of memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
