"""The max-min point among all mixtures of whole-task allocations: columns are packings of machines.

The feasible numbers of tasks are sums of packings, one for each machine; their mixtures are the
convex hull, which is never written down. A linear program over the packings met so far is solved
again and again; its prices ask each kind of machine for the packing that is worth most, and when
none is worth more than those there are, the point is exact (Friedman, Ghodsi, Psomas, Algorithm 2).
Caps bound what jobs have together in the mean: a limit, or the tasks that a job has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fairlead.model.errors import SolverError
from fairlead.sharing.problem.problem import Bools, Floats, Ints
from fairlead.sharing.solvers.linear import INFINITY, Program

_WORTH = 1e-10  # what a packing must be worth more than those there are, over the sum of all prices
LOOKS = 30_000
"""Steps of the search for a packing that is good, before the best is looked for."""
_FROZEN = 1e-9  # the price, times its rate, at which a job cannot rise; all of them add up to 1
_USED = 1e-9  # the part of a class from which on a packing counts as used


class Packs(Protocol):
    """An oracle of packings, of a machine or of all machines together."""

    def best(self, value: Floats) -> Ints:
        """(J,) tasks that are worth most together."""
        ...

    def good(self, value: Floats, looks: int) -> tuple[Ints, float, bool]:
        """Tasks (J,) that are worth much, what none are worth more than, and whether these are
        worth most."""
        ...

    def ties(self, value: Floats, tolerance: float) -> Ints | None:
        """(K, J) all packings worth as much as the best; None where they are too many."""
        ...


@dataclass(frozen=True)
class Kind:
    """Machines that are alike: how many, and the packer of one."""

    count: int
    packer: Packs


@dataclass(frozen=True)
class Raised:
    """A round: who froze, and the prices that prove it: no mixture is worth more than this one at
    `price` (J,), per unit of share, with `charge` (B,) for what is taken of each cap."""

    frozen: Ints
    price: Floats
    charge: Floats


@dataclass(frozen=True)
class Mixture:
    """`used`: kind, packing (J,) and on how many machines; the rounds that led there."""

    used: tuple[tuple[int, tuple[int, ...], float], ...]
    rounds: tuple[Raised, ...]


def max_min(
    kinds: Sequence[Kind],
    scale: Floats,
    rates: Callable[[Bools], Floats],
    alive: Bools,
    use: Floats,
    amount: Floats,
) -> Mixture:
    """The mixture whose shares, tasks / `scale`, rise together at the `rates` of who is still
    active, as far as they can. In the mean `use` (B, J) @ tasks is at most `amount` (B,), which is
    above 0."""
    if not alive.any():
        return Mixture((), ())
    return _Search(kinds, scale, rates, use / amount[:, None]).run(alive, amount)


class _Search:
    def __init__(
        self,
        kinds: Sequence[Kind],
        scale: Floats,
        rates: Callable[[Bools], Floats],
        use: Floats,
    ) -> None:
        self.kinds, self.rates, self.use = kinds, rates, use
        self.inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        jobs = len(scale)
        # A job's row: what it has is at least what all steps want. A kind's row, a cap's: parts.
        parts = len(kinds) + len(use)
        lower = np.concatenate([np.zeros(jobs), np.full(parts, -INFINITY)])
        upper = np.concatenate([np.full(jobs, INFINITY), np.ones(parts)])
        self.program = Program(lower, upper)
        self.columns: dict[tuple[int, tuple[int, ...]], int] = {}

    def run(self, alive: Bools, amount: Floats) -> Mixture:
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
            rows = np.flatnonzero(rate > 0)
            # In units in which the level is of the size of 1 for everybody together.
            unit = 1.0 / float(rate.sum())
            step = self.program.add_column(rows, -rate[rows] * unit, cost=-1.0)
            while True:
                solution = self.program.solve()
                price = np.maximum(solution.row_dual[: len(rate)], 0.0)
                worth = np.maximum(-solution.row_dual[len(rate) :], 0.0)
                charge = worth[len(self.kinds) :]
                if not self._price(price, worth[: len(self.kinds)], charge):
                    break
            height = float(solution.column_value[step])
            self.program.fix_column(step, height)
            weight = price * rate * unit
            frozen = np.flatnonzero(active & (weight > _FROZEN))
            if not len(frozen):
                raise SolverError("nobody is stopped in a round of the mixture")
            active[frozen] = False
            level = unit / (weight.sum() or 1.0)
            rounds.append(Raised(frozen, price * level, charge / amount * level))
        if solution is None:
            return Mixture((), ())
        used = tuple(
            (k, packing, float(solution.column_value[column]) * self.kinds[k].count)
            for (k, packing), column in self.columns.items()
            if solution.column_value[column] > _USED / self.kinds[k].count
        )
        return Mixture(used, tuple(rounds))

    def _price(self, price: Floats, worth: Floats, charge: Floats) -> bool:
        """Whether a packing entered that is worth more than its kind's price: a good one, or where
        no good one is, the best."""
        task = price * self.inverse - charge @ self.use
        enough = _WORTH * max(1.0, float(worth.sum() + charge.sum()))
        return any(self._price_by(task, worth, enough, exact=exact) for exact in (False, True))

    def _price_by(self, task: Floats, worth: Floats, enough: float, *, exact: bool) -> bool:
        entered = False
        for k, kind in enumerate(self.kinds):
            value = task * kind.count
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
        taken = self.use @ packing * self.kinds[k].count
        first = len(self.inverse) + len(self.kinds)
        capped = np.flatnonzero(taken)
        self.columns[key] = self.program.add_column(
            np.concatenate([jobs, [first - len(self.kinds) + k], first + capped]),
            np.concatenate([share, [1.0], taken[capped]]),
        )
        return True
