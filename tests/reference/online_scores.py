"""Placement rules' scores of a machine for a job, each written from its definition, in
fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from fairlead.scheduling.state.terms import Term, satisfies, terms_of
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
    """How many machines lack the rarest thing that this one has and the job does not ask for: a
    resource, or one of the terms that any job asks for. Among equals the best fit."""
    there = [m for m in world.machines if m.present]
    scarcity = 0
    for r, d in enumerate(job.demand):
        if d == 0 and machine.capacity[r] > 0:
            scarcity = max(scarcity, sum(1 for m in there if m.capacity[r] == 0))
    for term in {t: 1 for j in world.jobs if not world.over(j) for t in _asked(j)}:
        if term not in _asked(job) and satisfies(machine.machine, term):
            scarcity = max(scarcity, sum(1 for m in there if not satisfies(m.machine, term)))
    return 2 * len(world.measures) * scarcity + best_fit(world, job, machine)


def _asked(job: PlainJob) -> tuple[Term, ...]:
    """The terms that a job needs or prefers."""
    wanted = job.job
    needed = terms_of(wanted.where, wanted.machines, wanted.exclude)
    return (*needed, *wanted.prefer.requirements)


SCORES: dict[str, Score] = {
    "first-fit": first_fit,
    "best-fit": best_fit,
    "worst-fit": worst_fit,
    "alignment": alignment,
    "scarce-last": scarce_last,
    "price-guided": best_fit,
}
