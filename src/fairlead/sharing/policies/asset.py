"""Asset fairness: what a task takes of every resource, added up."""

from __future__ import annotations

from fairlead.sharing.policy import Sees, inverse, resource_shares
from fairlead.sharing.problem.problem import Floats, Problem
from fairlead.sharing.rules.registry import policy


@policy("asset", poolable=True, sees=Sees.ALL)
def asset(problem: Problem) -> Floats:
    """1 / the sum of the parts of the cluster's resources that a task takes.

    Ghodsi et al.: Dominant Resource Fairness, section 5 (a percent of one resource is worth a
    percent of another). The paper's own case, one machine that holds everything, is
    `asset(pooled=true)`.
    """
    return inverse(resource_shares(problem).sum(axis=1))
