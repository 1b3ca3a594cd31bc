"""Machines that nobody can use: dropped or added, they should change nothing.

Two kinds, which policies tell apart. On a *dummy* machine nothing fits by size (Friedman, Ghodsi
and Psomas, section 3.1, independence of dummy machines). A *forbidden* one is large enough for
somebody, and constraints close it to everybody whom it could hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from fairlead.audit.change import apply
from fairlead.audit.finding import Added, Change, Finding, Input, Removed
from fairlead.audit.outcome import Options, Outcome, Shown
from fairlead.audit.properties.base import Property, not_applicable, not_found, violated
from fairlead.audit.properties.tenant_shares import moves
from fairlead.audit.properties.try_changes import sample, try_changes
from fairlead.model.eligibility import holds as holds_tasks
from fairlead.model.eligibility import may_use
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.words import counted
from fairlead.sharing.certificate.arrays import see

DUMMY, FORBIDDEN = "dummy-machines", "forbidden-machines"

NEARLY = Fraction(9, 10)
"""A part of the least that any task takes."""

Kind = Callable[[Input, Machine, bool], bool]


def is_dummy(given: Input, machine: Machine, whole: bool = False) -> bool:
    """Does nothing fit on it, by size? With `whole` tasks: no whole task."""
    return not any(_fits(job, machine, whole) for job in given.jobs)


def _fits(job: Job, machine: Machine, whole: bool) -> bool:
    tasks = holds_tasks(job, machine)
    return tasks >= 1 if whole else tasks > 0


def is_forbidden(given: Input, machine: Machine, whole: bool = False) -> bool:
    """Would something fit on it, and may none of that use it?"""
    fitting = [job for job in given.jobs if _fits(job, machine, whole)]
    return bool(fitting) and not any(may_use(job, machine) for job in fitting)


def _property(name: str, kind: Kind, shapes: Callable[[Input, bool], Iterator[Change]]) -> Property:
    def check(outcome: Outcome, options: Options) -> Finding:
        given = outcome.input
        whole = outcome.whole
        there = tuple(machine.name for machine in _of_kind(given, kind, whole))
        changes: list[Change] = []
        if there and len(there) < len(given.cluster.machines):
            changes.append(Removed(there))
        more = list(shapes(given, whole))
        changes += sample(more, options.trials - len(changes), options.seed)
        seed = None if len(more) <= options.trials else options.seed
        if not changes:
            return not_applicable(name, outcome, "no machine of this kind can be made")
        done = try_changes(outcome, changes, _when, options.go_on)
        counts = (("changes", done.trials), ("violations", len(done.found)))
        notes = [f"the input has {len(there)} such machines"] if there else []
        if not done.all:
            notes.append(f"{done.trials} of {len(changes)} ways were tried")
        note = "; ".join(notes)
        if done.found:
            return violated(
                name, outcome, done.found, trials=done.trials, seed=seed, note=note, counts=counts
            )
        return not_found(name, outcome, done.trials, seed=seed, note=note, counts=counts)

    def measure(outcome: Outcome, changed: Outcome | None, who: tuple[str, ...]) -> Shown | None:
        if changed is None:
            return None
        before, after = outcome.input, changed.input
        more, less = (before, after) if _names(before) > _names(after) else (after, before)
        extra = [m for m in more.cluster.machines if m.name not in _names(less)]
        # Only a change of machines that nobody can use is of this kind.
        if not extra or not all(kind(more, machine, outcome.whole) for machine in extra):
            return None
        return _when(outcome, changed, who[0])

    promise = "machines on which nothing fits by size change nothing"
    if name == FORBIDDEN:
        promise = "machines that constraints close to everybody change nothing"
    return Property(name, promise, check, measure)


def _names(given: Input) -> frozenset[str]:
    return frozenset(machine.name for machine in given.cluster.machines)


def _when(before: Outcome, after: Outcome, tenant: str) -> Shown | None:
    more = len(after.input.cluster.machines) - len(before.input.cluster.machines)
    names = _names(after.input) ^ _names(before.input)
    what = min(names) if len(names) == 1 else counted(len(names), "machine")
    verb = "is" if len(names) == 1 else "are"
    return moves(
        before, after, tenant, f"when {what} {verb} {'added' if more > 0 else 'taken away'}"
    )


def _of_kind(given: Input, kind: Kind, whole: bool) -> list[Machine]:
    """The machines of the kind; machines that no job can tell apart are looked at once."""
    seen = see(given.cluster, given.jobs)
    known: dict[int, bool] = {}
    found = []
    for number, machine in zip(seen.kind.tolist(), seen.machines, strict=True):
        if number not in known:
            known[number] = kind(given, machine, whole)
        if known[number]:
            found.append(machine)
    return found


def new_name(given: Input) -> str:
    taken = _names(given)
    return next(n for i in range(1, len(taken) + 2) if (n := f"new{i}") not in taken)


def demanded(given: Input) -> list[str]:
    return sorted({name for job in given.jobs for name, need in job.demand.items() if need})


def totals(given: Input) -> dict[str, Fraction]:
    """The whole cluster's resources that jobs demand."""
    return {
        name: sum((m.capacity.get(name, Fraction(0)) for m in given.cluster.machines), Fraction(0))
        for name in demanded(given)
    }


def _dummies(given: Input, whole: bool) -> Iterator[Change]:
    """Machines with as much of some resources as the cluster and nothing of the others: of one
    alone, and of all but one. With whole tasks also with nearly enough of the one for a task."""
    total = totals(given)
    name = new_name(given)
    known = set()
    for some in ([r] for r in total), ([o for o in total if o != r] for r in total):
        for resources in some:
            machine = Machine(name, {r: total[r] for r in resources if total[r]})
            if machine.capacity and machine not in known and is_dummy(given, machine):
                known.add(machine)
                yield Added(machine)
    for resource in total if whole else ():
        needs = [need for job in given.jobs for r, need in job.demand.items() if r == resource]
        nearly = NEARLY * min(need for need in needs if need)
        amounts = {r: amount for r, amount in total.items() if amount}
        machine = Machine(name, {**amounts, resource: nearly})
        if is_dummy(given, machine, whole):
            yield Added(machine)


def _forbidden(given: Input, whole: bool) -> Iterator[Change]:
    """Machines that every job excludes: as those there are, and with four times as much of one
    resource."""
    name = new_name(given)
    for machine in shapes_of(given):
        for resource in (None, *demanded(given)):
            capacity = dict(machine.capacity)
            if resource is not None:
                if resource not in capacity:
                    continue
                capacity[resource] *= 4
            change = Added(Machine(name, capacity, machine.labels), closed=True)
            if is_forbidden(apply(change, given), change.machine, whole):
                yield change


def shapes_of(given: Input) -> list[Machine]:
    """A machine of each kind that some job can tell from the others."""
    seen = see(given.cluster, given.jobs)
    return [seen.machines[first] for first in seen.kinds]


DUMMY_MACHINES = _property(DUMMY, is_dummy, _dummies)
FORBIDDEN_MACHINES = _property(FORBIDDEN, is_forbidden, _forbidden)
