"""One step of filling in numbers: groups that rise together, and how far they can."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.sharing.problem import Bools, Floats


@dataclass(frozen=True)
class Basis:
    """Where a simplex solution stands, so that the next can start from there."""

    pairs: Bools  # (G, C) basic
    slack: Bools  # (C, R) what is left of a capacity is basic


@dataclass(frozen=True)
class Rise:
    """How high can `level` be where group g has the share base[g] + rate[g] * level?

    Groups that are frozen have rate 0. Every group has a pair and, at the answer, a share
    above 0.
    """

    use: Floats  # (G, R) what a unit of share takes
    pairs: Bools  # (G, C) where a group may be
    capacity: Floats  # (C, R)
    most_on: Floats  # (G, C) the most share on a class, inf where there is no such bound
    base: Floats  # (G,)
    rate: Floats  # (G,)
    least: float = 0.0  # a level that is known to be feasible
    basis: Basis | None = None  # of shares that reach `least`

    def units(self) -> tuple[Floats, float]:
        """The shares at a level, and that level, that are of the size of the answer's.

        The level is what all can have at once, each with its part of every machine.
        """
        fits = np.full(self.pairs.shape, np.inf)
        for resource in range(self.use.shape[1]):
            needs = self.use[:, resource] > 0
            fits[needs] = np.minimum(
                fits[needs], self.capacity[None, :, resource] / self.use[needs, resource, None]
            )
        alone = np.where(self.pairs, np.minimum(fits, self.most_on), 0.0).sum(axis=1)
        rising = self.rate > 0
        level = max(self.least, 1.0 / float((self.rate[rising] / alone[rising]).sum()))
        return self.base + self.rate * level, level


@dataclass(frozen=True)
class Risen:
    """The highest level, shares that reach it, and prices that prove it, up to a factor:
    use·price >= group price for every pair, with equality where there is a share (up to a spread
    price where the share is the most that fits)."""

    level: float
    share: Floats  # (G, C)
    price: Floats  # (C, R)
    group: Floats  # (G,)
    basis: Basis | None = None
