"""A users' own job, or an element of one, that was launched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from fairlead.engines.interface import Attempt
from fairlead.engines.slurm.lying import nodes_of, places_of_tasks
from fairlead.engines.slurm.placing.nodes import Amounts
from fairlead.engines.slurm.reading.values import SlurmJob
from fairlead.model.values import FrozenMap


@dataclass
class Given:
    """A part that was launched and is not over: its attempts, each with its machine. `sent`: when
    its release was sent; None: it is still to be. `started`: when it did, in microseconds, 0 before
    that. `leaving`: why it is to be held again. `told`: the reading after which it was held. `as_`:
    what it was when it was released. `demand`: of each of its tasks. `beyond`: it does not lie on
    its nodes as it was placed, but has more on one of them, or is on others too.
    """

    name: str
    attempts: list[Attempt] = field(default_factory=list)
    machines: list[str] = field(default_factory=list)
    sent: float | None = None
    started: int = 0
    leaving: str = ""
    told: int = 0
    as_: SlurmJob | None = None
    demand: FrozenMap[Fraction] = field(default_factory=FrozenMap)
    beyond: bool = False

    def look(self, job: SlurmJob) -> None:
        """Takes in on which nodes it runs, and how much of it is on each. A job that has fewer than
        before gave them away."""
        where, placed = set(nodes_of(job)), set(self.machines)
        places = places_of_tasks(job, len(self.machines)) if job.cores else self.machines
        uneven = where == placed and sorted(places) != sorted(self.machines)
        self.beyond = uneven or not where <= placed

    def amounts(self) -> Mapping[str, Amounts]:
        """What the service counts of it on each machine."""
        return {
            machine: {kind: amount * count for kind, amount in self.demand.items()}
            for machine, count in Counter(self.machines).items()
        }
