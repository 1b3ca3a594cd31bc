"""Which of two machines a built-in rule likes better, exactly: from amounts, which are integers."""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner, small
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.numbers.fractions import put_part, put_product, sign_of


@small
def same(s: Handle, j: int, a: int, b: int) -> bool:
    """Have two machines the same, and as much of it free, of all that a job demands?"""
    for r in range(s.demand.shape[1]):
        if s.demand[j, r] > 0 and (
            s.free[a, r] != s.free[b, r] or s.capacity[a, r] != s.capacity[b, r]
        ):
            return False
    return True


@small
def left_over(s: Handle, j: int, m: int) -> float:
    """The resources that a task demands, as far as it would leave them on a machine: each in parts
    of the machine's capacity, added up in their order."""
    left = 0.0
    for r in range(s.demand.shape[1]):
        need = s.demand[j, r]
        if need > 0:
            left += (s.free[m, r] - need) / s.capacity[m, r]
    return left


@small
def scarcity_part(s: Handle, m: int) -> int:
    """The amount that the scarcity of a machine adds to a score, so that one step of it outweighs
    all that may be left: at most 1 of each resource."""
    return 2 * s.demand.shape[1] * s.scarcity[m]


@inner
def left_sign(s: Handle, j: int, a: int, b: int, whole: int) -> int:
    """The sign of `whole` and what would be left on machine a after a task of the job, less what
    would be on b: of all resources that it demands, in parts of each machine."""
    if same(s, j, a, b):
        return int64(np.sign(whole))
    most = 2 * s.demand.shape[1]
    ones, twos, below = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    size = 0
    for r in range(s.demand.shape[1]):
        need, of_a, of_b = s.demand[j, r], s.capacity[a, r], s.capacity[b, r]
        if need == 0:
            continue
        if of_a == of_b:
            whole += put_part(ones, twos, below, size, s.free[a, r] - s.free[b, r], of_a)
            size += 1
        else:
            whole += put_part(ones, twos, below, size, s.free[a, r] - need, of_a)
            whole += put_part(ones, twos, below, size + 1, need - s.free[b, r], of_b)
            size += 2
    return sign_of(whole, ones, twos, below, size)


@inner
def product_sign(s: Handle, j: int, a: int, b: int) -> int:
    """The sign of the dot product of a job's demand and what is free on machine a, both in parts of
    the machine, less that on b."""
    if same(s, j, a, b):
        return int64(0)
    most = 2 * s.demand.shape[1]
    ones, twos, below = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    size, whole = 0, int64(0)
    for r in range(s.demand.shape[1]):
        need, of_a, of_b = s.demand[j, r], s.capacity[a, r], s.capacity[b, r]
        if need == 0:
            continue
        if of_a == of_b:
            more = s.free[a, r] - s.free[b, r]
            whole += put_product(ones, twos, below, size, need, more, of_a)
            size += 1
        else:
            whole += put_product(ones, twos, below, size, need, s.free[a, r], of_a)
            whole += put_product(ones, twos, below, size + 1, need, -s.free[b, r], of_b)
            size += 2
    return sign_of(whole, ones, twos, below, size)
