"""All jobs of a generated workload in arrays, and the batches that they are handed out in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairlead.simulation.workload import Bools, Floats, Ints, JobBatch, Words, plain_batch
from fairlead.simulation.workloads.draws import Shape, Stream, Times, microseconds, numbers

BATCH = 4096
"""Jobs of a batch: of the Google trace's first hour that is 160,000 tasks, about a megabyte."""


@dataclass(frozen=True)
class Jobs:
    """The jobs of a workload, all but the times of their tasks, which come batch by batch.

    A job costs about 50 bytes here however many tasks it has.
    """

    submit: Ints  # (J,) microseconds, not decreasing
    demand: Ints  # (J, R) in units
    tasks: Ints  # (J,)
    mean: Floats  # (J,) seconds, the mean time of a task
    needs: Words  # (J, W)
    spread: Bools | None = None  # None: no job has it
    gang: Ints | None = None  # None: no gangs
    tenant: Ints | None = None  # None: each job is its own
    names: tuple[str, ...] | None = None
    prefers: Words | None = None  # (J, W)
    patience: Ints | None = None  # (J,) microseconds
    expected: Ints | None = None  # (J,) microseconds; 0: not told

    def __len__(self) -> int:
        return len(self.submit)


def needs_of(bits: Words, terms: int) -> Words:
    """The needs of jobs (J, W) from the bits (J,) of up to 64 terms; without terms W is 0."""
    return bits[:, None][:, : min(terms, 1)]


def no_needs(jobs: int) -> Words:
    """The needs of jobs that can run on every machine."""
    return np.zeros((jobs, 0), np.uint64)


def stream(jobs: Jobs, times: Times, seed: int) -> Callable[[], Iterator[JobBatch]]:
    """A workload's `batches`: each call starts anew and draws the same times."""

    def batches() -> Iterator[JobBatch]:
        for number, start in enumerate(range(0, len(jobs), BATCH)):
            draw = numbers(seed, Stream.TIMES, number)
            yield _batch(jobs, slice(start, start + BATCH), times, draw)

    return batches


def _batch(jobs: Jobs, part: slice, times: Times, draw: np.random.Generator) -> JobBatch:
    tasks, mean = jobs.tasks[part], jobs.mean[part]
    given = np.ones_like(tasks) if times.shape is Shape.CONSTANT else tasks
    factors = times.factors(int(given.sum()), draw)
    of_jobs: dict[str, Any] = {
        name: values[part]
        for name, values in vars(jobs).items()
        if values is not None and name != "mean"
    }
    return plain_batch(
        **of_jobs,
        durations=microseconds(factors * np.repeat(mean, given)),
        first=np.concatenate([[0], np.cumsum(given)]),
    )


def load(jobs: Jobs, capacity: Ints, span: float) -> Floats:
    """Per resource: the sum over all tasks of demand × mean time, ÷ (capacity × span).

    `capacity` is the sum over all machines; `span` is in seconds. 1 means that the tasks which
    come in the span keep the resource just busy.
    """
    work = (jobs.tasks * jobs.mean) @ jobs.demand
    total = capacity.astype(np.float64) * span
    return np.divide(work, total, out=np.zeros_like(total), where=total > 0)
