"""The four jobs of TSF Table II on fifty nodes, as its Figure 5 runs them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fairlead.model.values import FrozenMap
from fairlead.scheduling.state.terms import Listed
from fairlead.simulation.workload import Resource, Workload, always_there
from fairlead.simulation.workloads.draws import SECOND, Shape, Times
from fairlead.simulation.workloads.jobs import Jobs, stream

RESOURCES = (Resource("cpu", Fraction(1, 2)), Resource("memory", Fraction(512 * 2**20)))
NODES = tuple(f"node-{number:02}" for number in range(1, 51))
# The nodes that jobs 2, and 3 and 4, may use (Table II, "Whitelisted nodes").
TERMS = (
    Listed(frozenset(NODES[0:25])),
    Listed(frozenset(NODES[0:10] + NODES[25:35])),
)


def generate(*, name: str = "table-ii", vary: float = 0.2, seed: int = 0) -> Workload:
    """TSF Table II: four jobs on 50 nodes; task times vary by up to `vary` of their mean.

    `vary=0` gives every task the mean time of its job.
    """
    times = Times(Shape.UNIFORM if vary else Shape.CONSTANT, vary=vary)
    jobs = Jobs(
        names=("job-1", "job-2", "job-3", "job-4"),
        submit=np.array([0, 10, 150, 150]) * SECOND,
        # In halves of a CPU and units of 512 MB.
        demand=np.array([[2, 1], [1, 1], [1, 1], [2, 1]]),
        tasks=np.array([1000, 150, 100, 100]),
        mean=np.array([23.2, 18.3, 21.3, 55.6]),
        needs=np.array([[0b00], [0b01], [0b10], [0b10]], np.uint64),
    )
    return Workload(
        name=name,
        resources=RESOURCES,
        machines=always_there(NODES, (FrozenMap(),) * 50, np.array([[2, 2]] * 25 + [[4, 2]] * 25)),
        terms=TERMS,
        batches=stream(jobs, times, seed),
        notes=(
            "Machines, demands, mean times and white lists are those of TSF's Table II (VI.A).",
            f"Task times are drawn evenly within {vary:.0%} of the mean (vary={vary:g})."
            if vary
            else "Every task takes the mean time of its job (vary=0).",
            "TSF says that task times fluctuate by up to 20%, not how they are distributed.",
            "Memory is in binary units: 512 MB are 512 × 2^20 bytes, which changes no share.",
        ),
        jobs=4,
        tasks=1350,
        options=FrozenMap({"vary": f"{vary:g}"}),
    )
