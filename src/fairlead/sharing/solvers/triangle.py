"""The inverse of a symmetric matrix as the inverse of its triangle, from matrix products alone."""

from __future__ import annotations

import numpy as np

from fairlead.sharing.problem.problem import Floats

# Triangles of this size are inverted at once.
_BLOCK = 64


def inverse_root(matrix: Floats) -> Floats | None:
    """W with WᵀW the inverse of a symmetric matrix, in a third of the time of the inverse itself;
    None where it is not positive definite, that is, where rounding has made it singular."""
    inverse = np.zeros(matrix.shape)
    try:
        _invert_lower(np.linalg.cholesky(matrix).astype(np.float64, copy=False), inverse)
    except np.linalg.LinAlgError:
        return None
    return inverse if bool(np.isfinite(inverse).all()) else None


def _invert_lower(lower: Floats, into: Floats) -> None:
    """The inverse of a lower triangle, block by block: nearly all of it is matrix products."""
    size = len(lower)
    if size <= _BLOCK:
        into[:] = np.linalg.inv(lower)
        return
    half = size // 2
    _invert_lower(lower[:half, :half], into[:half, :half])
    _invert_lower(lower[half:, half:], into[half:, half:])
    into[half:, :half] = -into[half:, half:] @ (lower[half:, :half] @ into[:half, :half])
