"""Markets by a conic solver: the largest weighted sum of logarithms under linear rows."""

from __future__ import annotations

from dataclasses import dataclass
import clarabel
import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from fairlead.model.errors import SolverError
from fairlead.sharing.problem import Floats, Ints

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
        """How far the conditions are from holding."""
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


def _by_interior_steps(
    market: _Market, amount: Floats, multiplier: Floats
) -> tuple[Floats, Floats]:
    """The best point met by primal-dual interior steps from there."""
    buyer, weight, rows, sums = market.buyer, market.weight, market.rows, market.sums
    columns, count = len(buyer), rows.shape[0]
    both = sparse.vstack([rows, sums]).tocsr()
    turned = both.T.tocsr()
    best, least, since = (amount, multiplier), market.error(amount, multiplier), 0
    # Away from the boundary, where interior steps work.
    z = np.maximum(amount, START * (sums @ amount)[buyer])
    v = np.maximum(1.0 - rows @ z, START)
    y = np.maximum(multiplier, START / v)
    s = np.maximum(rows.T @ y - (weight / (sums @ z))[buyer], START / z)
    for _ in range(POLISH_STEPS):
        if least < ACCURATE or since > PATIENCE:
            break
        u = sums @ z
        dual = rows.T @ y - s - (weight / u)[buyer]
        primal = rows @ z + v - 1.0
        ratio = z / s
        diagonal = np.concatenate([v / y, u**2 / weight])
        normal = (both * ratio) @ turned + sparse.diags_array(diagonal)
        size = 1.0 / np.sqrt(normal.diagonal())
        scaled = sparse.csc_matrix(sparse.diags_array(size) @ normal @ sparse.diags_array(size))
        scaled += REGULAR * sparse.eye_array(len(size))
        factor = splu(scaled, "MMD_AT_PLUS_A", diag_pivot_thresh=0, options=SYMMETRIC)

        def step(low: Floats, high: Floats) -> tuple[Floats, Floats, Floats, Floats]:
            """The step that takes z * s by `low` and y * v by `high`, and mends the rest."""
            pull = low / z - dual
            right = both @ (ratio * pull)
            right[:count] += primal + high / y
            found = np.zeros(len(right))
            for _ in range(REFINEMENTS):
                left = right - both @ (ratio * (turned @ found)) - diagonal * found
                found += size * factor.solve(size * left)
            dz = ratio * (pull - turned @ found)
            dy = found[:count]
            return dz, dy, (low - s * dz) / z, (high - v * dy) / y

        mean = (z @ s + y @ v) / (columns + count)
        dz, dy, ds, dv = step(-z * s, -y * v)
        length = _room((z, dz), (s, ds), (y, dy), (v, dv))
        reached = (z + length * dz) @ (s + length * ds) + (y + length * dy) @ (v + length * dv)
        aim = mean * (reached / (mean * (columns + count))) ** 3
        dz, dy, ds, dv = step(aim - z * s - dz * ds, aim - y * v - dy * dv)
        length = min(1.0, max(0.99, 1.0 - mean) * _room((z, dz), (s, ds), (y, dy), (v, dv)))
        z, y, s, v = z + length * dz, y + length * dy, s + length * ds, v + length * dv
        lowest = min(float(values.min()) for values in (z, y, s, v))
        if not lowest > UNDERFLOW:
            break
        now, since = market.error(z, y), since + 1
        if now < least:
            best, least, since = (z, y), now, 0
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


def _room(*pairs: tuple[Floats, Floats]) -> float:
    """How far the values can go along their changes before the first of them is 0, at most 1."""
    return min(
        float(np.min(-value[change < 0] / change[change < 0], initial=1.0))
        for value, change in pairs
    )


def _apart(value: Floats, other: Floats) -> float:
    """How far from: both at least 0, one of them 0."""
    both = np.minimum(np.abs(value), np.abs(other))
    return float(np.max(np.concatenate([both, -value, -other]), initial=0.0))
