"""Per-machine DRF: DRF on every machine by itself."""

from __future__ import annotations

from fairlead.sharing.policies.drfh import drfh
from fairlead.sharing.policy import View
from fairlead.sharing.problem.problem import Floats, Problem
from fairlead.sharing.rules.registry import policy


@policy("per-machine-drf", view=View.EACH_MACHINE)
def per_machine_drf(problem: Problem) -> Floats:
    """1 / the dominant share of a task in the one machine that the problem holds.

    The naive extension of DRF in section III of the TSF paper and section 3.1 of the CDRF
    paper: every machine is fair by itself, and the cluster as a whole may be used badly.
    """
    return drfh(problem)
