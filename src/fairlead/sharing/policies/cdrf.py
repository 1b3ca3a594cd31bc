"""Constrained CDRF: as TSF, but the tasks alone are counted on the machines the job may use."""

from __future__ import annotations

from fairlead.sharing.policy import Sees
from fairlead.sharing.problem.problem import Floats, Problem
from fairlead.sharing.rules.registry import policy


@policy("cdrf", sees=Sees.THEIR_SUM)
def cdrf(problem: Problem) -> Floats:
    """The tasks that each job could run alone on the machines that it may use.

    Friedman, Ghodsi, Psomas: Strategyproof allocation of discrete jobs on multiple machines,
    section 3 (utilities over stand-alone numbers), with constraints as the TSF paper adds them
    (section III). A job gains by claiming machines that it cannot use (TSF paper, Figure 2).
    """
    return problem.alone_allowed
