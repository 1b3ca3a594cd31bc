"""A workload on the local engine: a service in a process of its own, and tasks that sleep."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairlead import children
from fairlead.client.client import Client
from fairlead.client.places import ADDRESS, find_place
from fairlead.model.errors import InternalError
from fairlead.model.plain import Plain
from fairlead.model.quantity import write_amount
from fairlead.scheduling.state.terms import Listed
from fairlead.simulation.workload import Floats, JobBatch, Workload
from fairlead.simulation.workloads.draws import SECOND

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

    from fairlead.client.places import Place
    from fairlead.wire.jobs import Task, TaskCounts

LOOK = 0.2
"""Seconds between two looks at whether all jobs are over."""
PATIENCE = 600.0
"""Seconds for which nothing may happen."""
SLEEP = 'exec sleep "$(sed -n "$((FAIRLEAD_TASK + 1))p" {file})"'
"""What a task does: it sleeps for as long as its line says."""

Spans = dict[str, Floats]
"""By job, for each task when it began and ended, in seconds of the workload (T, 2)."""


def run_live(work: Workload, policy: str, faster: float, until: float = np.inf) -> Spans:
    """Runs the workload on the local engine, so many times as fast as it says, until this second of
    it or its end: each task is a process that sleeps. Machines are of any size, for nothing is
    computed. The jobs have no terms but lists of machines."""
    with (
        _folder() as folder,
        _service(work, policy, folder) as (place, service),
        Client(place=place, patience=60.0) as client,
    ):
        begun = time.time()
        for batch in work.batches():
            for at in range(len(batch)):
                due = begun + batch.submit[at] / SECOND / faster
                time.sleep(max(0.0, due - time.time()))
                client.submit(_job(work, batch, at, faster, folder))
        names = [job.name for job in client.jobs(all=True)]
        _wait(client, service, begun + until / faster)
        spans = {name: _spans(client.tasks(name), begun, faster) for name in names}
        if left := [job.name for job in client.jobs()]:
            client.cancel_jobs(*left)
            _wait(client, service, np.inf)
        return spans


def held(spans: Spans, seconds: int) -> Floats:
    """The tasks of each job that run at each second (S, J)."""
    found = np.zeros((seconds, len(spans)))
    for second in range(seconds):
        for at, job in enumerate(spans.values()):
            found[second, at] = ((job[:, 0] <= second) & (second < job[:, 1])).sum()
    return found


def _job(work: Workload, batch: JobBatch, at: int, faster: float, folder: Path) -> Plain:
    """The job as it is submitted; the times of its tasks are in a file of its own."""
    assert batch.names is not None
    times = batch.durations[batch.first[at] : batch.first[at + 1]] / SECOND / faster
    file = folder / f"times-{at}"
    file.write_text("".join(f"{one:.4f}\n" for one in times), encoding="utf-8")
    lists = [
        term.machines
        for bit, term in enumerate(work.terms)
        if isinstance(term, Listed) and int(batch.needs[at, bit // 64]) >> bit % 64 & 1
    ]
    job: Plain = {
        "name": batch.names[at],
        "demand": _amounts(work, batch.demand[at].tolist()),
        "tasks": int(batch.tasks[at]),
        "command": SLEEP.format(file=file),
    }
    return job | ({"machines": sorted(frozenset.intersection(*lists))} if lists else {})


def _amounts(work: Workload, units: list[int]) -> dict[str, str]:
    return {r.name: write_amount(n * r.unit) for r, n in zip(work.resources, units, strict=True)}


def _wait(client: Client, service: SpawnProcess, until: float) -> None:
    """Waits until all jobs are over, or for this moment."""
    left, since = -1, time.monotonic()
    while (waits := sum(_to_do(job.tasks) for job in client.jobs())) > 0:
        if time.time() >= until:
            return
        if waits != left:
            left, since = waits, time.monotonic()
        if service.exitcode is not None or time.monotonic() > since + PATIENCE:
            raise InternalError(f"the study's service stopped with {left} tasks to do")
        time.sleep(LOOK)


def _to_do(tasks: TaskCounts) -> int:
    """Tasks that are not over, on their way to a machine and away from it, too."""
    return tasks.waiting + tasks.launched + tasks.running + tasks.stopping


def _spans(tasks: Iterable[Task], begun: float, faster: float) -> Floats:
    """When each task that ran began and ended: never, where it runs still."""
    found = []
    for task in tasks:
        for one in task.attempts:
            if one.ended is not None and one.code != 0:
                raise InternalError(f"a task that sleeps failed: {one.cause} {one.message}")
            if one.started is not None:
                found.append((one.started, np.inf if one.ended is None else one.ended))
    return (np.array(found).reshape(-1, 2) / SECOND - begun) * faster


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="fairlead-study-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _service(work: Workload, policy: str, folder: Path) -> Iterator[tuple[Place, SpawnProcess]]:
    """The service, up and running; it ends with this process."""
    machines = [
        {"name": name, "capacity": _amounts(work, units)}
        for name, units in zip(work.machines.names, work.machines.capacity.tolist(), strict=True)
    ]
    cluster, config, state = folder / "cluster.json", folder / "config.json", folder / "state"
    cluster.write_text(json.dumps({"machines": machines}), encoding="utf-8")
    config.write_text(json.dumps({"policy": policy, "cluster": str(cluster)}), encoding="utf-8")
    words = ["serve", "--state", str(state), "--config", str(config), "--listen", "127.0.0.1:0"]
    log = folder / "service.log"
    service = children.spawning().Process(target=_serve, args=(words, log))
    with children.holding():
        service.start()
    try:
        until = time.monotonic() + PATIENCE
        while not (state / ADDRESS).exists():
            if service.exitcode is not None or time.monotonic() > until:
                said = log.read_text(encoding="utf-8") if log.exists() else ""
                raise InternalError(f"the study's service does not start: {said}")
            time.sleep(0.05)
        yield find_place(environ={"FAIRLEAD_STATE": str(state), "HOME": str(folder)}), service
    finally:
        service.terminate()
        service.join(PATIENCE)
        service.kill()
        service.join()


def _serve(words: list[str], log: Path) -> None:
    """The command, in its process: nothing of it is imported here, for commands run studies."""
    children.end_with_parent()
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for to in (1, 2):
        os.dup2(file, to)
    sys.argv = ["fairlead", *words]
    runpy.run_module("fairlead", run_name="__main__", alter_sys=True)
