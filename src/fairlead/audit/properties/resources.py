"""Resource monotonicity: when the cluster gets more, nobody has less (DRF, section 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fairlead.audit.finding import Added, Change, Finding, Grown, Input
from fairlead.audit.outcome import Options, Outcome, Shown
from fairlead.audit.properties.base import Property, not_found, violated
from fairlead.audit.properties.tenant_shares import falls
from fairlead.audit.properties.try_changes import sample, try_changes
from fairlead.audit.properties.useless_machines import demanded, new_name, shapes_of
from fairlead.model.machine import Machine

NAME = "resource-monotonicity"


def check(outcome: Outcome, options: Options) -> Finding:
    """Whether anybody falls when there is one more machine like one that there is, or when one of
    the machines gets twice as much of a resource."""
    changes = list(_more(outcome.input))
    some = sample(changes, options.trials, options.seed)
    done = try_changes(outcome, some, _when, options.go_on)
    seed = None if len(changes) <= options.trials else options.seed
    note = (
        ""
        if seed is None and done.all
        else f"{done.trials} of {len(changes)} ways to add were tried"
    )
    counts = (("changes", done.trials), ("violations", len(done.found)))
    if done.found:
        return violated(
            NAME, outcome, done.found, trials=done.trials, seed=seed, note=note, counts=counts
        )
    return not_found(NAME, outcome, done.trials, seed=seed, note=note, counts=counts)


def measure(outcome: Outcome, changed: Outcome | None, who: tuple[str, ...]) -> Shown | None:
    """The tenant's tasks or share before there was more, and after."""
    return None if changed is None else _when(outcome, changed, who[0])


def _when(before: Outcome, after: Outcome, tenant: str) -> Shown | None:
    old = {machine.name: machine for machine in before.input.cluster.machines}
    new = [m for m in after.input.cluster.machines if old.get(m.name) != m]
    if len(new) != 1:
        return None
    what = "gets more" if new[0].name in old else "is added"
    return falls(before, after, tenant, f"when {new[0].name} {what}")


def _more(given: Input) -> Iterator[Change]:
    name = new_name(given)
    shapes = shapes_of(given)
    for machine in shapes:
        yield Added(replace(machine, name=name), like=machine.name)
    for machine in shapes:
        for resource in demanded(given):
            if resource in machine.capacity:
                capacity = {**machine.capacity, resource: 2 * machine.capacity[resource]}
                yield Grown(Machine(machine.name, capacity, machine.labels))


PROPERTY = Property(NAME, "when the cluster gets more, nobody has less", check, measure)
