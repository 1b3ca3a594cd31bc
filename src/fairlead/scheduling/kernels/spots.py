"""Where a pair of job and machine is counted, so that it is mostly known that a job has no task on
a machine without looking for one."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.scheduling.kernels.compiling import small

ODD = np.uint64(0x9E3779B97F4A7C15)
OTHER = np.uint64(0xC2B2AE3D27D4EB4F)
HALF = np.uint64(32)


def spot(j: Any, m: Any, spots: Any) -> Any:
    """Which of so many places (less than 2^32) the pair has. Numbers, or arrays of them."""
    mixed = np.uint64(j) * ODD + np.uint64(m) * OTHER
    return np.int64(((mixed >> HALF) * np.uint64(spots)) >> HALF)


spot_of = small(spot)
