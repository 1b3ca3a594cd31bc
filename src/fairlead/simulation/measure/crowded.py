"""The sink that keeps the moment at which most wait, as an input for exact shares."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from fairlead.model.job import Job
from fairlead.model.words import tally, timespan
from fairlead.model.writing import write
from fairlead.simulation.measure.moment import Moment
from fairlead.simulation.measure.sampling import MOST_SAMPLES, first_interval, longer
from fairlead.simulation.measure.sinks import RunInfo, Sink
from fairlead.simulation.traces.backlog import Alike, input_of, lone, machines_with
from fairlead.simulation.workload import Workload
from fairlead.whole_file import write_whole

FILE = "moment.yaml"


class Crowded(Sink):
    """Of all samples the first at which tasks of the most tenants wait, and of those the most
    tasks: its machines, and its jobs with the tasks that wait and those that run. No file where
    nobody ever waits."""

    def __init__(self, path: Path, every: int | None = None) -> None:
        self._path, self._fixed, self.every = path, every, every
        self._run: RunInfo | None = None
        self._found: Moment | None = None
        self._most = (0, 0)
        self._samples = 0

    def start(self, run: RunInfo) -> None:
        self._run, self._found, self._most, self._samples = run, None, (0, 0), 0
        self.every = self._fixed or first_interval(run.workload)

    def sample(self, moment: Moment) -> None:
        self._samples += 1
        if self._fixed is None and self._samples > MOST_SAMPLES and self.every is not None:
            self.every, self._samples = longer(self.every), self._samples // 2
        waits = moment.waiting > 0
        owner = np.where(moment.tenant >= 0, moment.tenant, -1 - moment.job)[waits]
        count = len(np.unique(owner)), int(moment.waiting.sum())
        if count > self._most:
            self._most, self._found = count, moment

    def finish(self) -> None:
        if self._run is None or self._found is None:
            self._path.unlink(missing_ok=True)
            return
        tenants, tasks = self._most
        when = timespan(self._found.time / 1e6)
        told = (
            f"After {when} tasks of {tally(tenants, 'tenant')} wait, {tally(tasks, 'task')} in all."
        )
        write_whole(self._path, f"# {told}\n{moment_text(self._run.workload, self._found)}")


def moment_text(workload: Workload, moment: Moment) -> str:
    """The moment as a file for `fairlead allocate`: a tenant's jobs that are alike are one, one
    without a tenant has its number, and machines that are drained or gone are left out, in lists
    too, with jobs that name no others."""
    groups: dict[Alike, int] = {}
    for k in range(len(moment.job)):
        if moment.demand[k].any():
            needs = moment.needs[k].tobytes().rstrip(b"\0")
            spread = bool(moment.spread[k])
            tenant, job = int(moment.tenant[k]), int(moment.job[k])
            owner = tenant if tenant >= 0 else lone(job)
            key = owner, moment.demand[k].tobytes(), needs, spread
            groups[key] = groups.get(key, 0) + int(moment.waiting[k] + moment.held[k])
    there = {
        int(index): tuple(amounts.tolist())
        for index, amounts, open_ in zip(moment.machine, moment.capacity, moment.open, strict=True)
        if open_
    }
    machines = machines_with(workload, there)
    cluster, jobs = input_of(workload, list(moment.terms), groups, machines)
    names = {machine.name for machine in machines}
    found = [_among(each, names) for each in jobs]
    return write(cluster, [each for each in found if each is not None])


def _among(job: Job, names: set[str]) -> Job | None:
    """The job as it lists machines of these names alone; None where it may use others only."""
    exclude = tuple(name for name in job.exclude if name in names)
    if job.machines is None:
        return replace(job, exclude=exclude)
    machines = tuple(name for name in job.machines if name in names)
    return replace(job, machines=machines, exclude=exclude) if machines else None
