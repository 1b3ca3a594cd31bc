"""Feeds the loop: a workload's batches of jobs, cut into chunks, with the durations of their
tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairlead.scheduling.state.terms import Term
from fairlead.simulation.kernels.tables import CHUNK
from fairlead.simulation.workload import Ints, JobBatch, Words

JOBS = 8192
"""Jobs of a chunk. Whenever machines change, the scales of a whole chunk are computed again."""


@dataclass
class Chunk:
    """Jobs that come next. What depends on the core (slots, scales) is filled in by the run."""

    rows: np.ndarray[tuple[int], np.dtype[np.void]]
    demand: Ints  # (J, R)
    needs: Words  # (J, W)
    prefers: Words  # (J, W)
    durations: Ints
    names: tuple[str, ...] | None
    terms: tuple[Term, ...]  # that come with this chunk

    @classmethod
    def empty(cls, resources: int) -> Chunk:
        """No jobs at all."""
        words = np.zeros((0, 1), np.uint64)
        none = np.zeros(0, np.int64)
        demand = np.zeros((0, resources), np.int64)
        return cls(np.zeros(0, CHUNK), demand, words, words, none, None, ())


def chunks(batches: Iterator[JobBatch], most: int = JOBS) -> Iterator[Chunk]:
    """The batches, in chunks of so many jobs at most."""
    number = 0
    for batch in batches:
        for start in range(0, len(batch), most):
            stop = min(start + most, len(batch))
            yield _chunk(batch, start, stop, number + start)
        number += len(batch)


def _chunk(batch: JobBatch, start: int, stop: int, number: int) -> Chunk:
    part = slice(start, stop)
    first = batch.first[start : stop + 1]
    rows = np.zeros(stop - start, CHUNK)
    rows["submit"] = batch.submit[part]
    rows["number"] = np.arange(number, number + stop - start)
    rows["owner"] = batch.tenant[part]
    rows["first"] = first[:-1] - first[0]
    rows["durations"] = np.diff(first)
    rows["tasks"] = batch.tasks[part]
    rows["gang"] = batch.gang[part]
    rows["spread"] = batch.spread[part]
    if batch.patience is not None:
        rows["patience"] = batch.patience[part]
    if batch.expected is not None:
        rows["expected"] = batch.expected[part]
    needs = np.ascontiguousarray(batch.needs[part], np.uint64)
    prefers = np.zeros_like(needs)
    if batch.prefers is not None:
        prefers = np.array(batch.prefers[part], np.uint64)
    # A preference that is not waited for is none, nor is a patience for nothing.
    waits = prefers.any(axis=1) & (rows["patience"] > 0)
    prefers[~waits] = 0
    rows["patience"][~waits] = 0
    return Chunk(
        rows=rows,
        demand=np.ascontiguousarray(batch.demand[part], np.int64),
        needs=needs,
        prefers=np.ascontiguousarray(prefers, np.uint64),
        durations=np.ascontiguousarray(batch.durations[first[0] : first[-1]], np.int64),
        names=None if batch.names is None else batch.names[start:stop],
        terms=batch.terms if start == 0 else (),
    )


class Durations:
    """The durations of the present jobs' tasks, one after the other; those of jobs that are over
    are thrown away when room is needed."""

    def __init__(self) -> None:
        self.array: Ints = np.zeros(1 << 16, np.int64)
        self.used = 0

    def add(
        self, more: Ints, job_side: np.ndarray[tuple[int], np.dtype[np.void]], dead: int
    ) -> tuple[int, bool]:
        """Adds durations; returns where they begin, and whether those of jobs that are over were
        thrown away, so that none is dead now."""
        thrown = False
        if self.used + len(more) > len(self.array):
            if dead > self.used // 2:
                self._compact(job_side)
                thrown = True
            if self.used + len(more) > len(self.array):
                larger = np.zeros(max(2 * len(self.array), self.used + len(more)), np.int64)
                larger[: self.used] = self.array[: self.used]
                self.array = larger
        at = self.used
        self.array[at : at + len(more)] = more
        self.used = at + len(more)
        return at, thrown

    def _compact(self, job_side: np.ndarray[tuple[int], np.dtype[np.void]]) -> None:
        live = np.flatnonzero(job_side["used"] == 1)
        lengths = job_side["durations"][live]
        starts = np.cumsum(lengths) - lengths
        total = int(lengths.sum())
        within = np.arange(total) - np.repeat(starts, lengths)
        kept = self.array[np.repeat(job_side["first"][live], lengths) + within]
        self.array[:total] = kept
        job_side["first"][live] = starts
        self.used = total
