"""Seeded draws: independent streams of numbers from one seed, and the times of tasks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

import numpy as np

from fairlead.model.errors import InputError
from fairlead.simulation.workload import Floats, Ints

SECOND = 1_000_000
"""Microseconds."""

LONGEST = 10**15
"""Microseconds, 31 years: a longer Pareto time is cut to this, so that sums of times fit."""


class Stream(IntEnum):
    """Kinds of draws. Each has numbers of its own, so that more jobs do not change the machines."""

    MACHINES = 1
    ATTRIBUTES = 2
    SIZES = 3
    DEMANDS = 4
    ARRIVALS = 5
    CONSTRAINTS = 6
    TIMES = 7
    OTHER = 8


def numbers(seed: int, stream: Stream, part: int = 0) -> np.random.Generator:
    """The stream's numbers; each part (a batch) has its own and needs none of the others."""
    if seed < 0:
        raise InputError(f"the seed {seed} is negative", "write a whole number from 0")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, int(stream), part])))


class Shape(Enum):
    """Distributions of task times around their mean. The values are what people write."""

    CONSTANT = "constant"
    UNIFORM = "uniform"
    EXPONENTIAL = "exponential"
    PARETO = "pareto"
    QUANTILES = "google"


@dataclass(frozen=True)
class Times:
    """Times of tasks, as multiples of their job's mean.

    `vary` is for UNIFORM: from 1 - vary to 1 + vary. `alpha` is for PARETO: the chance to be
    longer than x falls as x^-alpha. `quantiles` is for QUANTILES: probabilities and seconds,
    between which the logarithm is interpolated.
    """

    shape: Shape
    vary: float = 0.2
    alpha: float = 1.9
    quantiles: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        if self.shape is Shape.PARETO and not self.alpha > 1:
            raise InputError(
                f"Pareto times with alpha={self.alpha:g} have no mean", "write more than 1"
            )
        if not 0 <= self.vary < 1:
            raise InputError(f"vary={self.vary:g}", "write at least 0 and less than 1")

    def factors(self, count: int, draw: np.random.Generator) -> Floats:
        """Times as multiples of the mean: their expectation is 1 (before LONGEST cuts any)."""
        match self.shape:
            case Shape.CONSTANT:
                return np.ones(count)
            case Shape.UNIFORM:
                return draw.uniform(1 - self.vary, 1 + self.vary, count)
            case Shape.EXPONENTIAL:
                return draw.exponential(1.0, count)
            case Shape.PARETO:
                # 1 - u is never 0, since u is less than 1.
                smallest = (self.alpha - 1) / self.alpha
                return smallest * (1 - draw.random(count)) ** (-1 / self.alpha)
            case Shape.QUANTILES:
                chances, seconds = np.array(self.quantiles).T
                times = np.exp(np.interp(draw.random(count), chances, np.log(seconds)))
                return np.asarray(times / quantile_mean(self.quantiles))


def quantile_mean(quantiles: tuple[tuple[float, float], ...]) -> float:
    """The mean of what is drawn between quantiles whose logarithms are interpolated."""
    chances, values = np.array(quantiles).T
    steps, ratios = np.diff(chances), np.diff(np.log(values))
    flat = np.abs(ratios) < 1e-12  # the mean of a + (b - a)t over a step of no height is a
    means = np.where(flat, values[:-1], np.diff(values) / np.where(flat, 1.0, ratios))
    return float(np.sum(steps * means))


def shape_of(text: str) -> Shape:
    """The shape that is written; raises InputError."""
    try:
        return Shape(text)
    except ValueError as error:
        known = ", ".join(shape.value for shape in Shape)
        raise InputError(f"there are no times called `{text}`", f"there are {known}") from error


def microseconds(seconds: Floats) -> Ints:
    """Whole microseconds, at least 1 and at most LONGEST."""
    return np.clip(np.rint(seconds * SECOND), 1, LONGEST).astype(np.int64)
