"""The equations of a step where there are fewer groups than capacities: one for each group."""

from __future__ import annotations

import numpy as np

from fairlead.model.errors import InternalError
from fairlead.sharing.problem.problem import Floats
from fairlead.sharing.solvers.scaled import REFINEMENTS, REGULAR, Program
from fairlead.sharing.solvers.triangle import inverse_root


class GroupSystem:
    """The equations of `System`, reduced to one for each group instead of each capacity.

    What couples the capacities of different classes are the groups alone, so that the prices are
    eliminated class by class: a hundred groups on a hundred classes of four resources are solved
    by an inverse of 100² instead of 400².
    """

    def __init__(self, program: Program, theta: Floats, ratio: Floats) -> None:
        self.program, self.theta = program, theta
        self.regular = False
        total = theta.sum(axis=1)
        inverse = program.inverse
        blocks = program.squares(theta) * inverse[:, :, None] * inverse[:, None, :]
        own = np.arange(inverse.shape[1])
        blocks[:, own, own] += np.where(program.row, ratio, 1.0)
        # Scaled to a diagonal of 1, else what a machine has little of is lost beside the rest.
        size = 1.0 / np.sqrt(blocks[:, own, own])
        blocks *= size[:, :, None] * size[:, None, :]
        try:
            lower = np.linalg.cholesky(blocks)
        except np.linalg.LinAlgError:
            return
        # (C, R, R): its product with its transpose is the inverse of the class's block.
        self._root = size[:, :, None] * np.linalg.inv(lower).transpose(0, 2, 1)
        wide = program.use @ (inverse[:, :, None] * self._root).transpose(1, 0, 2).reshape(
            len(own), -1
        )
        crossed = wide.reshape(len(total), *inverse.shape) * theta[:, :, None]
        flat = crossed.reshape(len(total), -1)
        # All prices may rise together, at every optimum. The worth of all is known, so that any
        # multiple of its square may be added: then nothing blows up.
        self._times = 1.0 / float((program.rate**2 / total).sum())
        left = total - np.einsum("ij,ij->i", flat, flat) + self._times * program.rate**2
        self._scale = 1.0 / np.sqrt(np.where(left > 0, left, 1.0))
        flat *= self._scale[:, None]
        edge = self._scale * program.rate
        self._edge = edge
        matrix = (self._times * edge)[:, None] * edge
        matrix -= flat @ flat.T
        diagonal = np.arange(len(total))
        matrix[diagonal, diagonal] += total * self._scale**2
        self._flat, self._matrix = flat, matrix
        self._half = inverse_root(matrix + REGULAR * np.eye(len(matrix)))
        self.regular = self._half is not None
        if self.regular:
            self._rate = self._times_inverse(edge)

    def solve(self, b1: Floats, b2: Floats, b3: float) -> tuple[float, Floats, Floats]:
        """The changes of level, prices and groups' prices for these right-hand sides."""
        program, root = self.program, self._root
        known = np.einsum("crq,cr->cq", root, b2)
        found = self._times_inverse(b1 * self._scale - self._flat @ known.ravel())
        raised = (b3 - float(self._edge @ found)) / float(self._edge @ self._rate)
        y = (found + raised * self._rate) * self._scale
        right = program.load(self.theta * y[:, None]) - b2
        p = np.einsum("crq,cq->cr", root, np.einsum("crq,cr->cq", root, right))
        return raised - self._times * b3, p, y

    def _times_inverse(self, right: Floats) -> Floats:
        if self._half is None:
            raise InternalError("a singular system was solved")
        half, matrix = self._half, self._matrix
        solved: Floats = half.T @ (half @ right)
        for _ in range(REFINEMENTS):
            solved += half.T @ (half @ (right - matrix @ solved))
        return solved
