"""Sizes of Facebook's MapReduce jobs, from counts in bins."""

from __future__ import annotations

import numpy as np

from fairlead.model.errors import InputError
from fairlead.simulation.workload import Ints
from fairlead.simulation.workloads.draws import Stream, numbers

BINS = (1, 2, 3, 21, 61, 151, 301, 501, 1501)
"""The fewest map tasks of a job in each bin."""

# Per cent of the jobs in each bin, counted from the FB-*_samples_24_times_1hr_*.tsv files of
# SWIMProjectUCB/SWIM (New BSD; Chen, Ganapathi, Griffith, Katz: The Case for Evaluating MapReduce
# Performance Using Workload Suites, MASCOTS 2011), one map task per 128 MiB of input.
SAMPLES = {
    "2009_0": (87.7, 0.7, 4.6, 2.0, 1.7, 1.1, 0.8, 1.1, 0.3),
    "2009_1": (82.5, 1.5, 6.8, 2.4, 2.5, 1.1, 1.7, 0.8, 0.5),
    "2010_0": (64.5, 2.9, 9.2, 10.1, 2.2, 2.2, 1.9, 3.6, 3.4),
}

FACEBOOK = (
    "Facebook's jobs are counted from SWIMProjectUCB/SWIM (New BSD; Chen, Ganapathi, Griffith, "
    "Katz, MASCOTS 2011), with one task per 128 MiB of input."
)

LARGEST = 4000
"""The most tasks of a job in the last bin, unless something else is asked for: one job in a
thousand of the 2009 samples has 3,132 and 3,847 map tasks or more."""


def job_sizes(jobs: int, sample: str, largest: int, seed: int) -> Ints:
    """Tasks per job: a bin as often as the sample has it, and within it any size, with even
    chances for each power (the logarithm is uniform). Raises InputError."""
    if sample not in SAMPLES:
        raise InputError(
            f"there is no Facebook sample `{sample}`", f"there are {', '.join(SAMPLES)}"
        )
    if largest < BINS[-1]:
        raise InputError(f"largest={largest}", f"write at least {BINS[-1]}")
    draw = numbers(seed, Stream.SIZES)
    parts = np.array(SAMPLES[sample])
    ends = np.array([*BINS, largest + 1])
    which = draw.choice(len(BINS), jobs, p=parts / parts.sum())
    low, high = np.log(ends[which]), np.log(ends[which + 1])
    sizes = np.floor(np.exp(low + (high - low) * draw.random(jobs))).astype(np.int64)
    # Rounding must not carry a size over the end of its bin.
    return np.asarray(np.clip(sizes, ends[which], ends[which + 1] - 1))
