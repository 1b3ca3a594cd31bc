"""CMMF: constrained max-min fairness in one resource, as Choosy computes it."""

from __future__ import annotations

from fairlead.model.errors import InputError, Mistake
from fairlead.sharing.policy import inverse, refuse
from fairlead.sharing.problem import Floats, Problem
from fairlead.sharing.registry import policy


@policy("cmmf")
def cmmf(problem: Problem, resource: str) -> Floats:
    """The total of the resource / a task's demand of it.

    Ghodsi, Zaharia, Shenker, Stoica: Choosy, section 3. The other resources still limit what
    fits; they do not count for fairness. A job that demands nothing of the resource has no
    scale and is refused, and so is a resource that no machine has.
    """
    there = [name for name, total in zip(problem.resources, problem.total, strict=True) if total]
    if resource not in there:
        raise InputError(
            Mistake(
                f"cmmf({resource}): no machine has any `{resource}`",
                f"the machines have {', '.join(sorted(there))}",
            )
        )
    index = problem.resources.index(resource)
    demand = problem.demand[:, index]
    refuse(
        problem,
        demand == 0,
        f"demands no {resource}, so it has no share under cmmf({resource})",
        f"give it a demand of {resource}, or choose a policy that looks at all resources",
    )
    return inverse(demand) * problem.total[index]
