"""Stops of one resource on machines of one size, taken together: people see one kind of machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from fairlead.model.machine import Cluster
from fairlead.model.shares import MachineClass
from fairlead.sharing.analysis.explanation import Explanation, Holder, Scarce


def stops_together(
    cluster: Cluster, why: Explanation
) -> tuple[tuple[Scarce, MachineClass | None], ...]:
    """The stops with the machines that they are about. Those of a resource on classes of machines
    with the same capacities are one, with the mean price of a unit that is spread over all."""
    machine = {each.name: each for each in cluster.machines}
    group = {each.index: each for each in why.allocation.classes}
    found: dict[object, list[Scarce]] = {}
    for at, scarce in enumerate(why.scarce):
        stop = scarce.stop
        key: object = at
        if stop.resource is not None and stop.machine_class is not None and stop.tenant is None:
            capacity = machine[group[stop.machine_class].machines[0]].capacity
            key = (stop.resource, scarce.own, capacity)
        found.setdefault(key, []).append(scarce)
    return tuple(_as_one(group, several) for several in found.values())


def _as_one(
    group: Mapping[int, MachineClass], several: list[Scarce]
) -> tuple[Scarce, MachineClass | None]:
    first = several[0]
    places = [each.stop.machine_class for each in several]
    classes = [group[place] for place in places if place is not None]
    if not classes:
        return first, None
    names = tuple(name for each in classes for name in each.machines)
    if len(several) == 1:
        return first, classes[0]
    prices = (each.price * len(one.machines) for each, one in zip(several, classes, strict=True))
    return (
        replace(
            first,
            price=sum(prices) / len(names),
            total=sum(each.total for each in several),
            holders=_holders(holder for each in several for holder in each.holders),
        ),
        MachineClass(classes[0].index, names),
    )


def _holders(all_of_them: Iterable[Holder]) -> tuple[Holder, ...]:
    """Each job once, who holds most first."""
    found: dict[str, Holder] = {}
    for holder in all_of_them:
        known = found.get(holder.job)
        if known is not None:
            holder = replace(
                known, tasks=known.tasks + holder.tasks, amount=known.amount + holder.amount
            )
        found[holder.job] = holder
    return tuple(sorted(found.values(), key=lambda holder: -holder.amount))
