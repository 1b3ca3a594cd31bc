"""The fifty nodes and the jobs of TSF's experiments (section VI.A)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairlead.simulation.workload import Workload
from fairlead.simulation.workloads.table_ii import NODES, RESOURCES
from fairlead.studies.runs import Load, workload


class Kind(NamedTuple):
    """Demand of a job of Table II, in halves of a CPU and units of 512 MB, seconds of a task in
    the mean, tasks, and when it comes."""

    demand: tuple[int, int]
    mean: float
    tasks: int
    start: float


KINDS = (
    Kind((2, 1), 23.2, 1000, 0),
    Kind((1, 1), 18.3, 150, 10),
    Kind((1, 1), 21.3, 100, 150),
    Kind((2, 1), 55.6, 100, 150),
)


def nodes(*ranges: tuple[int, int]) -> tuple[str, ...]:
    """The nodes whose numbers are in these ranges, ends included."""
    return tuple(node for low, high in ranges for node in NODES[low - 1 : high])


def on_fifty(name: str, jobs: Sequence[Load], seed: int) -> Workload:
    """The jobs on the fifty nodes: 1 CPU and 1 GB on the first half, 2 CPUs and 1 GB on the
    other."""
    capacity = np.array([[2, 2]] * 25 + [[4, 2]] * 25)
    return workload(name, RESOURCES, NODES, capacity, jobs, seed)
