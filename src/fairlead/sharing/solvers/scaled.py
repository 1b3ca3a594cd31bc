"""A step of filling as equations of one size, and how they are solved: most of it is dense sums.

What couples the groups are the capacities, so that a solution costs one symmetric product of a
(groups x capacities) matrix and one inverse of (capacities)², however many pairs there are.
"""

from __future__ import annotations

import numpy as np

from fairlead.sharing.problem import Bools, Floats
from fairlead.sharing.rise import Rise

# Added to the scaled capacity system: prices that are not unique (two resources in the same
# proportion everywhere) then do not swamp the others with rounding errors.
_REGULAR = 1e-11
# Repeats that take back what that addition changes.
_REFINEMENTS = 3


class Program:
    """max level: sum_c z = base + rate·level, sum_g z·use·inverse + s = 1; z, s >= 0.

    Scaled: a group's share is 1 at the level 1, and the prices of the rising groups add up to
    their number. Multipliers: y of the first rows, p >= 0 of the second.
    """

    def __init__(self, problem: Rise) -> None:
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
    """The equations of a step, reduced to one for each capacity: for the right-hand sides
    `solve` gives the changes of level, p and y with
    -M p + t y - rate·level = b1,  -K p + Mᵀ y - ratio·p = b2,  rate·y = b3,
    where t, M and K are sums of theta times 1, use and use·use."""

    def __init__(self, program: Program, theta: Floats, row: Bools, ratio: Floats) -> None:
        self.program, self.theta = program, theta
        self.total = theta.sum(axis=1)
        classes, resources = row.shape
        flat = program.crossed(theta / np.sqrt(self.total)[:, None])
        matrix = -(flat.T @ flat)
        blocks = matrix.reshape(classes, resources, classes, resources)
        own = np.arange(classes)
        inside = program.squares(theta)
        for r in range(resources):
            for q in range(resources):
                blocks[own, r, own, q] += inside[:, r, q]
        factor = np.where(row, program.inverse, 0.0).ravel()
        matrix *= factor[:, None]
        matrix *= factor
        # The level is eliminated before the prices: then nothing blows up where all prices may
        # rise together, which is the case at every optimum.
        self.square = float((program.rate**2 / self.total).sum())
        self.border = (program.load(theta * (program.rate / self.total)[:, None]) * row).ravel()
        matrix += np.outer(self.border, self.border / self.square)
        diagonal = np.arange(len(matrix))
        matrix[diagonal, diagonal] += np.where(row, ratio, 1.0).ravel()
        size = matrix[diagonal, diagonal]
        self.scale = 1.0 / np.sqrt(np.where(size > 0, size, 1.0))
        matrix *= self.scale[:, None]
        matrix *= self.scale
        self.matrix = matrix.copy()
        matrix[diagonal, diagonal] += _REGULAR
        self.row = row
        try:
            self.inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            self.inverse = matrix
            self.regular = False
        else:
            self.regular = bool(np.isfinite(self.inverse).all())

    def solve(self, b1: Floats, b2: Floats, b3: float) -> tuple[float, Floats, Floats]:
        program = self.program
        known = (b3 - float((program.rate * b1 / self.total).sum())) / self.square
        right = program.load(self.theta * (b1 / self.total)[:, None]) - b2
        right = (np.where(self.row, right, 0.0).ravel() + self.border * known) * self.scale
        solved = self.inverse @ right
        for _ in range(_REFINEMENTS):
            solved += self.inverse @ (right - self.matrix @ solved)
        p = (solved * self.scale).reshape(self.row.shape)
        level = known - float(self.border @ p.ravel()) / self.square
        moved = (self.theta * program.cost(p)).sum(axis=1)
        return level, p, (b1 + moved + program.rate * level) / self.total
