"""Markets by a conic solver: the largest weighted sum of logarithms under linear rows."""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from fairlead.model.errors import SolverError
from fairlead.sharing.problem import Floats, Ints

# Proximal term of the polish: large enough for a stable factorisation of a singular system, small
# enough that a Newton step loses nothing that the next one does not mend.
PROXIMAL = 1e-9
POLISH_ROUNDS = 60
ACCURATE = 1e-13


def maximise_logs(
    buyer: Ints, weight: Floats, row: Ints, column: Ints, coefficient: Floats, rows: int
) -> tuple[Floats, Floats]:
    """The amount of each column and the multiplier of each row at the largest sum over the buyers
    of weight * log(sum of the amounts in the buyer's columns).

    `buyer` names each column's buyer. Row i, given by its entries, adds up to at most 1; amounts
    are at least 0. The columns should be scaled so that every buyer's sum is of the order of 1,
    and the weights to a mean of 1. The solver's answer is polished by Newton's method on the
    optimality conditions of the columns and rows that it found to matter. How good the answer is,
    the caller has to check.
    """
    matrix = sparse.csr_array((coefficient, (row, column)), shape=(rows, len(buyer)))
    amount, multiplier = _interior(buyer, weight, matrix)
    return _polished(buyer, weight, matrix, amount, multiplier)


def _interior(
    buyer: Ints, weight: Floats, rows: sparse.csr_array
) -> tuple[Floats, Floats]:
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
            sparse.hstack(
                [-sparse.eye_array(columns), sparse.csr_array((columns, buyers))]
            ),
            cone,
        ]
    ).tocsc()
    right = np.concatenate([np.ones(rows.shape[0]), np.zeros(columns), np.tile([0.0, 1.0, 0.0], buyers)])
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


def _polished(
    buyer: Ints, weight: Floats, rows: sparse.csr_array, amount: Floats, multiplier: Floats
) -> tuple[Floats, Floats]:
    """The best point met by Newton's method on the columns and rows that matter; which these are
    is corrected as signs show that they were chosen wrongly."""
    columns = len(buyer)
    sums = sparse.csr_array((np.ones(columns), (buyer, np.arange(columns))))
    best, best_error = (amount, multiplier), np.inf
    z, y = amount, multiplier
    support = active = np.zeros(0, dtype=bool)
    for attempt in range(POLISH_ROUNDS):
        u = sums @ z
        part = z / u[buyer]
        loss = (rows.T @ y) * (u / weight)[buyer] - 1.0
        slack = 1.0 - rows @ z
        worth = y / weight.sum()
        error = max(_complement(part, loss), _complement(worth, slack))
        if error < best_error:
            best, best_error = (np.maximum(z, 0.0), np.maximum(y, 0.0)), error
        if error < ACCURATE:
            break
        if attempt == 0:
            support, active = part > loss, worth > slack
        else:
            support = (support & (part > 0)) | (~support & (loss < -ACCURATE))
            active = (active & (worth > 0)) | (~active & (slack < -ACCURATE))
        z, y = np.where(support, z, 0.0), np.where(active, y, 0.0)
        u = sums @ z
        if not (u > 0).all():
            break
        s, a = np.flatnonzero(support), np.flatnonzero(active)
        local, group = rows[a][:, s], sums[:, s]
        curve = group.T @ sparse.diags_array(weight / u**2) @ group
        system = sparse.block_array(
            [
                [curve + PROXIMAL * sparse.eye_array(len(s)), local.T],
                [local, -PROXIMAL * sparse.eye_array(len(a))],
            ]
        )
        residual = np.concatenate([(weight / u)[buyer[s]] - local.T @ y[a], 1.0 - local @ z[s]])
        step = splu(sparse.csc_matrix(system)).solve(residual)
        # A step that would empty a buyer is cut short: the logarithm has no value there.
        change = sums[:, s] @ step[: len(s)]
        length = min(1.0, 0.9 / max(float(np.max(-change / u)), 1e-300))
        z[s] += length * step[: len(s)]
        y[a] += length * step[len(s) :]
    return best


def _complement(value: Floats, other: Floats) -> float:
    """How far from: both at least 0, one of them 0."""
    both = np.minimum(np.abs(value), np.abs(other))
    return float(np.max(np.concatenate([both, -value, -other]), initial=0.0))
