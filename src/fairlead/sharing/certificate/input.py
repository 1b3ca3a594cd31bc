"""The values that the checker starts from, and those that it establishes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import fmpq

from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.proof import Round
from fairlead.sharing.certificate.arrays import Seen, see
from fairlead.sharing.certificate.scales import Looks, held
from fairlead.sharing.certificate.tree import Tree, tree


@dataclass(frozen=True)
class Input:
    """All that the checker knows before it reads a proof."""

    cluster: Cluster
    seen: Seen
    tree: Tree

    @cached_property
    def alone(self) -> list[fmpq]:
        """(J,) the tasks of each job alone in the cluster, constraints ignored."""
        return held(self.seen, self.seen.all_kinds)


@dataclass(frozen=True)
class Filled:
    """A filling that holds: its rounds, the exact level of each, and who takes part in it."""

    rounds: tuple[Round, ...]
    levels: tuple[fmpq, ...]
    active: frozenset[int]


@dataclass(frozen=True)
class Proved:
    """The values that a proof establishes. `scale` is None where every machine has scales of its
    own, and `filled` is by the number of the class that is filled by itself; `placed` are the tasks
    of each job on each class, by its number, in doubles, and `parts` the same in parts of what the
    job has, of any size: exact where that was asked for."""

    assumed: tuple[str, ...]
    looks: Looks
    weight: Sequence[fmpq]
    scale: Sequence[fmpq] | None
    tasks: Sequence[fmpq]
    placed: dict[str, dict[int, float]]
    filled: dict[int | None, Filled]
    parts: dict[str, dict[int, fmpq]]


def read_input(cluster: Cluster, jobs: Sequence[Job]) -> Input:
    """The input in arrays of the checker's own making."""
    seen = see(cluster, jobs)
    return Input(cluster, seen, tree(cluster, jobs, seen))
