"""Shares of jobs, and their sums over the tree of tenants."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from fairlead.sharing.problem.problem import Floats, Ints

Number = TypeVar("Number", bound=np.generic)


def shares_of(tasks: Ints | Floats, scale: Floats) -> Floats:
    """(J,) tasks ÷ scale, 0 where a job has no scale."""
    return np.divide(tasks, scale, out=np.zeros(len(tasks)), where=scale > 0)


def sum_over_tree(values: npt.NDArray[Number], owner: Ints, parent: Ints) -> npt.NDArray[Number]:
    """(T, …) sums of the rows (J, …) of each tenant's jobs and of those below it. A job whose owner
    is -1 counts nowhere; a tenant comes after its parent."""
    total = np.zeros((len(parent), *values.shape[1:]), values.dtype)
    owned = owner >= 0
    np.add.at(total, owner[owned], values[owned])
    for t in range(len(parent) - 1, -1, -1):
        if parent[t] >= 0:
            total[parent[t]] += total[t]
    return total
