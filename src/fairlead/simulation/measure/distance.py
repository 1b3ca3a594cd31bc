"""The distance of a run from the exact allocation of the present demand, moment by moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from fairlead.sharing.present import Snapshot, Tenants, exact_now
from fairlead.sharing.problem.problem import Floats, Ints

PERCENT = 100.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One moment. All in percent of a unit of share, which is the cluster under every scale that
    counts what a job could have of all of it: tasks held ÷ scale, added up over a tenant's jobs,
    not divided by its weight.

    `rmse` compares every tenant with itself, `rmse_sorted` the sorted vectors, as Choosy does
    (section 7.1): it cannot be larger, and hides who lost. `shortfall` is the most that a tenant
    is below its exact share, 0 where nobody is.
    """

    time: int
    tenants: int  # present
    rmse: float
    rmse_sorted: float
    shortfall: float
    whose: int | None  # its index in the workload; -1 - job for a job of its own


@dataclass(frozen=True, slots=True)
class Summary:
    """All samples together: `rmse` and `rmse_sorted` are means over the samples, as Choosy's, nan
    where there was none; `largest` is the sample with the largest shortfall."""

    samples: int
    rmse: float
    rmse_sorted: float
    largest: Sample | None


def summary_of(samples: Sequence[Sample]) -> Summary:
    count = len(samples)
    return Summary(
        samples=count,
        rmse=sum(sample.rmse for sample in samples) / count if count else nan,
        rmse_sorted=sum(sample.rmse_sorted for sample in samples) / count if count else nan,
        largest=max(samples, key=lambda sample: sample.shortfall, default=None),
    )


def sample_now(
    now: Snapshot, tenants: Tenants, tell: Callable[[Floats, Floats, Ints], None] | None = None
) -> Sample | None:
    """Measures a moment, for which the exact allocation is solved; None where nobody is there.
    `tell` is told what `shares_now` finds."""
    if not len(now.job):
        return None
    shares = shares_now(now, tenants)
    if tell is not None:
        tell(*shares)
    return measure_sample(now.time, *shares)


def shares_now(now: Snapshot, tenants: Tenants) -> tuple[Floats, Floats, Ints]:
    """The shares that present tenants hold and would hold exactly, in units of share, and who
    that is: its index, or -1 - job for a job of its own."""
    exact = exact_now(now, tenants).total
    key = np.where(now.tenant >= 0, now.tenant, -1 - now.job)
    owner, of_job = np.unique(key, return_inverse=True)
    some = now.scale > 0
    of = np.divide(1.0, now.scale, out=np.zeros(len(key)), where=some)
    held: Floats = np.bincount(of_job, now.held * of, len(owner)).astype(np.float64)
    due: Floats = np.bincount(of_job, exact * of, len(owner)).astype(np.float64)
    return held, due, owner.astype(np.int64)


def measure_sample(time: int, held: Floats, exact: Floats, owner: Ints) -> Sample:
    """The distances of one moment; the first of those with the largest shortfall is named."""
    below = exact - held
    worst = int(np.argmax(below))
    short = float(below[worst])
    return Sample(
        time=time,
        tenants=len(held),
        rmse=PERCENT * root_mean_square(below),
        rmse_sorted=PERCENT * root_mean_square(np.sort(exact) - np.sort(held)),
        shortfall=PERCENT * max(short, 0.0),
        whose=int(owner[worst]) if short > 0 else None,
    )


def root_mean_square(values: Floats) -> float:
    return float(np.sqrt(np.mean(values * values)))
