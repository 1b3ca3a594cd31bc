"""Whole tasks in exact units: what stands on machines, in each allocation that may be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm

import numpy as np

from fairlead.audit.finding import Input
from fairlead.model.allocation import Allocation
from fairlead.model.shares import MachineClass
from fairlead.model.wholes import Packing
from fairlead.sharing.certificate.arrays import Classes, Floats, Seen

Row = tuple[int, ...]
"""Whole tasks (J,) on one machine."""


@dataclass(frozen=True)
class Drawn:
    """One allocation of whole tasks, with the probability of being drawn (1 where nothing is)."""

    probability: float
    tasks: Floats  # (J, C)
    machines: Floats  # (J, C) the machines of a class that hold some task of the job
    packings: tuple[tuple[int, Row, float], ...]  # class, tasks, on so many machines
    chance: Fraction  # the probability, exactly
    rooms: dict[tuple[int, int], tuple[Fraction, Fraction]]  # tasks and machines by job and class


def in_units(
    given: Input, seen: Seen, named: Sequence[MachineClass], classes: Classes
) -> tuple[Seen, Classes, tuple[int, ...]]:
    """The same in whole numbers: every amount in multiples of its resource's unit, which comes
    third. A machine holds whole tasks, and a job runs where a machine holds one of them.

    Amounts are below 2^53 units, or nothing shares them as whole tasks: so a quotient rounded down
    is exact.
    """
    by_name = {job.name: job for job in given.jobs}
    machines = {machine.name: machine for machine in given.cluster.machines}
    jobs = [by_name[name] for name in seen.names]
    first = [machines[each.machines[0]] for each in named]
    units, demand, capacity = [], [], []
    for name in seen.resources:
        needs = [job.demand.get(name, Fraction(0)) for job in jobs]
        has = [machine.capacity.get(name, Fraction(0)) for machine in first]
        unit = lcm(*(amount.denominator for amount in (*needs, *has)))
        units.append(unit)
        demand.append([float(amount * unit) for amount in needs])
        capacity.append([float(amount * unit) for amount in has])
    exact = replace(seen, demand=_columns(demand, len(jobs)))
    amounts = _columns(capacity, len(first))
    holds = np.full(classes.holds.shape, np.inf)
    for r in range(len(units)):
        needy = np.flatnonzero(exact.demand[:, r])
        fit = amounts[None, :, r] // exact.demand[needy, r, None]
        holds[needy] = np.minimum(holds[needy], fit)
    holds[seen.spread] = np.minimum(holds[seen.spread], 1.0)
    whole = replace(classes, capacity=amounts, holds=holds, usable=classes.usable & (holds >= 1))
    return exact, whole, tuple(units)


def _columns(rows: Sequence[Sequence[float]], length: int) -> Floats:
    return np.array(rows, dtype=float).reshape(len(rows), length).T.copy()


def all_drawn(allocation: Allocation, seen: Seen, classes: Classes) -> tuple[Drawn, ...]:
    """The allocations of the lottery; the only one where there is no lottery."""
    whole = allocation.whole
    assert whole is not None  # what shares whole tasks says where they are
    if not whole.lottery:
        return (_read_drawn(Fraction(1), whole.packings, seen, classes),)
    return tuple(
        _read_drawn(chance.probability, chance.packings, seen, classes) for chance in whole.lottery
    )


def _read_drawn(
    probability: Fraction, packings: Sequence[Packing], seen: Seen, classes: Classes
) -> Drawn:
    tasks = np.zeros(classes.usable.shape)
    machines = np.zeros(classes.usable.shape)
    rows = []
    rooms: dict[tuple[int, int], tuple[Fraction, Fraction]] = {}
    for packing in packings:
        at, number = classes.column[packing.machine_class], float(packing.machines)
        row = [0] * len(seen.names)
        for name, count in packing.jobs:
            row[seen.job[name]] = count
            tasks[seen.job[name], at] += count * number
            machines[seen.job[name], at] += number
            if count:
                some, on = rooms.get((seen.job[name], at), (Fraction(0), Fraction(0)))
                more = some + count * packing.machines
                rooms[seen.job[name], at] = more, on + packing.machines
        rows.append((at, tuple(row), number))
    return Drawn(float(probability), tasks, machines, tuple(rows), probability, rooms)
