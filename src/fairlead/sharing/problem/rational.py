"""A problem as the scales of the built-in policies see it when they count in rationals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from flint import fmpq

from fairlead.sharing.numbers.amounts import Whole
from fairlead.sharing.problem.alone import alone
from fairlead.sharing.problem.problem import Bools, Problem


@dataclass(frozen=True)
class RationalProblem:
    """A problem as a scale may ask for it, its numbers rationals in arrays of objects."""

    problem: Problem

    @property
    def resources(self) -> tuple[str, ...]:
        return self.problem.resources

    @property
    def job_names(self) -> tuple[str, ...]:
        return self.problem.job_names

    @property
    def usable(self) -> Bools:
        """(J, C) where each job can run."""
        return self.problem.usable

    @property
    def written(self) -> tuple[int, ...] | None:
        """The place of each job in the user's file."""
        return self.problem.written

    @cached_property
    def demand(self) -> Whole:
        """(J, R) what a task takes."""
        return self._rationals(self.problem.amounts.demand)

    @cached_property
    def total(self) -> Whole:
        """(R,) the whole cluster's resources."""
        amounts = self.problem.amounts
        there: Whole = np.zeros(len(self.resources), dtype=object)
        for machines, row in zip(self.problem.count.tolist(), amounts.capacity, strict=True):
            there = there + row * machines
        total: Whole = self._rationals(there[None, :])[0]
        return total

    @property
    def alone(self) -> Whole:
        """(J,) tasks that each job could run alone in the cluster, constraints ignored."""
        return _array(alone(self.problem))

    @property
    def alone_allowed(self) -> Whole:
        """(J,) tasks that each job could run alone on the machines that it may use."""
        return _array(alone(self.problem, allowed=True))

    def _rationals(self, rows: Whole) -> Whole:
        parts = self.problem.amounts.parts
        found = np.empty(rows.shape, dtype=object)
        for i, row in enumerate(rows.tolist()):
            for r, amount in enumerate(row):
                found[i, r] = fmpq(amount, parts[r])
        return found


def in_rationals(problem: Problem) -> Problem:
    """The problem for a scale that takes numbers of any kind, and gives the same kind."""
    return cast(Problem, RationalProblem(problem))


def _array(numbers: list[fmpq]) -> Whole:
    found = np.empty(len(numbers), dtype=object)
    found[:] = numbers
    return found
