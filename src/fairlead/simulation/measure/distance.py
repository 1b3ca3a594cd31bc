"""The distance of a run from the exact allocation of the present demand, moment by moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.sharing.present import Snapshot, Tenants, exact_now
from fairlead.sharing.problem.problem import Floats, Ints

PERCENT = 100.0


@dataclass(frozen=True, slots=True)
class Whose:
    """A tenant by its index in the workload; a job that is its own tenant by its number."""

    tenant: int  # -1: a job of its own
    job: int  # -1: a tenant


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
    whose: Whose | None


@dataclass(frozen=True, slots=True)
class Summary:
    """All samples together: `rmse` and `rmse_sorted` are means over the samples, as Choosy's; the
    others are the largest of all. Nan where there was no sample."""

    samples: int
    rmse: float
    rmse_sorted: float
    largest_rmse: float
    largest_rmse_sorted: float
    largest: Sample | None  # where the largest shortfall is


class Distance:
    """Takes the moments of a run and keeps what their distances add up to.

    Each `sample` solves for the exact allocation: choose how often. Samples without a tenant
    that has present tasks count for nothing.
    """

    def __init__(self, tenants: Tenants) -> None:
        self.tenants = tenants
        self.samples: list[Sample] = []
        self.shares: tuple[Floats, Floats, Ints] | None = None
        """Those of the last sample, as `shares_now` has them."""

    def sample(self, now: Snapshot, tenants: Tenants | None = None) -> Sample | None:
        """Measures this moment; `tenants` where weights have changed since. None: nobody there."""
        if tenants is not None:
            self.tenants = tenants
        if not len(now.job):
            return None
        self.shares = held, exact, owner = shares_now(now, self.tenants)
        found = measure_sample(now.time, held, exact, owner)
        self.samples.append(found)
        return found

    def summary(self) -> Summary:
        """Adds up the samples."""
        found = self.samples
        nan = float("nan")
        by_shortfall = max(found, key=lambda sample: sample.shortfall, default=None)
        return Summary(
            samples=len(found),
            rmse=sum(sample.rmse for sample in found) / len(found) if found else nan,
            rmse_sorted=sum(sample.rmse_sorted for sample in found) / len(found) if found else nan,
            largest_rmse=max((sample.rmse for sample in found), default=nan),
            largest_rmse_sorted=max((sample.rmse_sorted for sample in found), default=nan),
            largest=by_shortfall,
        )


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
        whose=_whose(int(owner[worst])) if short > 0 else None,
    )


def root_mean_square(values: Floats) -> float:
    """√ of the mean of the squares."""
    return float(np.sqrt(np.mean(values * values)))


def _whose(key: int) -> Whose:
    return Whose(key, -1) if key >= 0 else Whose(-1, -1 - key)
