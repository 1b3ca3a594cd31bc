"""Whole tasks as an answer shows them: packings of machines, and the allocations of a lottery."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

Tree = dict[str, object]


@dataclass(frozen=True)
class Packing:
    """So many machines of a class hold these whole tasks each. With a lottery, in expectation."""

    machine_class: int
    machines: Fraction
    jobs: tuple[tuple[str, int], ...]

    def tree(self) -> Tree:
        """As JSON shows it: a number of machines that is not whole is a text such as `5/7`."""
        whole = self.machines.denominator == 1
        return {
            "class": self.machine_class,
            "machines": int(self.machines) if whole else str(self.machines),
            "jobs": dict(self.jobs),
        }


@dataclass(frozen=True)
class Chance:
    probability: Fraction
    jobs: tuple[tuple[str, int], ...]
    packings: tuple[Packing, ...]

    def tree(self) -> Tree:
        return {
            "probability": str(self.probability),
            "jobs": dict(self.jobs),
            "packings": [packing.tree() for packing in self.packings],
        }


@dataclass(frozen=True)
class Distance:
    """Distance of a tenant's share in whole tasks from its exact one: it is at most `bound` below,
    which is known before leftover room is filled; None where nothing bounds it."""

    tenant: str
    exact: float
    whole: float
    bound: float | None

    def tree(self) -> Tree:
        return {
            "tenant": self.tenant,
            "exact": self.exact,
            "whole": self.whole,
            "bound": self.bound,
        }


@dataclass(frozen=True)
class Whole:
    """Addition to an allocation of whole tasks. `divisible`: the exact tasks of each job that were
    rounded, where there are any, and `distances` what that did to each tenant; `lottery`: its
    allocations, of which the shares are the mean; `drawn`: the number of the one that was drawn,
    and the seed."""

    packings: tuple[Packing, ...]
    divisible: tuple[tuple[str, float], ...] = ()
    distances: tuple[Distance, ...] = ()
    lottery: tuple[Chance, ...] = ()
    drawn: tuple[int, int] | None = None
    notes: tuple[str, ...] = ()

    def tree(self) -> Tree:
        """The fields that an allocation's JSON has beside the others."""
        tree: Tree = {"packings": [packing.tree() for packing in self.packings]}
        if self.divisible:
            tree["divisible"] = dict(self.divisible)
            tree["distances"] = [distance.tree() for distance in self.distances]
        if self.lottery:
            tree["lottery"] = [chance.tree() for chance in self.lottery]
        if self.drawn is not None:
            tree["drawn"] = {"allocation": self.drawn[0], "seed": self.drawn[1]}
        tree["notes"] = list(self.notes)
        return tree
