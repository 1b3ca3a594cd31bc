"""Jobs after the first hour of Google's 2011 trace: from its published counts, or from the file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from fairlead.simulation.workload import Bools, Floats, Ints
from fairlead.simulation.workloads.draws import SECOND, Stream, numbers
from fairlead.simulation.workloads.first_hour_file import BEGIN, END, FirstHour, read_first_hour

COUNTED = "clusterdata-2011-2 (J. Wilkes, C. Reiss, Google; CC-BY 4.0)"

HOUR = (END - BEGIN) / SECOND

TASK_TIMES = (
    (0.0, 11.4),
    (0.01, 42.5),
    (0.05, 63.5),
    (0.1, 81.2),
    (0.25, 150.9),
    (0.5, 314.5),
    (0.75, 887.7),
    (0.9, 2343.0),
    (0.95, 3660.0),
    (0.99, 15369.0),
    (1.0, 326131.0),
)
"""Probabilities and seconds: quantiles of the 312,558 task times of 10,000 jobs of the trace, as
the program `meghanat/megha-constraint-aware` has reduced them (GOOG_subtrace.tr)."""


class Demands(NamedTuple):
    """Demands of jobs of one size: quantiles over jobs, in parts of the largest machine."""

    smallest: int  # tasks
    spread: float  # the part of the jobs whose tasks must run on different machines
    correlation: float  # of the ranks of CPU and memory
    cpu: tuple[float, ...]
    memory: tuple[float, ...]


@dataclass(frozen=True)
class Counts:
    """Content of `first_hour.json`."""

    sizes: Ints  # (J,) not decreasing
    at_start: float
    chances: tuple[float, ...]
    demands: tuple[Demands, ...]


class Drawn(NamedTuple):
    """Jobs as drawn, in no order."""

    tasks: Ints  # (J,)
    demand: Floats  # (J, 2) CPU and memory, in parts of the largest machine
    spread: Bools  # (J,)


@cache
def counts() -> Counts:
    """The numbers that `scripts/first_hour.py` counted."""
    file = resources.files("fairlead.simulation.workloads") / "first_hour.json"
    found = json.loads(file.read_text(encoding="utf-8"))
    sizes, jobs = np.array(found["sizes"]).T
    demands = tuple(
        Demands(d["from"], d["spread"], d["correlation"], tuple(d["cpu"]), tuple(d["memory"]))
        for d in found["demands"]
    )
    return Counts(np.repeat(sizes, jobs), found["at_start"], tuple(found["chances"]), demands)


def draw_jobs(jobs: int, trace: str, seed: int) -> Drawn:
    """Draws that many jobs: from the file where one is named, else from the published counts.

    Sizes are the middles of even steps of their distribution, so that 4,616 jobs have just the
    sizes of the trace, and the largest job is among them from 2,308 jobs on.
    """
    if trace:
        return _from_file(read_first_hour(trace), jobs, seed)
    found = counts()
    tasks = found.sizes[_even_steps(jobs, len(found.sizes), seed)]
    demand, spread = np.empty((jobs, 2)), np.empty(jobs, np.bool_)
    draw = numbers(seed, Stream.DEMANDS)
    smallest = np.array([d.smallest for d in found.demands])
    kind = np.searchsorted(smallest, tasks, side="right") - 1
    rank, other = draw.random(jobs), draw.random(jobs)
    together, spreads = draw.random(jobs), draw.random(jobs)
    for number, demands in enumerate(found.demands):
        mine = kind == number
        # The same rank for both with this chance, else two independent ones: that mixture has
        # the rank correlation that was counted.
        memory_rank = np.where(together < demands.correlation, rank, other)
        demand[mine, 0] = np.interp(rank[mine], found.chances, demands.cpu)
        demand[mine, 1] = np.interp(memory_rank[mine], found.chances, demands.memory)
        spread[mine] = spreads[mine] < demands.spread
    return Drawn(tasks, demand, spread)


def _from_file(hour: FirstHour, jobs: int, seed: int) -> Drawn:
    """Jobs of the file: each has the size of one, and the demands of one of that job's tasks. A
    task that asks for nothing in the trace has the demands of any other task."""
    which = _even_steps(jobs, len(hour.sizes), seed)
    draw = numbers(seed, Stream.DEMANDS)
    tasks = hour.sizes[which]
    row = hour.first[which] + draw.integers(0, tasks)
    asks = ~(np.isnan(hour.cpu) | np.isnan(hour.memory)) & (hour.cpu + hour.memory > 0)
    row = np.where(asks[row], row, draw.choice(np.flatnonzero(asks), jobs))
    return Drawn(tasks, np.stack([hour.cpu[row], hour.memory[row]], 1), hour.spread[which])


def _even_steps(jobs: int, among: int, seed: int) -> Ints:
    """Places from 0 up to `among`, in the middles of even steps, in a random order."""
    places = (2 * np.arange(jobs) + 1) * among // (2 * jobs)
    return numbers(seed, Stream.SIZES).permutation(places)


def to_total(tasks: Ints, total: int) -> Ints:
    """The sizes, those of more than 10 tasks scaled so that all add up to `total`.

    Small jobs stay as they are: they are what most jobs are. Raises ValueError where the total
    leaves fewer than 11 tasks for a job that had more than 10.
    """
    large = tasks > 10
    wanted = total - int(tasks[~large].sum())
    if wanted < 11 * int(large.sum()) or not large.any():
        raise ValueError(f"{total} tasks are too few for {len(tasks)} jobs")
    above = (tasks[large] - 11).astype(np.float64)
    room = wanted - 11 * len(above)
    # Rounding the running sums gives whole numbers that add up to the room.
    sums = np.rint(np.cumsum(above) * (room / above.sum()) if above.any() else above)
    scaled = tasks.copy()
    scaled[large] = 11 + np.diff(sums, prepend=0).astype(np.int64)
    scaled[np.flatnonzero(large)[-1]] += total - int(scaled.sum())
    return scaled


def arrivals(jobs: int, at_start: float, span: float, seed: int) -> Ints:
    """Times of submission in order: this part of the jobs at 0, the others evenly at random over
    `span` seconds."""
    draw = numbers(seed, Stream.ARRIVALS)
    late = draw.random(jobs) >= at_start
    return np.sort(np.where(late, draw.random(jobs) * span * SECOND, 0).astype(np.int64))
