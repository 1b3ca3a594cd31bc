"""The max-min point among all mixtures of whole-task allocations: columns are packings of machines.

The feasible numbers of tasks are sums of packings, one for each machine; their mixtures are the
convex hull, which is never written down. A linear program over the packings met so far is solved
again and again; its prices ask each kind of machine for the packing that is worth most, and when
none is worth more than those there are, the point is exact (Friedman, Ghodsi, Psomas, Algorithm 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fairlead.model.errors import SolverError
from fairlead.sharing.problem import Bools, Floats, Ints
from fairlead.sharing.solvers.linear import INFINITY, Program
from fairlead.sharing.solvers.packing import Packer

_WORTH = 1e-10  # what a packing must be worth more than those there are, over the sum of all prices
LOOKS = 30_000
"""Steps of the search for a packing that is good, before the best is looked for."""
_FROZEN = 1e-9  # the price, times its rate, at which a job cannot rise; all of them add up to 1
_USED = 1e-9  # the part of a class from which on a packing counts as used


@dataclass(frozen=True)
class Kind:
    """Machines that are alike: how many, and the packer of one."""

    count: int
    packer: Packer


@dataclass(frozen=True)
class Raised:
    """A round: who froze, and the prices that prove it: no mixture is worth more than this one at
    `price` (J,), per unit of share."""

    frozen: Ints
    price: Floats


@dataclass(frozen=True)
class Mixture:
    """`used`: kind, packing (J,) and on how many machines; the rounds that led there."""

    used: tuple[tuple[int, tuple[int, ...], float], ...]
    rounds: tuple[Raised, ...]


def max_min(
    kinds: Sequence[Kind], scale: Floats, rates: Callable[[Bools], Floats], alive: Bools
) -> Mixture:
    """The mixture whose shares, tasks / `scale`, rise together at the `rates` of who is still
    active, as far as they can."""
    return _Search(kinds, scale, rates).run(alive)


class _Search:
    def __init__(
        self, kinds: Sequence[Kind], scale: Floats, rates: Callable[[Bools], Floats]
    ) -> None:
        self.kinds, self.rates = kinds, rates
        self.inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        jobs = len(scale)
        # A job's row: what it has is at least what all steps want. A kind's row: parts of it.
        lower = np.concatenate([np.zeros(jobs), np.full(len(kinds), -INFINITY)])
        upper = np.concatenate([np.full(jobs, INFINITY), np.ones(len(kinds))])
        self.program = Program(lower, upper)
        self.columns: dict[tuple[int, tuple[int, ...]], int] = {}

    def run(self, alive: Bools) -> Mixture:
        active = alive.copy()
        rounds: list[Raised] = []
        for k, kind in enumerate(self.kinds):  # a start: each job alone
            for j in np.flatnonzero(active).tolist():
                value = np.zeros(len(active))
                value[j] = 1.0
                self._enter(k, kind.packer.best(value))
        solution = None
        while active.any():
            rate = self.rates(active)
            step = self.program.columns
            rows = np.flatnonzero(rate > 0)
            # In units in which the level is of the size of 1 for everybody together.
            unit = 1.0 / float(rate.sum())
            self.program.add_columns(
                np.array([-1.0]),
                np.array([INFINITY]),
                np.zeros(1, np.int64),
                rows,
                -rate[rows] * unit,
            )
            while True:
                solution = self.program.solve()
                price = np.maximum(solution.row_dual[: len(rate)], 0.0)
                worth = np.maximum(-solution.row_dual[len(rate) :], 0.0)
                if not self._price(price, worth):
                    break
            height = float(solution.column_value[step])
            self.program.fix_column(step, height)
            weight = price * rate * unit
            frozen = np.flatnonzero(active & (weight > _FROZEN))
            if not len(frozen):
                raise SolverError("nobody is stopped in a round of the mixture")
            active[frozen] = False
            rounds.append(Raised(frozen, price / (weight.sum() or 1.0) * unit))
        if solution is None:
            return Mixture((), ())
        used = tuple(
            (k, packing, float(solution.column_value[column]) * self.kinds[k].count)
            for (k, packing), column in self.columns.items()
            if solution.column_value[column] > _USED / self.kinds[k].count
        )
        return Mixture(used, tuple(rounds))

    def _price(self, price: Floats, worth: Floats) -> bool:
        """Whether a packing entered that is worth more than its kind's price: a good one, or where
        no good one is, the best."""
        return any(self._price_by(price, worth, exact=exact) for exact in (False, True))

    def _price_by(self, price: Floats, worth: Floats, *, exact: bool) -> bool:
        entered = False
        enough = _WORTH * max(1.0, float(worth.sum()))
        for k, kind in enumerate(self.kinds):
            value = price * self.inverse * kind.count
            packing = kind.packer.best(value) if exact else kind.packer.good(value, LOOKS)[0]
            if float(value @ packing) > worth[k] + enough:
                entered |= self._enter(k, packing)
        return entered

    def _enter(self, k: int, packing: Ints) -> bool:
        key = (k, tuple(packing.tolist()))
        if key in self.columns or not packing.any():
            return False
        jobs = np.flatnonzero(packing)
        share = packing[jobs] * self.inverse[jobs] * self.kinds[k].count
        self.columns[key] = self.program.columns
        self.program.add_columns(
            np.zeros(1),
            np.array([INFINITY]),
            np.zeros(1, np.int64),
            np.append(jobs, len(self.inverse) + k),
            np.append(share, 1.0),
        )
        return True
