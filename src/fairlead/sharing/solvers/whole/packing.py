"""The most valuable packing of one machine, exactly: a search that knows prices, or else HiGHS."""

from __future__ import annotations

import highspy
import numpy as np

from fairlead.model.errors import InputError, SolverError
from fairlead.sharing.kernels.knapsack import search
from fairlead.sharing.problem.problem import Floats, Ints
from fairlead.sharing.solvers.highs import add_rows, add_table, start_highs

MOST_TIES = 3000
"""Packings of equal value that are listed; where there are more, those that were met suffice."""

LOOKS = 300_000
"""Steps of the search, about 10 ms, before the branch and cut of HiGHS takes over."""


QUICK = 300
"""Steps of a first search by simple prices: small machines need no program for better ones."""

MOST_EFFORT = 180_000
"""Steps of the simplex method by branch and cut in one computation, some fifteen seconds."""

EACH = 1500
"""Steps that looking for one packing counts beside its own: its program is made and cut first."""


class Work:
    """The steps of branch and cut that the packers of one computation may still spend."""

    def __init__(self, effort: int = MOST_EFFORT) -> None:
        self.left = effort

    def nodes(self) -> int:
        """The nodes that the next search may have, of which a few steps each are likely."""
        return max(self.left // 3, 0)

    def take(self, steps: int) -> None:
        """Another packing was looked for in so many steps."""
        self.left -= EACH + steps


def _too_hard() -> InputError:
    return InputError(
        "which whole tasks fit on a machine together is too hard to search here: the"
        " tasks are small beside the machines, and their demands are all different",
        "take a policy with --tasks whole, for which good packings will do, or round"
        " the demands so that fewer of them differ",
    )


class Packer:
    """Packings of machines of one kind: whole tasks that fit on one of them together. So many
    tasks of one job as `most` (J,) fit on it alone."""

    def __init__(self, demand: Ints, capacity: Ints, most: Ints, work: Work | None = None) -> None:
        self._work = work or Work()
        # Copies: the compiled search is compiled again for each layout of its arrays.
        self.demand, self.capacity, self.most = (
            np.array(each, np.int64, order="C") for each in (demand, capacity, most)
        )
        self._divisible: highspy.Highs | None = None
        self._whole: highspy.Highs | None = None

    def best(self, value: Floats) -> Ints:
        """(J,) tasks that are worth most together."""
        found, _, proved = self.good(value, LOOKS)
        if not proved:
            cut = self.cut(value)
            if cut is None:
                raise _too_hard()
            found = cut
        return found

    def cut(self, value: Floats) -> Ints | None:
        """The same by branch and cut; None where the effort for it is used up."""
        if not self._work.nodes():
            return None
        if self._whole is None:
            self._whole = _program(self.demand, self.capacity, self.most, whole=True)
        self._whole.setOptionValue("mip_max_nodes", self._work.nodes())
        solution = _solve(self._whole, -np.maximum(value, 0.0))
        self._work.take(int(self._whole.getInfo().simplex_iteration_count))
        if solution is None:
            return None
        found: Ints = np.rint(np.array(solution.col_value)).astype(np.int64)
        found[value <= 0] = 0
        return found

    def every(self, most: int) -> Ints | None:
        """(K, J) the packings to which no task can be added; None where that would be a search
        through more than `most` packings."""
        jobs = len(self.most)
        found = np.zeros((most, jobs), np.int64)
        none = np.zeros(len(self.capacity))
        # Worth 1 a task and at no price: the search leaves nothing out.
        looks = most * (jobs + 1) * 2
        number = search(
            np.ones(jobs), self.demand, self.capacity, self.most, none, 0.0, True, found, looks
        )
        if number < 0:
            return None
        found = found[:number]
        left = self.capacity - found @ self.demand
        more = (left[:, None, :] >= self.demand[None, :, :]).all(axis=2) & (found < self.most)
        return found[~more.any(axis=1)]

    def good(self, value: Floats, looks: int) -> tuple[Ints, float, bool]:
        """Tasks (J,) that are worth much together, what none are worth more than, and whether these
        are worth most: so many looks did not always suffice to know."""
        found = np.zeros((1, len(value)), np.int64)
        worth = np.maximum(value, 0.0)
        if not worth.any():
            return found[0], 0.0, True
        wanted = np.flatnonzero(worth)
        if len(wanted) == 1:
            found[0, wanted] = self.most[wanted]
            return found[0], float(worth @ found[0]), True
        if self._search(worth, self._simple(), 0.0, found, QUICK, every=False) >= 0:
            return found[0], float(worth @ found[0]), True
        found[:] = 0
        price = self._prices(worth)
        if self._search(worth, price, 0.0, found, looks, every=False) >= 0:
            return found[0], float(worth @ found[0]), True
        left = np.maximum(worth - self.demand @ price, 0.0) @ self.most
        return found[0], float(price @ self.capacity + left), False

    def _search(
        self, worth: Floats, price: Floats, least: float, found: Ints, looks: int, *, every: bool
    ) -> int:
        return search(
            worth, self.demand, self.capacity, self.most, price, least, every, found, looks
        )

    def _prices(self, worth: Floats) -> Floats:
        """(R,) the prices of divisible tasks."""
        if self._divisible is None:
            self._divisible = _program(self.demand, self.capacity, self.most, whole=False)
        solution = _solve(self._divisible, -worth)
        if solution is None:
            raise SolverError("a packing of divisible tasks ended at a limit that it has not")
        prices: Floats = np.maximum(-np.array(solution.row_dual), 0.0)
        return prices / np.maximum(self.capacity, 1)

    def _simple(self) -> Floats:
        """(R,) prices at which each resource of the machine costs the same."""
        return 1.0 / np.maximum(self.capacity, 1)

    def ties(self, value: Floats, tolerance: float) -> Ints | None:
        """(K, J) all packings that are worth as much as the best, but for the tolerance, which is
        relative; None if they are too many."""
        cost = -np.maximum(value, 0.0)
        if not cost.any():
            return np.zeros((1, len(value)), np.int64)
        least = float(self.best(value) @ -cost) * (1.0 - tolerance)
        found = np.zeros((MOST_TIES, len(value)), np.int64)
        number = self._search(-cost, self._simple(), least, found, QUICK, every=True)
        if number < 0:
            number = self._search(-cost, self._prices(-cost), least, found, LOOKS, every=True)
        return found[:number] if number > 0 else None


def _program(demand: Ints, capacity: Ints, most: Ints, *, whole: bool) -> highspy.Highs:
    highs = start_highs({"mip_rel_gap": 0.0, "mip_abs_gap": 0.0})
    size = np.maximum(capacity, 1).astype(np.float64)
    add_rows(highs, np.full(len(size), -highspy.kHighsInf), capacity / size)
    add_table(highs, np.zeros(len(most)), most.astype(np.float64), (demand / size).T, whole=whole)
    return highs


def _solve(highs: highspy.Highs, cost: Floats) -> highspy.HighsSolution | None:
    """The solution; None where the nodes did not suffice."""
    highs.changeColsCost(len(cost), np.arange(len(cost), dtype=np.int32), cost)
    highs.run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kSolutionLimit:
        return None
    if status != highspy.HighsModelStatus.kOptimal:
        raise SolverError(f"a packing ended as {highs.modelStatusToString(status)!r}")
    return highs.getSolution()
