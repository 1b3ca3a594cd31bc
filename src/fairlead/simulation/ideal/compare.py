"""A run beside an ideal one of the same workload: allocations over time and jobs' slowdowns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from fairlead.simulation.measure.distance import PERCENT, root_mean_square
from fairlead.simulation.measure.moment import Moment
from fairlead.simulation.measure.sinks import NEVER, JobRecords, Sink
from fairlead.simulation.workload import Floats, Ints

SECOND = 1_000_000  # microseconds


class Allocations(Sink):
    """Keeps who holds what at each sample, up to `until` (the end of the hour in which jobs come,
    say): shares (tasks ÷ scale) by the jobs' numbers."""

    def __init__(self, every: int, until: int | None = None) -> None:
        self.every: int | None = every
        self._until = until
        self.at: dict[int, tuple[Ints, Floats]] = {}

    def sample(self, moment: Moment) -> None:
        share = np.divide(
            moment.held, moment.scale, out=np.zeros(len(moment.job)), where=moment.scale > 0
        )
        if self._until is None or moment.time <= self._until:
            self.at[moment.time] = (moment.job, share)
        else:
            self.every = None


@dataclass(frozen=True)
class Apart:
    """Distance of two runs of one workload, in percent of the cluster, at each time at
    which a job was present in one of them; absent jobs hold nothing.

    `rmse` compares each job with itself, `rmse_sorted` the sorted vectors: Choosy's measure.
    """

    time: Ints
    jobs: Ints  # present in either
    rmse: Floats
    rmse_sorted: Floats

    @property
    def mean(self) -> float:
        """The mean over time of `rmse`."""
        return float(self.rmse.mean())

    @property
    def mean_sorted(self) -> float:
        """The mean over time of `rmse_sorted`: what Choosy reports (section 7.1)."""
        return float(self.rmse_sorted.mean())


def apart(ours: Allocations, ideal: Allocations, until: int | None = None) -> Apart:
    """The distances at all times that either has sampled, up to `until` (the end of the hour in
    which jobs come, say)."""
    none = (np.zeros(0, np.int64), np.zeros(0))
    times = [t for t in sorted({*ours.at, *ideal.at}) if until is None or t <= until]
    rows = []
    for t in times:
        (mine, my_share), (its, its_share) = ours.at.get(t, none), ideal.at.get(t, none)
        jobs = np.union1d(mine, its)
        if not len(jobs):
            continue
        ours_at, ideal_at = np.zeros(len(jobs)), np.zeros(len(jobs))
        ours_at[np.searchsorted(jobs, mine)] = my_share
        ideal_at[np.searchsorted(jobs, its)] = its_share
        rows.append(
            (
                t,
                len(jobs),
                PERCENT * root_mean_square(ours_at - ideal_at),
                PERCENT * root_mean_square(np.sort(ours_at) - np.sort(ideal_at)),
            )
        )
    table = np.array(rows, np.float64).reshape(-1, 4)
    return Apart(
        time=table[:, 0].astype(np.int64),
        jobs=table[:, 1].astype(np.int64),
        rmse=table[:, 2],
        rmse_sorted=table[:, 3],
    )


class Bin(Enum):
    """Jobs by how long they take under the ideal scheduler (Choosy, Table 1), in seconds."""

    UNDER_30 = (0, 30)
    UNDER_120 = (30, 120)
    UNDER_600 = (120, 600)
    LONGER = (600, None)

    @property
    def words(self) -> str:
        """As the table has it."""
        low, high = self.value
        if high is None:
            return f"> {low} s"
        return f"< {high} s" if low == 0 else f"{low}–{high} s"


@dataclass(frozen=True)
class Slowdown:
    """The jobs of a bin: the mean and the standard deviation of our time ÷ the ideal's."""

    bin: Bin
    jobs: int
    mean: float
    deviation: float


def slowdowns(ours: JobRecords, ideal: JobRecords) -> tuple[Slowdown, ...]:
    """Choosy's Table 1: how much longer jobs take than under the ideal scheduler, from submission
    to completion, by how long they take there. Jobs that are not over in both are left out; a bin
    without jobs has nan."""
    mine, its = _times(ours), _times(ideal)
    both = [job for job in its if job in mine and its[job] > 0]
    taken = np.array([its[job] for job in both], np.float64) / SECOND
    ratio = np.array([mine[job] / its[job] for job in both], np.float64)
    found = []
    for each in Bin:
        low, high = each.value
        inside = ratio[(taken >= low) & (taken < (np.inf if high is None else high))]
        some = len(inside) > 0
        found.append(
            Slowdown(
                bin=each,
                jobs=len(inside),
                mean=float(inside.mean()) if some else float("nan"),
                deviation=float(inside.std()) if some else float("nan"),
            )
        )
    return tuple(found)


def _times(records: JobRecords) -> dict[int, int]:
    """From submission to completion, of the jobs that are over."""
    rows = zip(records.number, records.submitted, records.completed, strict=True)
    return {int(job): int(end - start) for job, start, end in rows if end != NEVER}
