"""k-DF: the product of the k largest resource shares, weighted by resource; 2-DF is k = 2."""

from __future__ import annotations

import numpy as np

from fairlead.model.errors import InputError
from fairlead.sharing.numbers.amounts import rationals
from fairlead.sharing.policy import Sees, demand_of, inverse, refuse, resource_shares
from fairlead.sharing.problem.problem import Floats, Problem
from fairlead.sharing.rules.registry import policy


def _check(k: int = 2, **weight: float) -> None:
    if k < 1:
        raise InputError(f"k-DF with k = {k}", "k must be 1 or more")
    for name, value in weight.items():
        if not (0 < value < np.inf):
            given = f"k-DF is given the weight {name}={value:g}"
            raise InputError(given, "a weight must be a positive finite number")


@policy("kdf", poolable=True, sees=Sees.ALL, check=_check)
def kdf(problem: Problem, k: int, **weight: float) -> Floats:
    """1 / the product of the k largest shares of a task, each times its resource's weight.

    Jiang, Wu: Multi-resource allocation in cloud data centers, section 4.5. Equal shares count
    as often as they occur, a share of zero not at all: a job that demands fewer than k resources
    is refused. Of equal shares the one with the larger weight comes first.
    """
    for name in weight:
        demand_of(problem, name)
    shares = resource_shares(problem)
    refuse(
        problem,
        (shares > 0).sum(axis=1) < k,
        f"demands fewer than {k} resources, so it has no share under k-DF with k = {k}",
        "give it more demands, or choose a smaller k or another policy",
    )
    factor = np.array([weight.get(name, 1.0) for name in problem.resources])
    if shares.dtype == object:  # rationals: the order of their numbers is what counts
        size = np.unique(shares, return_inverse=True)[1].reshape(shares.shape)
        exact = np.array(rationals(factor), dtype=object)
    else:
        # Rounded, so that shares that are equal but for the last bits count as equal: otherwise
        # writing a resource in another unit could choose another weight.
        size = np.log(shares, out=np.full_like(shares, -np.inf), where=shares > 0).round(11)
        exact = factor
    order = np.lexsort((np.broadcast_to(factor, shares.shape), size), axis=1)
    largest = order[:, -k:]
    return inverse((np.take_along_axis(shares, largest, axis=1) * exact[largest]).prod(axis=1))


@policy("2df", poolable=True, sees=Sees.ALL, check=_check)
def two_df(problem: Problem, **weight: float) -> Floats:
    """1 / the product of the two largest shares of a task (section 4.2 of the k-DF paper)."""
    return kdf(problem, 2, **weight)
