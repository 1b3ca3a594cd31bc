"""Markets by a conic solver: the largest weighted sum of logarithms under linear rows."""

from __future__ import annotations

from dataclasses import dataclass

import clarabel
import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from fairlead.model.errors import SolverError
from fairlead.sharing.problem.problem import Floats, Ints

POLISH_STEPS = 100
PATIENCE = 25  # steps without a better point, after which the best one is taken
ACCURATE = 1e-13
GOOD = 1e-11
START = 1e-5  # how far the polish starts from the boundary, in the problem's scaled numbers
REGULAR = 1e-14  # relative to the diagonal; undone by the refinements
REFINEMENTS = 3
SIGN_STEPS = 60
# Large enough for a stable factorisation of a singular system, small enough that a Newton step
# loses nothing that the next one does not mend.
PROXIMAL = 1e-9
UNDERFLOW = 1e-100
SYMMETRIC = {"SymmetricMode": True}


@dataclass(frozen=True)
class _Market:
    """Buyer of each column, weight of each buyer, rows that add up to at most 1."""

    buyer: Ints
    weight: Floats
    rows: sparse.csr_array
    sums: sparse.csr_array  # (buyers, columns): which columns add up to a buyer's amount

    def conditions(self, z: Floats, y: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Part of its buyer's amount and relative loss of each column, part of all money paid for
        and part left over of each row. Each pair is at least 0 and one of it 0 at the optimum."""
        u = self.sums @ z
        loss = (self.rows.T @ y) * (u / self.weight)[self.buyer] - 1.0
        return z / u[self.buyer], loss, y / self.weight.sum(), 1.0 - self.rows @ z

    def error(self, z: Floats, y: Floats) -> float:
        """The distance of the conditions from holding."""
        part, loss, paid, left = self.conditions(z, y)
        return max(_apart(part, loss), _apart(paid, left))


def maximise_logs(
    buyer: Ints, weight: Floats, row: Ints, column: Ints, coefficient: Floats, rows: int
) -> tuple[Floats, Floats]:
    """The amount of each column and the multiplier of each row at the largest sum over the buyers
    of weight * log(sum of the amounts in the buyer's columns).

    `buyer` names each column's buyer. Row i, given by its entries, adds up to at most 1; amounts
    are at least 0. The columns should be scaled so that every buyer's sum is of the order of 1, and
    the weights to a mean of 1. How good the answer is, the caller checks.
    """
    columns = len(buyer)
    market = _Market(
        buyer,
        weight,
        sparse.csr_array((coefficient, (row, column)), shape=(rows, columns)),
        sparse.csr_array((np.ones(columns), (buyer, np.arange(columns)))),
    )
    # A conic solver sees the logarithms through cones and stops at about 1e-7 where an optimum is
    # degenerate. Interior steps on the conditions themselves go on to the last digits, but where
    # a column is neither worth buying nor losing; there signs decide.
    z, y = _interior(buyer, weight, market.rows)
    if market.error(z, y) > ACCURATE:
        z, y = _by_interior_steps(market, z, y)
    if market.error(z, y) > GOOD:
        z, y = _by_signs(market, z, y)
    return z, y


def _interior(buyer: Ints, weight: Floats, rows: sparse.csr_array) -> tuple[Floats, Floats]:
    """The conic solver's answer."""
    columns, buyers = len(buyer), len(weight)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = 400
    settings.max_threads = 1  # the same answer on every machine
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    settings.reduced_tol_gap_abs = settings.reduced_tol_gap_rel = 1e-7
    settings.reduced_tol_feas = 1e-7
    # Variables: amounts, then one logarithm per buyer. Cone rows of buyer b: (log, 1, sum).
    place = 3 * np.arange(buyers)
    cone = sparse.coo_array(
        (
            np.full(columns + buyers, -1.0),
            (
                np.concatenate([place[buyer] + 2, place]),
                np.concatenate([np.arange(columns), columns + np.arange(buyers)]),
            ),
        ),
        shape=(3 * buyers, columns + buyers),
    )
    matrix = sparse.vstack(
        [
            sparse.hstack([rows, sparse.csr_array((rows.shape[0], buyers))]),
            sparse.hstack([-sparse.eye_array(columns), sparse.csr_array((columns, buyers))]),
            cone,
        ]
    ).tocsc()
    right = np.concatenate(
        [np.ones(rows.shape[0]), np.zeros(columns), np.tile([0.0, 1.0, 0.0], buyers)]
    )
    cones = [clarabel.NonnegativeConeT(rows.shape[0] + columns)]
    cones += [clarabel.ExponentialConeT()] * buyers
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((columns + buyers, columns + buyers)),
        np.concatenate([np.zeros(columns), -weight]),
        sparse.csc_matrix(matrix),
        right,
        cones,
        settings,
    )
    answer = solver.solve()
    # The polish and the caller's certificate decide whether an answer is good enough; here only
    # those without an answer are turned away.
    usable = (
        clarabel.SolverStatus.Solved,
        clarabel.SolverStatus.AlmostSolved,
        clarabel.SolverStatus.InsufficientProgress,
        clarabel.SolverStatus.MaxIterations,
    )
    if answer.status not in usable or not np.isfinite(answer.x).all():
        gap = abs(answer.obj_val - answer.obj_val_dual)
        raise SolverError(f"the market was not solved: {answer.status}, gap {gap:.3g}")
    amount = np.maximum(np.asarray(answer.x)[:columns], 0.0)
    multiplier = np.maximum(np.asarray(answer.z)[: rows.shape[0]], 0.0)
    return amount, multiplier


@dataclass(frozen=True)
class _Point:
    """Amounts z with the margins s of their columns, multipliers y with the slacks v of their rows;
    or a change of them."""

    z: Floats
    y: Floats
    s: Floats
    v: Floats

    def room(self, change: _Point) -> float:
        """The length that this can go along the change before something of it is 0, at most 1."""
        pairs = ((self.z, change.z), (self.y, change.y), (self.s, change.s), (self.v, change.v))
        return min(float(np.min(-value[by < 0] / by[by < 0], initial=1.0)) for value, by in pairs)

    def moved(self, change: _Point, length: float) -> _Point:
        """This, so far along the change."""
        return _Point(
            self.z + length * change.z,
            self.y + length * change.y,
            self.s + length * change.s,
            self.v + length * change.v,
        )

    def mean(self) -> float:
        """The mean of the products that are 0 at the optimum."""
        return float(self.z @ self.s + self.y @ self.v) / (len(self.z) + len(self.y))

    def least(self) -> float:
        return min(float(values.min()) for values in (self.z, self.y, self.s, self.v))


class _Newton:
    """Newton's steps from one point, by one factorisation of the normal equations. A row of its
    own for every buyer keeps out the cancellation that eliminating the buyers would bring."""

    def __init__(self, market: _Market, at: _Point) -> None:
        self._at = at
        u = market.sums @ at.z
        self._dual = market.rows.T @ at.y - at.s - (market.weight / u)[market.buyer]
        self._primal = market.rows @ at.z + at.v - 1.0
        self._both = sparse.vstack([market.rows, market.sums]).tocsr()
        self._turned = self._both.T.tocsr()
        self._ratio = at.z / at.s
        self._diagonal = np.concatenate([at.v / at.y, u**2 / market.weight])
        normal = sparse.csr_array(self._both * self._ratio) @ self._turned
        normal = normal + sparse.diags_array(self._diagonal)
        self._size = 1.0 / np.sqrt(normal.diagonal())
        size = sparse.diags_array(self._size)
        scaled = size @ normal @ size + REGULAR * sparse.eye_array(len(self._size))
        self._factor = splu(
            sparse.csc_matrix(scaled), "MMD_AT_PLUS_A", diag_pivot_thresh=0, options=SYMMETRIC
        )

    def step(self, low: Floats, high: Floats) -> _Point:
        """The change that takes z * s by `low` and y * v by `high`, and mends all the rest."""
        at, count = self._at, len(self._at.y)
        pull = low / at.z - self._dual
        right = self._both @ (self._ratio * pull)
        right[:count] += self._primal + high / at.y
        found = np.zeros(len(right))
        for _ in range(REFINEMENTS):
            left = right - self._both @ (self._ratio * (self._turned @ found))
            left -= self._diagonal * found
            found += self._size * self._factor.solve(self._size * left)
        z, y = self._ratio * (pull - self._turned @ found), found[:count]
        return _Point(z, y, (low - at.s * z) / at.z, (high - at.v * y) / at.y)


def _by_interior_steps(
    market: _Market, amount: Floats, multiplier: Floats
) -> tuple[Floats, Floats]:
    """The best point met by primal-dual interior steps from there (Mehrotra's)."""
    best, least, since = (amount, multiplier), market.error(amount, multiplier), 0
    # Away from the boundary, where interior steps work.
    z = np.maximum(amount, START * (market.sums @ amount)[market.buyer])
    v = np.maximum(1.0 - market.rows @ z, START)
    y = np.maximum(multiplier, START / v)
    s = market.rows.T @ y - (market.weight / (market.sums @ z))[market.buyer]
    at = _Point(z, y, np.maximum(s, START / z), v)
    for _ in range(POLISH_STEPS):
        if least < ACCURATE or since > PATIENCE:
            break
        newton = _Newton(market, at)
        first = newton.step(-at.z * at.s, -at.y * at.v)
        mean = at.mean()
        aim = mean * (at.moved(first, at.room(first)).mean() / mean) ** 3
        change = newton.step(
            aim - at.z * at.s - first.z * first.s, aim - at.y * at.v - first.y * first.v
        )
        at = at.moved(change, max(0.99, 1.0 - mean) * at.room(change))
        if not at.least() > UNDERFLOW:
            break
        now, since = market.error(at.z, at.y), since + 1
        if now < least:
            best, least, since = (at.z, at.y), now, 0
    return best


def _by_signs(market: _Market, amount: Floats, multiplier: Floats) -> tuple[Floats, Floats]:
    """The best point met by Newton's method on the columns that are bought and the rows that are
    paid for; which these are is corrected as signs show that they were chosen wrongly."""
    buyer, weight, rows, sums = market.buyer, market.weight, market.rows, market.sums
    z, y = amount, multiplier
    best, least = (z, y), np.inf
    bought = paid_for = np.zeros(0, dtype=bool)
    for attempt in range(SIGN_STEPS):
        part, loss, paid, left = market.conditions(z, y)
        now = max(_apart(part, loss), _apart(paid, left))
        if now < least:
            best, least = (np.maximum(z, 0.0), np.maximum(y, 0.0)), now
        if now < ACCURATE:
            break
        if attempt == 0:
            bought, paid_for = part > loss, paid > left
        else:
            bought = (bought & (part > 0)) | (~bought & (loss < -ACCURATE))
            paid_for = (paid_for & (paid > 0)) | (~paid_for & (left < -ACCURATE))
        z, y = np.where(bought, z, 0.0), np.where(paid_for, y, 0.0)
        u = sums @ z
        if not (u > 0).all():
            break
        c, r = np.flatnonzero(bought), np.flatnonzero(paid_for)
        local, group = rows[r][:, c], sums[:, c]
        curve = group.T @ sparse.diags_array(weight / u**2) @ group
        system = sparse.block_array(
            [
                [curve + PROXIMAL * sparse.eye_array(len(c)), local.T],
                [local, -PROXIMAL * sparse.eye_array(len(r))],
            ]
        )
        residual = np.concatenate([(weight / u)[buyer[c]] - local.T @ y[r], 1.0 - local @ z[c]])
        step = splu(sparse.csc_matrix(system)).solve(residual)
        # A step that would empty a buyer is cut short: the logarithm has no value there.
        change = group @ step[: len(c)]
        length = min(1.0, 0.9 / max(float(np.max(-change / u)), 1e-300))
        z[c] += length * step[: len(c)]
        y[r] += length * step[len(c) :]
    return best


def _apart(value: Floats, other: Floats) -> float:
    """The distance from: both at least 0, one of them 0."""
    both = np.minimum(np.abs(value), np.abs(other))
    return float(np.max(np.concatenate([both, -value, -other]), initial=0.0))
