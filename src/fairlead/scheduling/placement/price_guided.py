"""Price guided: the pairs of job and machine that the exact allocation uses come first."""

from __future__ import annotations

from fairlead.scheduling.kernels.memory.state import Handle
from fairlead.scheduling.kernels.room.fits import left_over, left_sign

GUIDED = True


def price_guided(s: Handle, j: int, m: int) -> float:
    """The best fit among the machines that the advice likes equally well.

    Most of the rule is not in the score, for the score chooses a machine, and under load one
    machine is free at a time: the advice ranks pairs, and the core serves pairs of rank 0 first, in
    the order of levels, then those of rank 1, and so on, within a rank the one furthest below its
    target (`fairlead.scheduling.advice`, `AdviceChanged`). Ranks are the reduced costs of a linear
    program's columns by the prices of its optimum; that a good online allocation follows the
    prices is Buchbinder and Naor, The design of competitive online algorithms via a primal-dual
    approach (2009). TSF's paper needs it for Table II, where job 4 must leave nodes to job 3.
    """
    return left_over(s, j, m)


def compare(s: Handle, j: int, a: int, b: int) -> int:
    """The sign of the first machine's score less the second's, without rounding."""
    return left_sign(s, j, a, b, 0)
