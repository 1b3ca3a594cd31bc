"""A step of filling as equations of one size, and how they are solved: most of it is dense sums.

What couples the groups are the capacities, so that a solution costs one symmetric product of a
(groups x capacities) matrix and one inverse of (capacities)², however many pairs there are.
"""

from __future__ import annotations

import numpy as np

from fairlead.model.errors import InternalError
from fairlead.sharing.problem.problem import Bools, Floats
from fairlead.sharing.solvers.step import StepProblem
from fairlead.sharing.solvers.triangle import inverse_root

# Added to the scaled capacity system: prices that are not unique (two resources in the same
# proportion everywhere) then do not swamp the others with rounding errors.
REGULAR = 1e-11
# Repeats that take back what that addition changes.
REFINEMENTS = 3


class Program:
    """max level: sum_c z = base + rate·level, sum_g z·use·inverse + s = 1; z, s >= 0.

    Scaled: a group's share is 1 at the level 1, and the prices of the rising groups add up to
    their number. Multipliers: y of the first rows, p >= 0 of the second.
    """

    def __init__(self, problem: StepProblem) -> None:
        self.problem = problem
        self.unit, self.level_unit = problem.units()
        self.use = problem.use * self.unit[:, None]
        self.pairs = problem.pairs
        self.inside = problem.pairs.astype(np.float64)
        self.row = (self.inside.T @ (self.use > 0)) > 0
        self.inverse = np.divide(
            1.0, problem.capacity, out=np.zeros_like(problem.capacity), where=self.row
        )
        self.base = problem.base / self.unit
        self.rate = problem.rate * self.level_unit / self.unit
        self.number = float(np.count_nonzero(self.rate))
        self.products = int(self.pairs.sum() + self.row.sum())
        groups, resources = self.use.shape
        self._use_pairs = (self.use[:, :, None] * self.use[:, None, :]).reshape(groups, -1)
        self._wide = np.empty((groups, len(self.row), resources))

    def load(self, z: Floats) -> Floats:
        """(C, R) the part of each capacity that the shares take."""
        taken: Floats = (z.T @ self.use) * self.inverse
        return taken

    def cost(self, p: Floats) -> Floats:
        """(G, C) what a unit of share costs."""
        priced: Floats = self.use @ (p * self.inverse).T
        return priced

    def crossed(self, root: Floats) -> Floats:
        """(G, C * R) each group's root times its use."""
        for r in range(self.use.shape[1]):
            np.multiply(root, self.use[:, r, None], out=self._wide[:, :, r])
        return self._wide.reshape(len(self.use), -1)

    def squares(self, theta: Floats) -> Floats:
        """(C, R, R) the sums of theta times use times use."""
        return (theta.T @ self._use_pairs).reshape(-1, self.use.shape[1], self.use.shape[1])


class System:
    """The equations of a step, reduced to one for each of these capacities, `row`: for the
    right-hand sides `solve` gives the changes of level, p (0 for the others) and y with
    -M p + t y - rate·level = b1,  -K p + Mᵀ y - ratio·p = b2,  rate·y = b3,
    where t, M and K are sums of theta times 1, use and use·use."""

    def __init__(self, program: Program, theta: Floats, row: Bools, ratio: Floats) -> None:
        self.program, self.theta, self.row = program, theta, row
        self.total = theta.sum(axis=1)
        # The level is eliminated before the prices: then nothing blows up where all prices may
        # rise together, which is the case at every optimum.
        self.square = float((program.rate**2 / self.total).sum())
        self.border = program.load(theta * (program.rate / self.total)[:, None])[row]
        flat = program.crossed(theta / np.sqrt(self.total)[:, None])
        if not row.all():
            flat = flat[:, row.ravel()]
        flat *= program.inverse[row]
        # What capacities of the same class have to do with each other beside that.
        classes, one, other = (row[:, :, None] & row[:, None, :]).nonzero()
        inside = program.squares(theta)[classes, one, other]
        inside *= program.inverse[classes, one] * program.inverse[classes, other]
        inside[one == other] += ratio[row]
        size = inside[one == other] - np.einsum("ij,ij->j", flat, flat)
        size += self.border**2 / self.square
        # Scaled before it is multiplied out, which takes one pass over the matrix less for each.
        self.scale = 1.0 / np.sqrt(np.where(size > 0, size, 1.0))
        flat *= self.scale
        edge = self.border * self.scale / np.sqrt(self.square)
        self.matrix = edge[:, None] * edge
        self.matrix -= flat.T @ flat
        number = np.zeros(row.shape, dtype=np.int64)
        number[row] = np.arange(len(edge))
        at, to = number[classes, one], number[classes, other]
        self.matrix[at, to] += inside * self.scale[at] * self.scale[to]
        self._root = inverse_root(self.matrix + REGULAR * np.eye(len(edge)))
        self.regular = self._root is not None

    def solve(self, b1: Floats, b2: Floats, b3: float) -> tuple[float, Floats, Floats]:
        program = self.program
        known = (b3 - float((program.rate * b1 / self.total).sum())) / self.square
        right = program.load(self.theta * (b1 / self.total)[:, None]) - b2
        scaled = (right[self.row] + self.border * known) * self.scale
        solved = self._times_inverse(scaled)
        for _ in range(REFINEMENTS):
            solved += self._times_inverse(scaled - self.matrix @ solved)
        p = np.zeros(self.row.shape)
        p[self.row] = solved * self.scale
        level = known - float(self.border @ p[self.row]) / self.square
        moved = (self.theta * program.cost(p)).sum(axis=1)
        return level, p, (b1 + moved + program.rate * level) / self.total

    def _times_inverse(self, right: Floats) -> Floats:
        if self._root is None:
            raise InternalError("a singular system was solved")
        product: Floats = self._root.T @ (self._root @ right)
        return product
