"""TSF: task share fairness, the tasks that run against those that could run alone."""

from __future__ import annotations

from fairlead.sharing.policy import Sees
from fairlead.sharing.problem.problem import Floats, Problem
from fairlead.sharing.rules.registry import policy


@policy("tsf", sees=Sees.ALL)
def tsf(problem: Problem) -> Floats:
    """The tasks that each job could run alone in the cluster, constraints ignored.

    Wang, Li, Liang, Li: Multi-resource fair sharing for datacenter jobs with placement
    constraints, section IV (task share n/h). That constraints are ignored is what makes lying
    about them pointless (their Theorem 3).
    """
    return problem.alone
