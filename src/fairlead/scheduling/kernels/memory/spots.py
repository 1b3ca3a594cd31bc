"""Spots count pairs of job and machine, so that it is known whether a job has a task on a machine,
mostly without looking for one.

A spot knows how many pairs are there, and all of them in one number (their exclusive or): of one it
is certain which it is, of several not. See docs/decisions/0177-less-memory-is-read.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.compiling import small

ODD = np.uint64(0x9E3779B97F4A7C15)
OTHER = np.uint64(0xC2B2AE3D27D4EB4F)
HALF = np.uint64(32)


def spot(j: Any, m: Any, spots: Any) -> Any:
    """Which of so many spots (less than 2^32) a pair has. Numbers, or arrays of them."""
    mixed = np.uint64(j) * ODD + np.uint64(m) * OTHER
    return np.int64(((mixed >> HALF) * np.uint64(spots)) >> HALF)


def pair(j: Any, m: Any) -> Any:
    """A pair as one number, which no other pair has. Numbers, or arrays of them."""
    return np.int64(j) * np.int64(1 << 32) + np.int64(m)


spot_of = small(spot)
pair_of = small(pair)
