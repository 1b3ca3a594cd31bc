"""Machines as a table for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairlead.cli.common.remote import count, time_of_day
from fairlead.cli.common.screen import Screen, table
from fairlead.model.words import amounts, escaped
from fairlead.wire.machines import MachineRow


def lines(machines: Sequence[MachineRow], screen: Screen) -> Iterator[str]:
    """A line for each machine: what is used of what it has, and its labels."""
    if not machines:
        yield "no machine"
        return
    resources = list(dict.fromkeys(name for each in machines for name in each.capacity))
    rows = []
    for machine in machines:
        state = machine.state.value
        if machine.quarantine is not None:
            state += f" until {time_of_day(machine.quarantine.until)}"
        rows.append(
            [
                escaped(machine.name),
                state,
                count(machine.tasks),
                *(describe_use(machine, resource) for resource in resources),
                ", ".join(f"{key}={value}" for key, value in machine.labels.items()),
            ]
        )
    header = ["machine", "state", "tasks", *resources, "labels"]
    yield from table(header, rows, "<<>" + ">" * len(resources) + "<", screen)
    for machine in machines:
        why = machine.problem or (machine.quarantine.why if machine.quarantine else "")
        if why:
            yield f"{escaped(machine.name)}: {escaped(why)}"


def describe_use(machine: MachineRow, resource: str) -> str:
    """The amount of a resource in use, and the whole."""
    from decimal import Decimal

    if resource not in machine.capacity:
        return "-"
    has = Decimal(machine.capacity[resource])
    free = Decimal(machine.free.get(resource, machine.capacity[resource]))
    taken, whole = amounts([float(has - free), float(has)], 4)
    return f"{taken}/{whole}"
