"""The trail: a running number into which all that happens is mixed."""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner, kernel
from fairlead.scheduling.kernels.memory.state import Handle

FACTOR = np.uint64(0xD6E8FEB86659FD93)
"""Of Pelle Evensen's and Jonathan Kagstrom's mixing functions (`rrmxmx` and its kin)."""
HALF = np.uint64(32)


@kernel
def mix(s: Handle, value: int) -> None:
    """Mixes one more integer into the trail."""
    w = s.header[0]
    h = (w.trail ^ np.uint64(value)) * FACTOR
    h ^= h >> HALF
    h *= FACTOR
    w.trail = h ^ (h >> HALF)


@inner
def record(s: Handle, what: int, which: int) -> None:
    """Mixes an event into the trail: what happened, when, and to which."""
    mix(s, what)
    mix(s, s.header[0].now)
    mix(s, which)


@inner
def write_decision(s: Handle, kind: int, t: int) -> None:
    """Writes a decision about task t into `out`, where there is room, and into the trail."""
    w, task = s.header[0], s.task[t]
    row = s.out[w.out]
    row.kind = kind
    row.job = task.job
    row.machine = task.machine
    row.task = t
    row.attempt = task.attempt
    row.number = task.number
    row.pieces = task.pieces
    w.out += 1
    mix(s, kind)
    mix(s, s.job[task.job].seq)
    mix(s, task.number)
