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
    if not problem.job_names:
        return problem.alone
    if resource not in problem.resources:
        raise InputError(
            Mistake(
                f"cmmf({resource}): no job demands any `{resource}`, so no job has a share",
                f"jobs demand {', '.join(problem.resources)}",
            )
        )
    index = problem.resources.index(resource)
    demand, total = problem.demand[:, index], problem.total[index]
    if total == 0:
        raise InputError(
            Mistake(f"cmmf({resource}): no machine has any `{resource}`", "choose another resource")
        )
    refuse(
        problem,
        demand == 0,
        f"demands no {resource}, so it has no share under cmmf({resource})",
        f"give it a demand of {resource}, or choose a policy that looks at all resources",
    )
    scale: Floats = inverse(demand) * total
    return scale
