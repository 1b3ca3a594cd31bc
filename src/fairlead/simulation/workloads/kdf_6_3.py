"""The three jobs of the k-DF paper's section 6.3 on fifty servers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fairlead.model.values import FrozenMap
from fairlead.simulation.workload import Resource, Workload, always_there
from fairlead.simulation.workloads.draws import SECOND, Shape, Times
from fairlead.simulation.workloads.jobs import Jobs, no_needs, stream

RESOURCES = (Resource("cpu", Fraction(1, 2)), Resource("memory", Fraction(2**30)))

SERVERS = ((27, 8, 64), (16, 8, 32), (4, 8, 96), (3, 16, 128))
"""Number of servers of each type, their CPUs and their GB."""


def generate(*, name: str = "kdf-6.3", seed: int = 0) -> Workload:
    """k-DF 6.3: three jobs on 50 servers of four types. Nothing is drawn: any seed is the same."""
    del seed  # every generator takes one
    capacity = [(2 * cpus, memory) for count, cpus, memory in SERVERS for _ in range(count)]
    names = tuple(f"server-{number:02}" for number in range(1, 51))
    jobs = Jobs(
        names=("job-1", "job-2", "job-3"),
        submit=np.array([0, 40, 50]) * SECOND,
        # In halves of a CPU and GB.
        demand=np.array([[5, 3], [2, 15], [2, 10]]),
        tasks=np.array([450, 150, 80]),
        mean=np.array([30.0, 20.0, 80.0]),
        needs=no_needs(3),
    )
    return Workload(
        name=name,
        resources=RESOURCES,
        machines=always_there(names, (FrozenMap(),) * 50, np.array(capacity)),
        batches=stream(jobs, Times(Shape.CONSTANT), 0),
        notes=(
            "Servers, demands, starts and times are those of the k-DF paper, section 6.3.",
            "Memory is in binary units: 64 GB are 64 × 2^30 bytes, which changes no share.",
        ),
        jobs=3,
        tasks=680,
    )
