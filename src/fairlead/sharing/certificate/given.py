"""What the checker starts from, and what it establishes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.sharing.certificate.rounds import Figures
from fairlead.sharing.certificate.scales import Looks
from fairlead.sharing.certificate.seen import Bools, Floats, Seen, see
from fairlead.sharing.certificate.tree import Tree, tree


@dataclass(frozen=True)
class Input:
    """What does not depend on a proof. `alone` (J,) is the tasks of each job alone in the cluster,
    constraints ignored."""

    cluster: Cluster
    seen: Seen
    tree: Tree
    alone: Floats


@dataclass(frozen=True)
class Proved:
    """What a proof establishes. `scale` is None where every machine has scales of its own;
    `active[c]` are the jobs that take part on a class that is filled by itself."""

    figures: Figures
    assumed: tuple[str, ...]
    looks: Looks
    weight: Floats
    scale: Floats | None
    tasks: Floats  # (J, C)
    active: dict[int | None, Bools]


def read_input(cluster: Cluster, jobs: Sequence[Job]) -> Input:
    """The input in arrays of the checker's own making."""
    seen = see(cluster, jobs)
    kinds = seen.all_kinds()
    return Input(cluster, seen, tree(cluster, jobs, seen), kinds.holds @ kinds.count)
