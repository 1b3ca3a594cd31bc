"""Holders of the machines that a job could run on: which tenants have tasks there, and how much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fairlead.model.values import FrozenMap
from fairlead.scheduling.core import Core
from fairlead.scheduling.reading.machine_room import could_run
from fairlead.scheduling.reading.present import owner_names
from fairlead.scheduling.state.rows import tasks_held


@dataclass(frozen=True, slots=True)
class Holder:
    """A tenant's tasks on these machines, and what they hold there of what the job demands."""

    tenant: str
    tasks: int
    amounts: FrozenMap[Fraction]


def find_holders(core: Core, slot: int, display_name: Callable[[str], str] = str) -> list[Holder]:
    """Finds who holds the machines that are up and could run the job in this slot if they were
    empty, most tasks first; its own tenant too. `display_name`: what a reader is
    told of a job's name."""
    state = core.state
    machines = could_run(core, slot)
    held = state.task[tasks_held(state)]
    jobs, counts = np.unique(held["job"][machines[held["machine"]]], return_counts=True)
    wanted = np.flatnonzero(state.demand[slot]).tolist()
    tasks: dict[str, int] = {}
    amounts: dict[str, list[int]] = {}
    for name, job, count in zip(
        owner_names(core, jobs, display_name), jobs.tolist(), counts.tolist(), strict=True
    ):
        tasks[name] = tasks.get(name, 0) + count
        before = amounts.setdefault(name, [0] * len(wanted))
        for at, r in enumerate(wanted):
            before[at] += count * int(state.demand[job, r])
    units = [core.ids.units[r] for r in wanted]
    order = sorted(tasks, key=lambda name: (-tasks[name], name))
    return [
        Holder(
            name,
            tasks[name],
            FrozenMap(
                {
                    unit.name: many * unit.unit
                    for unit, many in zip(units, amounts[name], strict=True)
                }
            ),
        )
        for name in order
    ]
