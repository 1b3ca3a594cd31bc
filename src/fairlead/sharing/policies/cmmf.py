"""CMMF: constrained max-min fairness in one resource, as Choosy computes it."""

from __future__ import annotations

from fairlead.model.errors import InputError
from fairlead.sharing.policy import Sees, demand_of, inverse, refuse
from fairlead.sharing.problem.problem import Floats, Problem
from fairlead.sharing.rules.registry import policy


@policy("cmmf", sees=Sees.ALL)
def cmmf(problem: Problem, resource: str) -> Floats:
    """The total of the resource / a task's demand of it.

    Ghodsi, Zaharia, Shenker, Stoica: Choosy, section 3. The other resources still limit what
    fits; they do not count for fairness. A job that demands nothing of the resource has no
    scale and is refused, and so is a resource that no machine has.
    """
    demand = demand_of(problem, resource)
    total = problem.total[problem.resources.index(resource)]
    if total == 0:
        raise InputError(
            f"cmmf({resource}): no machine has any `{resource}`", "choose another resource"
        )
    refuse(
        problem,
        demand == 0,
        f"demands no {resource}, so it has no share under cmmf({resource})",
        f"give it a demand of {resource}, or choose a policy that looks at all resources",
    )
    scale: Floats = inverse(demand) * total
    return scale
