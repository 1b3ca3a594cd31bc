"""DRFH: the dominant share of the whole cluster's resources, filled on the real machines."""

from __future__ import annotations

from fairlead.sharing.policy import Sees, inverse, resource_shares
from fairlead.sharing.problem.problem import Floats, Problem
from fairlead.sharing.rules.registry import policy


@policy("drfh", sees=Sees.ALL)
def drfh(problem: Problem) -> Floats:
    """1 / the largest part of any of the cluster's resources that a task takes.

    Wang, Li, Liang: Dominant resource fairness in cloud computing systems with heterogeneous
    servers, as the TSF paper (section III) and the CDRF paper (section 3.1) describe it.
    """
    return inverse(resource_shares(problem).max(axis=1, initial=0))
