"""The numbers that the page, the plots and the table show, from a study's tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf, isinf, isnan, nan

import numpy as np

from fairlead.model.names import natural
from fairlead.simulation.report.reading import Folder, Run, floats, texts
from fairlead.simulation.report.words import duration
from fairlead.simulation.workload import Bools, Floats, Ints

SECONDS = 1e-6
POINTS = 400  # of a curve: more cannot be seen
WITHOUT_SCALE = ("fifo",)
LINES = 8  # tenants that a plot of shares can tell apart
MOST = 0.98  # of the jobs: when they are over, little goes on that is worth a picture
WORTH = 0.7  # of the time: what is not shortened by more stays whole


class Size(Enum):
    """Jobs by their number of tasks, as in section VI.B of the TSF paper."""

    SMALL = (1, 10)
    MEDIUM = (11, 100)
    BIG = (101, 500)
    HUGE = (501, None)

    @property
    def words(self) -> str:
        low, high = self.value
        return f"> {low - 1}" if high is None else f"{low}–{high}"


@dataclass(frozen=True)
class Jobs:
    """The jobs of all runs of a series, in the order of run and number. Times in seconds."""

    key: tuple[Ints, ...]  # seed and number
    tasks: Floats
    delay: Floats  # nan: no task was ever placed
    completed: Floats  # nan: not over
    took: Floats  # from submission to completion; nan: not over
    slowdown: Floats


@dataclass(frozen=True)
class Row:
    """A series in the table. None where it was not measured, nan where there is nothing to say."""

    name: str
    runs: int
    jobs: int
    over: int  # jobs that were over at the end
    delay: float
    delay_90: float
    took: float
    took_90: float
    slowdown: float
    used: tuple[tuple[str, float], ...]  # the part of each resource, mean over the samples
    rmse: float | None
    shortfall: float | None


FEW = 20
"""Samples that are no curve yet."""


@dataclass(frozen=True)
class Curve:
    """A line of a plot."""

    name: str
    x: Floats
    y: Floats


@dataclass(frozen=True)
class SpeedUps:
    """For each series and size: the mean time to completion under it ÷ that under the first
    series, over the jobs that are over in both; nan where there are none."""

    first: str
    sizes: tuple[Size, ...]
    jobs: tuple[int, ...]  # of each size
    others: tuple[tuple[str, tuple[float, ...]], ...]


def jobs_of(runs: tuple[Run, ...]) -> Jobs | None:
    """All jobs of the runs; None if none of them kept its jobs."""
    names = ("number", "tasks", "delay", "submitted", "completed", "slowdown")
    found = [(run, table) for run in runs if (table := run.columns("jobs", names))]
    if not found:
        return None
    parts = []
    for run, table in found:
        number = floats(table["number"]).astype(np.int64)
        order = np.argsort(number, kind="stable")
        completed = floats(table["completed"]) * SECONDS
        took = completed - floats(table["submitted"]) * SECONDS
        parts.append(
            (
                np.full(len(number), run.seed, np.int64),
                number[order],
                floats(table["tasks"])[order],
                floats(table["delay"])[order] * SECONDS,
                completed[order],
                took[order],
                floats(table["slowdown"])[order],
            )
        )
    seed, number, *columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Jobs((seed, number), *columns)


def nearly_over(runs: tuple[Run, ...], jobs: Iterable[Jobs]) -> float:
    """When MOST of all jobs were over, in seconds: what is looked at over time ends there. inf
    where so many never are, and where not much goes on after that."""
    completed = np.concatenate([np.zeros(0), *(each.completed for each in jobs)])
    last = max((run.number("end") or 0.0 for run in runs), default=0.0) * SECONDS
    needed = int(np.ceil(MOST * len(completed)))
    over = np.sort(completed[~np.isnan(completed)])
    if not needed or len(over) < needed or over[needed - 1] > WORTH * last:
        return inf
    return float(over[needed - 1])


def row_of(name: str, runs: tuple[Run, ...], jobs: Jobs | None, until: float) -> Row:
    """The series in one line; what is used is looked at until this moment."""
    rmse = _measured(runs, "rmse_percent")
    return Row(
        name=name,
        runs=len(runs),
        jobs=sum(int(run.number("jobs") or 0) for run in runs),
        over=0 if jobs is None else int((~np.isnan(jobs.took)).sum()),
        delay=nan if jobs is None else mean(jobs.delay),
        delay_90=nan if jobs is None else ninetieth(jobs.delay),
        took=nan if jobs is None else mean(jobs.took),
        took_90=nan if jobs is None else ninetieth(jobs.took),
        slowdown=nan if jobs is None else mean(jobs.slowdown),
        used=used_of(runs, until),
        rmse=sum(rmse) / len(rmse) if rmse else None,
        shortfall=max(_measured(runs, "largest_shortfall"), default=None),
    )


def few_samples(runs: Sequence[Run], until: float) -> str:
    """A sentence where so few samples fall into the time until this moment that they are no curve,
    since a run that goes on far beyond it chose its interval by its length; else nothing."""
    every = max((run.number("sampled") or 0.0 for run in runs), default=0.0) * SECONDS
    if not every or isinf(until) or until / every >= FEW:
        return ""
    return (
        f" Samples are {duration(every)} apart, so that is from {int(until // every) + 1} of them:"
        " `fairlead simulate --sample TIME` takes more."
    )


def used_of(runs: tuple[Run, ...], until: float) -> tuple[tuple[str, float], ...]:
    """The part of each resource that is used, over all samples until this moment at which
    something waited or ran."""
    used: dict[str, float] = {}
    there: dict[str, float] = {}
    for run in runs:
        table = run.columns("utilisation", ("time", "resource", "capacity", "used"))
        if table is None:
            continue
        early = floats(table["time"]) * SECONDS <= until
        rows = zip(
            np.array(texts(table["resource"]), dtype=object)[early].tolist(),
            floats(table["capacity"])[early].tolist(),
            floats(table["used"])[early].tolist(),
            strict=True,
        )
        for resource, capacity, some in rows:
            used[resource] = used.get(resource, 0.0) + some
            there[resource] = there.get(resource, 0.0) + capacity
    return tuple((name, used[name] / there[name] if there[name] else nan) for name in used)


def cdf(name: str, values: Floats) -> Curve:
    """The part of the values that are at most x, in few points; of all values that are known."""
    known = np.sort(values[~np.isnan(values)])
    part = np.arange(1, len(known) + 1) / max(1, len(values))
    if len(known) > POINTS:
        chosen = np.unique(np.linspace(0, len(known) - 1, POINTS).astype(np.int64))
        known, part = known[chosen], part[chosen]
    return Curve(name, known, part)


def task_waits(name: str, runs: tuple[Run, ...]) -> Curve | None:
    """The part of the launches that waited at most x seconds; None where no tasks were kept."""
    tables = [run.columns("tasks", ("wait",)) for run in runs]
    waits = [floats(table["wait"]) * SECONDS for table in tables if table]
    return cdf(name, np.concatenate(waits)) if waits else None


def speed_ups(by_name: dict[str, Jobs]) -> SpeedUps | None:
    """Compares the times of jobs of each size under the others with those under the first."""
    names = list(by_name)
    if len(names) < 2:
        return None
    first = by_name[names[0]]
    sizes = tuple(size for size in Size if _inside(first.tasks, size).any())
    others = []
    for name in names[1:]:
        mine, its = _both(first, by_name[name])
        tasks = first.tasks[mine]
        a, b = first.took[mine], by_name[name].took[its]
        over = ~np.isnan(a) & ~np.isnan(b)
        parts = []
        for size in sizes:
            here = over & _inside(tasks, size)
            total = float(a[here].sum())
            parts.append(float(b[here].sum()) / total if total > 0 else nan)
        others.append((name, tuple(parts)))
    return SpeedUps(
        first=names[0],
        sizes=sizes,
        jobs=tuple(int(_inside(first.tasks, size).sum()) for size in sizes),
        others=tuple(others),
    )


def _both(first: Jobs, other: Jobs) -> tuple[Ints, ...]:
    """The places in each of the jobs that both have."""
    place = {key: at for at, key in enumerate(zip(*first.key, strict=True))}
    pairs = [
        (place[key], at) for at, key in enumerate(zip(*other.key, strict=True)) if key in place
    ]
    table = np.array(pairs, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _inside(tasks: Floats, size: Size) -> Bools:
    low, high = size.value
    inside: Bools = tasks >= low
    return inside if high is None else inside & (tasks <= high)


@dataclass(frozen=True)
class Shares:
    """The shares over time of the tenants that had the largest ones, and how many others: in
    percent, or in tasks under a policy without a scale."""

    curves: tuple[Curve, ...]
    others: int
    in_tasks: bool


def shares_of(run: Run, until: float, chosen: tuple[str, ...] | None = None) -> Shares | None:
    """The shares of one run until this moment, of the tenants `chosen`, or of those with the
    largest."""
    table = run.columns("shares", ("time", "tenant", "share"))
    if table is None:
        return None
    in_tasks = run.policy in WITHOUT_SCALE
    time = floats(table["time"]) * SECONDS
    early = time <= until
    time = time[early]
    share = floats(table["share"])[early] * (1.0 if in_tasks else 100.0)
    tenant = np.array(texts(table["tenant"]), dtype=object)[early]
    names, which = np.unique(tenant, return_inverse=True)
    if not len(names):
        return None
    moments, at = np.unique(time, return_inverse=True)
    if chosen is None:
        area = np.bincount(which, share, len(names))
        largest = sorted(range(len(names)), key=lambda n: (-area[n], names[n]))[:LINES]
        chosen = tuple(sorted((str(names[n]) for n in largest), key=natural))
    place = {str(name): n for n, name in enumerate(names)}
    curves = []
    for name in chosen:
        y = np.zeros(len(moments))
        if name in place:
            rows = which == place[name]
            y[at[rows]] = share[rows]
        curves.append(Curve(name, *thinned(moments, y)))
    return Shares(tuple(curves), max(0, len(names) - len(chosen)), in_tasks)


def thinned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The same samples in few points: means of as many neighbours as needed, each from the moment
    of the first of them, and the last sample."""
    if len(x) <= POINTS:
        return x, y
    edges = np.linspace(0, len(x), POINTS + 1).astype(np.int64)
    means = np.add.reduceat(y, edges[:-1]) / np.diff(edges)
    return np.append(x[edges[:-1]], x[-1]), np.append(means, y[-1])


def utilisation_of(run: Run, resource: str, until: float) -> Curve | None:
    """The part of a resource that is used over time until this moment, in percent."""
    table = run.columns("utilisation", ("time", "resource", "capacity", "used"))
    if table is None:
        return None
    rows = np.array([name == resource for name in texts(table["resource"])], np.bool_)
    rows &= floats(table["time"]) * SECONDS <= until
    capacity = floats(table["capacity"])[rows]
    part = np.divide(
        100.0 * floats(table["used"])[rows],
        capacity,
        out=np.zeros(len(capacity)),
        where=capacity > 0,
    )
    return Curve("", *thinned(floats(table["time"])[rows] * SECONDS, part))


def distance_of(run: Run, until: float) -> Curve | None:
    """The distance from the exact allocation over time until this moment, in percent."""
    table = run.columns("distance", ("time", "rmse_percent"))
    if table is None:
        return None
    time = floats(table["time"]) * SECONDS
    early = time <= until
    if not early.any():
        return None
    return Curve("", *thinned(time[early], floats(table["rmse_percent"])[early]))


def resources_of(folder: Folder) -> tuple[str, ...]:
    """The resources of which the use over time was kept."""
    for run in folder.runs:
        table = run.columns("utilisation", ("resource",))
        if table is not None and len(table["resource"]):
            return tuple(dict.fromkeys(texts(table["resource"])))
    return ()


def mean(values: Floats) -> float:
    """The mean of those that are known; nan if there are none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else nan


def ninetieth(values: Floats) -> float:
    """Nine in ten of those that are known are at most this."""
    known = np.sort(values[~np.isnan(values)])
    return float(known[int(np.ceil(0.9 * len(known))) - 1]) if len(known) else nan


def _measured(runs: tuple[Run, ...], key: str) -> list[float]:
    """This number of the runs that have measured it."""
    found = (run.number(key) for run in runs)
    return [value for value in found if value is not None and not isnan(value)]
