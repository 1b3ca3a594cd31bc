"""What is asked of an answer: that there is one, that it is right, and always the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

import fairlead
from fairlead.model.allocation import Allocation
from fairlead.model.errors import FairleadError, InputError
from fairlead.model.machine import Cluster, Machine
from fairlead.model.reading import read
from fairlead.model.values import FrozenMap
from fairlead.model.writing import write
from fairlead.sharing import allocate as sharing
from tests.reference.filling import Looks, exact_shares
from tests.reference.policies import POLICIES
from tests.search.kinds import Input

# The reference looks at every machine by itself and computes in fractions of Python.
_FEW, _MACHINES = 8, 14
_UNITS = {
    "cpu": Fraction(1000),
    "memory": Fraction(1, 2**20),
    "gpu": Fraction(100),
    "disk": Fraction(3),
}


@dataclass(frozen=True)
class Finding:
    """What is wrong, in a sentence; `what` is the same for whatever is wrong in the same way."""

    what: str
    sentence: str


def policies_for(case: Input) -> list[str]:
    """The policies that are defined for an input."""
    cluster, jobs = case
    plain = not any(job.tasks is not None for job in jobs) and not any(
        tenant.limit for tenant in cluster.tenants
    )
    demanded = [{resource for resource, need in job.demand.items() if need} for job in jobs]
    by_all = set.intersection(*demanded)
    return [
        name
        for name, known in POLICIES.items()
        if known.takes(case)
        and (plain or known.looks is not Looks.EACH)
        and (known.kind.zeros or len(by_all) >= known.resources)
        and all(word in by_all for word in ("cpu", "memory", "gpu") if word in name)
    ]


def ask(case: Input, policy: str, random: Random) -> Finding | None:
    """What is wrong with the answer; None where nothing is."""
    cluster, jobs = case
    try:
        answer = sharing.allocate(cluster, jobs, policy)
    except InputError as error:
        return Finding("refused", f"refused: {error}")
    except (FairleadError, AssertionError, ArithmeticError, LookupError, ValueError) as error:
        return Finding(f"failed {type(error).__name__}", f"{type(error).__name__}: {error}")
    if answer.certificate is None or not answer.certificate.exact:
        return Finding("not exact", "the answer is not proved exactly")
    return (
        _by_the_reference(case, policy, answer)
        or _after_a_file(case, answer)
        or _another_way(case, policy, answer, random)
    )


def _by_the_reference(case: Input, policy: str, answer: Allocation) -> Finding | None:
    cluster, jobs = case
    if len(jobs) > _FEW or len(cluster.machines) > _MACHINES:
        return None
    known = POLICIES[policy]
    right = exact_shares(cluster, jobs, known.scale, known.looks).tasks
    for name, tasks in answer.unrounded.tasks.items():
        if tasks != right[name]:
            return Finding("wrong", f"job {name} gets {tasks} tasks, and should get {right[name]}")
    return None


def _after_a_file(case: Input, answer: Allocation) -> Finding | None:
    """The answer to what is read from the file that the input was written to, and its proof."""
    cluster, jobs = read([("input", write(*case))])
    assert answer.proof is not None
    try:
        fairlead.verify(cluster, jobs, answer.proof)
    except FairleadError as error:
        return Finding("proof refused", f"its proof is refused: {error}")
    return None


def _another_way(case: Input, policy: str, answer: Allocation, random: Random) -> Finding | None:
    """The same input in another order and in other units has the same answer."""
    cluster, jobs = case

    def units(amounts: Mapping[str, Fraction]) -> dict[str, Fraction]:
        return {name: amount * _UNITS[name] for name, amount in amounts.items()}

    machines = [Machine(m.name, units(m.capacity), m.labels) for m in cluster.machines]
    tenants = [replace(tenant, limit=FrozenMap(units(tenant.limit))) for tenant in cluster.tenants]
    mixed = [replace(job, demand=FrozenMap(units(job.demand))) for job in jobs]
    for each in (machines, tenants, mixed):
        random.shuffle(each)
    try:
        again = sharing.allocate(Cluster(machines, tenants), mixed, policy)
    except FairleadError as error:
        return Finding("another way", f"in another order and other units: {error}")
    for name, tasks in answer.unrounded.tasks.items():
        if again.unrounded.tasks[name] != tasks:
            return Finding(
                "another way",
                f"job {name} gets {float(tasks)!r} tasks, and in another order and other units"
                f" {float(again.unrounded.tasks[name])!r}",
            )
    return None
