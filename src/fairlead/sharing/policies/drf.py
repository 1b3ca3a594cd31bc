"""DRF: the dominant share, with the whole cluster as one machine."""

from __future__ import annotations

from fairlead.sharing.policies.drfh import drfh
from fairlead.sharing.policy import Sees, View
from fairlead.sharing.problem.problem import Floats, Problem
from fairlead.sharing.rules.registry import policy


@policy("drf", view=View.POOLED, sees=Sees.ALL)
def drf(problem: Problem) -> Floats:
    """1 / the dominant share of a task: the largest part of any resource that it takes.

    Ghodsi et al.: Dominant Resource Fairness, section 4. One machine holds everything and every
    job may use it, so the answer may not fit the real machines.
    """
    return drfh(problem)
