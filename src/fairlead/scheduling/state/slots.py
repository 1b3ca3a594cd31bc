"""Slots online: a job's share is the slots that its tasks take, of all slots there are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairlead.model.errors import InputError
from fairlead.scheduling.state.ids import Unit
from fairlead.sharing.policy import Policy, Sees, View
from fairlead.sharing.problem.problem import Floats, Problem
from fairlead.sharing.rules.mechanism import Mechanism
from fairlead.sharing.rules.registry import parse
from fairlead.sharing.rules.spec import read

NAME = "slots"


def is_named(policy: str) -> bool:
    """Does the text name this mechanism?"""
    spec = read(policy)
    return not spec.file and spec.name == NAME


def canonical(policy: str) -> str:
    """The one form of `slots(...)`. Raises InputError where it does not say what a slot is."""
    return _bundle(policy)[0].spec


def _bundle(policy: str) -> tuple[Mechanism, dict[str, float]]:
    """The mechanism, and how much of each resource a slot has."""
    mechanism = parse(policy)
    amounts: dict[str, float] = getattr(getattr(mechanism, "allocate", None), "keywords", {})
    if not isinstance(mechanism, Mechanism) or not amounts:
        raise InputError("`slots` does not say what a slot is", "write for example slots(cpu=1)")
    return mechanism, amounts


def online(policy: str | Policy, units: Sequence[Unit]) -> str | Policy:
    """`slots(cpu=1, memory=4GiB)` as a policy with a scale; any other policy as it is.

    A machine has as many slots as it holds bundles, whole ones, and a task takes as many as its
    demand needs bundles, at least one (Ghodsi et al.: Dominant Resource Fairness, sections 2 and
    7). Only the order follows slots: tasks take what they demand, so nothing is oversubscribed.
    """
    if isinstance(policy, Policy) or not is_named(policy):
        return policy
    mechanism, amounts = _bundle(policy)
    names = [unit.name for unit in units]
    for name, amount in amounts.items():
        if name not in names:
            known = ", ".join(names)
            raise InputError(f"slots: nothing counts `{name}`", f"there is {known}")
        if not 0 < amount < np.inf:
            raise InputError(f"slots: {name}={amount:g}", "write more than 0")
    size = np.array(
        [amounts.get(unit.name, np.inf) / float(unit.unit) for unit in units], np.float64
    )

    def scale(problem: Problem) -> Floats:
        slots = np.floor((problem.capacity / size)[:, np.isfinite(size)].min(axis=1))
        takes = np.maximum(1.0, np.ceil((problem.demand / size).max(axis=1)))
        scale: Floats = (slots @ problem.count) / takes
        return scale

    return Policy(mechanism.spec, View.MACHINES, scale, sees=Sees.ALL)
