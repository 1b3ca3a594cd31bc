"""The highest level of many groups at once by an interior point method, then made exact.

Dense and of few steps: what couples the groups are the capacities, so that a step costs one
symmetric product of a (groups x capacities) matrix and one inverse of (capacities)².
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.sharing.problem import Bools, Floats
from fairlead.sharing.rise import Rise, Risen

_MOST_STEPS = 80
# Relative gap at which what is positive and what is zero can be told apart.
_GAP = 1e-8
_STAY_INSIDE = 0.9995
# Added to the scaled capacity system: prices that are not unique (two resources in the same
# proportion everywhere) then do not swamp the others with rounding errors.
_REGULAR = 1e-11
# What is left of the equations when the solution counts as exact; relative.
_EXACT = 1e-12
_CORRECTIONS = 2
_REFINEMENTS = 8
# How often what was taken for positive may turn out to be zero.
_GUESSES = 4


@dataclass
class _Point:
    """Shares, what is left of capacities, the level, prices, groups' prices, reduced costs."""

    z: Floats  # (G, C)
    s: Floats  # (C, R)
    level: float
    p: Floats  # (C, R)
    y: Floats  # (G,)
    rc: Floats  # (G, C)


def rise(problem: Rise) -> Risen | None:
    """The highest level with its proof; None where the last steps did not become exact."""
    program = _Program(problem)
    point = program.start()
    for _ in range(_MOST_STEPS):
        if program.near(point):
            break
        if not program.advance(point):
            return None
    else:
        return None
    return program.exact(point)


class _Program:
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
        self.use_pairs = (self.use[:, :, None] * self.use[:, None, :]).reshape(groups, -1)
        self.wide = np.empty((groups, len(self.row), resources))

    def start(self) -> _Point:
        """A point well inside: everyone on all it can use, products all of one size."""
        fits = np.zeros(self.pairs.shape)
        largest = (self.use[:, None, :] * self.inverse[None]).max(axis=2)
        np.divide(1.0, largest, out=fits, where=self.pairs)
        z = fits / fits.sum(axis=1, keepdims=True) * (self.base + self.rate)[:, None]
        level = 1.0 / self.load(z)[self.row].mean()
        even = 0.1 / self.inside.sum(axis=1, keepdims=True)
        z = np.where(self.pairs, np.maximum(z, even) * level, 0.0)
        s = np.ones(self.row.shape)
        p = np.where(self.row, self.number * level / self.row.sum(), 0.0)
        return _Point(z, s, level, p, np.ones(len(z)), np.where(self.pairs, 10.0, 1.0))

    def load(self, z: Floats) -> Floats:
        """(C, R) the part of each capacity that the shares take."""
        taken: Floats = (z.T @ self.use) * self.inverse
        return taken

    def cost(self, p: Floats) -> Floats:
        """(G, C) what a unit of share costs."""
        priced: Floats = self.use @ (p * self.inverse).T
        return priced

    def residuals(self, at: _Point) -> tuple[Floats, Floats, Floats, float]:
        """How far the point is from its equations: shares, capacities, prices, their sum."""
        return (
            self.base + self.rate * at.level - at.z.sum(axis=1),
            np.where(self.row, 1.0 - self.load(at.z) - at.s, 0.0),
            (self.cost(at.p) - at.y[:, None] - at.rc) * self.inside,
            self.number - float(at.y @ self.rate),
        )

    def near(self, at: _Point) -> bool:
        """Whether the point is close enough to the optimum to see what is zero there."""
        products = float((at.z * at.rc).sum() + (at.s * at.p).sum())
        share, capacity, price, total = self.residuals(at)
        off = max(abs(share).max(), abs(capacity).max(), abs(price).max(), abs(total) / self.number)
        return products < _GAP * self.number * at.level and bool(off < _GAP)

    def advance(self, at: _Point) -> bool:
        """One step of Mehrotra's predictor and corrector, with corrections towards the centre
        (Gondzio; Colombo and Gondzio's weight). False where the system is singular."""
        share, capacity, price, total = self.residuals(at)
        theta = at.z / at.rc
        safe_p = np.where(self.row, at.p, 1.0)
        system = _System(self, theta, self.row, np.where(self.row, at.s / safe_p, 1.0))
        if not system.regular:
            return False
        mean = float((at.z * at.rc).sum() + (at.s * at.p).sum()) / self.products

        def direction(aim: float, off_z: Floats, off_s: Floats) -> _Point:
            inner = (aim - off_z) / at.rc * self.inside - at.z
            known = inner - theta * price
            slack = np.where(self.row, (aim - off_s) / safe_p - at.s, 0.0)
            level, p, y = system.solve(
                share - known.sum(axis=1), capacity - slack - self.load(known), total
            )
            rc = (self.cost(p) - y[:, None] + price) * self.inside
            return _Point(inner - theta * rc, slack - at.s / safe_p * p, level, p, y, rc)

        step = direction(0.0, np.zeros(1), np.zeros(1))
        primal, dual = _lengths(at, step)
        left = (at.z + primal * step.z) * (at.rc + dual * step.rc)
        left_s = (at.s + primal * step.s) * (at.p + dual * step.p)
        aim = mean * (float(left.sum() + left_s.sum()) / self.products / mean) ** 3
        weight = primal * dual
        off_z, off_s = weight * step.z * step.rc, weight * step.s * step.p
        step = direction(aim, off_z, off_s)
        primal, dual = _lengths(at, step)
        for _ in range(_CORRECTIONS):
            if min(primal, dual) > 0.95:
                break
            far_p, far_d = min(1.0, 1.5 * primal + 0.2), min(1.0, 1.5 * dual + 0.2)
            off_z = off_z - _outside((at.z + far_p * step.z) * (at.rc + far_d * step.rc), aim)
            off_z *= self.inside
            off_s = off_s - _outside((at.s + far_p * step.s) * (at.p + far_d * step.p), aim)
            better = direction(aim, off_z, off_s)
            longer = _lengths(at, better)
            if sum(longer) < primal + dual + 0.02:
                break
            step, (primal, dual) = better, longer
        primal = min(1.0, _STAY_INSIDE * primal)
        dual = min(1.0, _STAY_INSIDE * dual)
        at.z += primal * step.z
        at.s += primal * step.s
        at.level += primal * step.level
        at.p += dual * step.p
        at.y += dual * step.y
        at.rc += dual * step.rc
        return True

    def exact(self, at: _Point) -> Risen | None:
        """The optimum itself: what is near zero is zero, and the equations of the rest, shares
        and prices, are solved (the nearest solution; Mehrotra and Ye's finite termination)."""
        basic = self.pairs & (at.z > at.rc)
        tight = self.row & (at.p > at.s)
        for _ in range(_GUESSES):
            if not basic.any(axis=1).all():
                return None
            found = self._nearest(at, basic, tight)
            if found is None:
                return None
            z, p, y, level = found
            wrong = z < 0
            if not wrong.any():
                break
            basic &= ~wrong
        else:
            return None
        p = np.maximum(p, 0.0)
        reduced = np.where(self.pairs, self.cost(p) - y[:, None], 0.0)
        if (self.load(z) > 1.0 + _EXACT).any() or (reduced < -_GAP).any():
            return None
        return Risen(
            level=level * self.level_unit,
            share=z * self.unit[:, None],
            price=p * self.inverse,
            group=np.maximum(y, 0.0) / self.unit,
        )

    def _nearest(
        self, at: _Point, basic: Bools, tight: Bools
    ) -> tuple[Floats, Floats, Floats, float] | None:
        """z, p, y and the level next to the point that satisfy all equations, where only these z
        and p are not zero; None where there are none."""
        z = np.where(basic, at.z, 0.0)
        p = np.where(tight, at.p, 0.0)
        level, y = at.level, at.y.copy()
        theta = z * z
        system = _System(self, theta, tight, np.zeros(tight.shape))
        if not system.regular:
            return None
        for _ in range(_REFINEMENTS):
            share = self.base + self.rate * level - z.sum(axis=1)
            capacity = np.where(tight, 1.0 - self.load(z), 0.0)
            price = np.where(basic, self.cost(p) - y[:, None], 0.0)
            total = self.number - float(y @ self.rate)
            off = max(abs(share).max(), abs(capacity).max())
            off_dual = max(abs(price).max(), abs(total) / self.number)
            if off < _EXACT / 20 and off_dual < _EXACT:
                break
            more, dp, dy = system.solve(share, capacity, 0.0)
            z -= theta * (self.cost(dp) - dy[:, None])
            level += more
            weighted = theta * price
            _, dp, dy = system.solve(weighted.sum(axis=1), self.load(weighted), total)
            p += dp
            y += dy
        close = off < _EXACT and off_dual < _GAP and p.min() > -_GAP
        return (z, p, y, level) if close else None


class _System:
    """The equations of a step, reduced to one for each capacity: for the right-hand sides
    `solve` gives the changes of level, p and y with
    -M p + t y - rate·level = b1,  -K p + Mᵀ y - ratio·p = b2,  rate·y = b3,
    where t, M and K are sums of theta times 1, use and use·use."""

    def __init__(self, program: _Program, theta: Floats, row: Bools, ratio: Floats) -> None:
        self.program, self.theta = program, theta
        self.total = theta.sum(axis=1)
        groups, resources = program.use.shape
        classes = len(row)
        wide = program.wide
        root = theta / np.sqrt(self.total)[:, None]
        for r in range(resources):
            np.multiply(root, program.use[:, r, None], out=wide[:, :, r])
        flat = wide.reshape(groups, -1)
        matrix = -(flat.T @ flat)
        blocks = matrix.reshape(classes, resources, classes, resources)
        own = np.arange(classes)
        inside = (theta.T @ program.use_pairs).reshape(classes, resources, resources)
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
        matrix[diagonal, diagonal] += _REGULAR
        self.matrix = matrix
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
        solved += self.inverse @ (right - self.matrix @ solved)
        p = (solved * self.scale).reshape(self.row.shape)
        level = known - float(self.border @ p.ravel()) / self.square
        moved = (self.theta * program.cost(p)).sum(axis=1)
        return level, p, (b1 + moved + program.rate * level) / self.total


def _lengths(at: _Point, step: _Point) -> tuple[float, float]:
    """How far shares and prices can go before one of them reaches 0; at most 1."""
    return (
        min(_length(at.z, step.z), _length(at.s, step.s)),
        min(_length(at.rc, step.rc), _length(at.p, step.p)),
    )


def _length(value: Floats, change: Floats) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        fastest = float(np.min(change / value, where=value > 0, initial=0.0))
    return min(1.0, -1.0 / fastest) if fastest < 0 else 1.0


def _outside(product: Floats, aim: float) -> Floats:
    """What brings products that are far from the aim back to within a factor of ten of it."""
    wanted: Floats = np.clip(product, 0.1 * aim, 10 * aim) - product
    return np.clip(wanted, -10 * aim, 10 * aim)
