"""Placement rules' scores of a machine for a job, each written from its definition, in
fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tests.reference.online_state import PlainJob, PlainMachine, World, room

Score = Callable[[World, PlainJob, PlainMachine], Fraction]


def first_fit(world: World, job: PlainJob, machine: PlainMachine) -> Fraction:
    """All machines are alike; the one that joined first is taken."""
    del world, job, machine
    return Fraction(0)


def best_fit(world: World, job: PlainJob, machine: PlainMachine) -> Fraction:
    """The rest of the resources that the job demands, as parts of the machine, added up."""
    free = room(world, machine).free
    total = Fraction(0)
    for r, d in enumerate(job.demand):
        if d > 0:
            total += Fraction(free[r] - d, machine.capacity[r])
    return total


def worst_fit(world: World, job: PlainJob, machine: PlainMachine) -> Fraction:
    """The opposite: the machine with most left."""
    return -best_fit(world, job, machine)


def alignment(world: World, job: PlainJob, machine: PlainMachine) -> Fraction:
    """Minus the product of what is demanded and what is free, in parts of the machine."""
    free = room(world, machine).free
    product = Fraction(0)
    for r, d in enumerate(job.demand):
        if d > 0:
            product += Fraction(d * free[r], machine.capacity[r] ** 2)
    return -product


def scarce_last(world: World, job: PlainJob, machine: PlainMachine) -> Fraction:
    """How rare the resources and labels are that the machine has, added up: of each the sixteenths
    of a doubling from the machines that have it up to all. Among equals the best fit."""
    there = [m for m in world.machines if m.present]
    scarcity = 0
    for r, amount in enumerate(machine.capacity):
        if amount > 0:
            scarcity += _rarity(sum(m.capacity[r] > 0 for m in there), len(there))
    for key, label in machine.machine.labels.items():
        alike = sum(key in m.machine.labels and m.machine.labels[key] == label for m in there)
        scarcity += _rarity(alike, len(there))
    return 2 * len(world.measures) * scarcity + best_fit(world, job, machine)


def _rarity(count: int, present: int) -> int:
    """The least k for which 2^(k / 16) times the count is no less than all."""
    k = 0
    while count**16 * 2**k < present**16:
        k += 1
    return k


SCORES: dict[str, Score] = {
    "first-fit": first_fit,
    "best-fit": best_fit,
    "worst-fit": worst_fit,
    "alignment": alignment,
    "scarce-last": scarce_last,
    "price-guided": best_fit,
}
