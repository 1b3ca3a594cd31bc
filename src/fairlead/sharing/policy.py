"""What a policy is: a scale, and what the cluster looks like to it. And where they are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from fairlead.sharing.problem import Floats, Problem


class View(Enum):
    """What the cluster looks like to a policy."""

    MACHINES = "machines"  # machines and constraints as they are
    POOLED = "pooled"  # one machine that holds everything, open to every job
    EACH_MACHINE = "each machine"  # every machine filled by itself


@dataclass(frozen=True)
class Policy:
    """A policy ready to use. `spec` is how it is written, as in `kdf(k=3, gpu=2)`.

    `scale(problem)` gives, for each job, the tasks that make one unit of share (0 for a job that
    can never run). Under View.EACH_MACHINE it is called with problems of a single machine class
    of count 1. It raises InputError, naming the job, where the scale does not exist.
    """

    spec: str
    view: View
    scale: Callable[[Problem], Floats]
