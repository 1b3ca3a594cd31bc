"""A lottery over whole-task allocations that gives a mixture in expectation, and varies little."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from fairlead.model.errors import InputError
from fairlead.sharing.whole_tasks.point import Packing, Point


@dataclass(frozen=True)
class Drawn:
    """One allocation of the lottery: its probability, and on how many machines of each class each
    packing is."""

    probability: Fraction
    machines: tuple[tuple[int, Packing, int], ...]

    def tasks(self, jobs: int) -> tuple[int, ...]:
        """(J,) whole tasks in all."""
        total = np.zeros(jobs, np.int64)
        for _, packing, machines in self.machines:
            total += machines * np.array(packing, np.int64)
        return tuple(total.tolist())


@dataclass(frozen=True)
class Lottery:
    """The allocations in the order of their tasks, the largest first; probabilities add up to 1."""

    allocations: tuple[Drawn, ...]

    @staticmethod
    def of(allocations: Iterable[Drawn], jobs: int) -> Lottery:
        """The lottery over these allocations of so many jobs' tasks."""
        found = sorted(allocations, key=lambda one: (one.tasks(jobs), one.machines), reverse=True)
        return Lottery(tuple(found))

    def mixture(self) -> tuple[tuple[int, Packing, Fraction], ...]:
        """The mean: class, packing and on how many machines."""
        mean: dict[tuple[int, Packing], Fraction] = {}
        for one in self.allocations:
            for c, packing, number in one.machines:
                more = one.probability * number
                mean[c, packing] = mean.get((c, packing), Fraction(0)) + more
        return tuple((c, packing, number) for (c, packing), number in sorted(mean.items()))


def generator(seed: int) -> np.random.Generator:
    """A generator that draws by a seed. Refuses one below 0."""
    if seed < 0:
        raise InputError(f"the seed {seed} is below 0", "write 0 or more")
    return np.random.Generator(np.random.PCG64(seed))


def draw(probabilities: Sequence[Fraction], seed: int) -> int:
    """The number of the one that a seed draws; the probabilities add up to 1."""
    at = Fraction(int(generator(seed).integers(2**62)), 2**62)
    for number, probability in enumerate(probabilities):
        at -= probability
        if at < 0:
            return number
    return len(probabilities) - 1


def lottery(point: Point) -> Lottery:
    """Allocations with the point as their mean, all on the smallest face of the convex hull that
    holds it, so that each is Pareto-optimal.

    Whole machines are in every allocation, and only what is left of each class's mixture is drawn:
    one number from 0 to 1 says for all classes at once on which side of
    its marks it falls, so there are no more allocations than marks and one.
    """
    by_class: dict[int, list[tuple[Packing, Fraction]]] = {}
    for k, packing, amount in sorted(point.mixture, key=lambda each: each[1], reverse=True):
        by_class.setdefault(k, []).append((packing, amount))
    marks = {Fraction(0), Fraction(1)}
    for members in by_class.values():
        reached = Fraction(0)
        for _, amount in members:
            reached += amount % 1
            marks.add(reached % 1)
    ends = sorted(marks)
    found: dict[tuple[tuple[int, Packing, int], ...], Fraction] = {}
    for low, high in pairwise(ends):
        machines: list[tuple[int, Packing, int]] = []
        for k in sorted(by_class):
            reached = Fraction(0)
            for packing, amount in by_class[k]:
                before, reached = reached, reached + amount % 1
                # Marks at low, low + 1, ... in (before, reached]: one machine for each.
                extra = (reached - high).__floor__() - (before - high).__floor__()
                number = int(amount) + extra
                if number and any(packing):
                    machines.append((k, packing, number))
        key = tuple(machines)
        found[key] = found.get(key, Fraction(0)) + high - low
    drawn = (Drawn(probability, machines) for machines, probability in found.items())
    return Lottery.of(drawn, len(point.tasks))


def expected(lottery: Lottery, jobs: int) -> tuple[Fraction, ...]:
    """(J,) the mean of the allocations' tasks."""
    total = [Fraction(0)] * jobs
    for one in lottery.allocations:
        for j, tasks in enumerate(one.tasks(jobs)):
            total[j] += one.probability * tasks
    return tuple(total)
