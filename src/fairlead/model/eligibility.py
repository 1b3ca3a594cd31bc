"""The machines that a job may use, and the reasons against the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairlead.model.choosing import Choosing
from fairlead.model.constraint import Selector
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.shares import Nowhere

MACHINES, EXCLUDE = "machines", "exclude"
"""Names of the two lists where the parts of a constraint are counted."""


def may_use(job: Job, machine: Machine) -> bool:
    """Does the hard constraint of the job allow the machine? Its size does not matter here."""
    return (
        (job.machines is None or machine.name in job.machines)
        and machine.name not in job.exclude
        and job.where.matches(machine.labels)
    )


def holds(job: Job, machine: Machine) -> Fraction:
    """The tasks that the empty machine holds, divisible, at most 1 if the job spreads; the
    constraint is ignored."""
    tasks = min(machine.capacity.get(r, Fraction(0)) / d for r, d in job.demand.items() if d)
    return min(tasks, Fraction(1)) if job.spread else tasks


def excluded_by(job: Job, machine: Machine) -> tuple[str, ...]:
    """The parts of the constraint that exclude the machine: requirements of `where` as written,
    then `machines`, then `exclude`. Empty exactly if `may_use`."""
    parts = [str(part) for part in job.where.requirements if not part.matches(machine.labels)]
    if job.machines is not None and machine.name not in job.machines:
        parts.append(MACHINES)
    if machine.name in job.exclude:
        parts.append(EXCLUDE)
    return tuple(parts)


def excluded(cluster: Cluster, job: Job) -> Nowhere:
    """Counts the machines that each part of the constraint excludes by itself; and of the machines
    that the constraint allows, how many have nothing, or too little, of each resource a task
    needs."""
    parts = dict.fromkeys(job.where.requirements, 0)
    listed = None if job.machines is None else frozenset(job.machines)
    barred = frozenset(job.exclude)
    unlisted = excluded_names = 0
    lacking = {resource: 0 for resource, need in job.demand.items() if need}
    small = dict(lacking)
    for group in _alike(cluster.machines):
        example = group[0]
        failing = [part for part in parts if not part.matches(example.labels)]
        for part in failing:
            parts[part] += len(group)
        allowed = 0
        for machine in group if listed is not None or barred else ():
            out = listed is not None and machine.name not in listed
            bar = machine.name in barred
            unlisted += out
            excluded_names += bar
            allowed += not (out or bar)
        if listed is None and not barred:
            allowed = len(group)
        if not failing:
            for resource in lacking:
                has = example.capacity.get(resource)
                if not has:
                    lacking[resource] += allowed
                elif has < job.demand[resource]:
                    small[resource] += allowed
    counts = [(str(part), count) for part, count in parts.items()]
    counts += [(MACHINES, unlisted), (EXCLUDE, excluded_names)]
    return Nowhere(
        machines=len(cluster.machines),
        constraint=tuple((part, count) for part, count in counts if count),
        resources=tuple((resource, count) for resource, count in lacking.items() if count),
        small=tuple((resource, count) for resource, count in small.items() if count),
    )


def _alike(machines: Sequence[Machine]) -> list[list[Machine]]:
    """The machines in groups that share their capacity and labels."""
    groups: dict[tuple[int, int], list[Machine]] = {}
    for machine in machines:
        # Equal ones are mostly one object. Where they are not, a group is only smaller than it
        # could be. Labels must not be compared as values: the numbers 5.10 and 5.1 are equal.
        groups.setdefault((id(machine.capacity), id(machine.labels)), []).append(machine)
    return list(groups.values())


@dataclass(frozen=True)
class Eligibility:
    """The groups of machines that each job may use.

    `groups` are indices of machines that are one in capacity and labels and that the name lists
    of the jobs do not tell apart; `rows` the distinct constraints: the groups that may be used, in
    their order; `row` the index of each job's row.
    """

    groups: tuple[tuple[int, ...], ...]
    rows: tuple[tuple[int, ...], ...]
    row: tuple[int, ...]


def eligibility(cluster: Cluster, jobs: Sequence[Job]) -> Eligibility:
    """Agrees with `may_use` for every job and machine; made for thousands of jobs and 100,000
    machines."""
    constraints: dict[tuple[Selector, tuple[str, ...] | None, tuple[str, ...]], int] = {}
    row = tuple(
        constraints.setdefault((job.where, job.machines, job.exclude), len(constraints))
        for job in jobs
    )
    lists = {names: frozenset(names) for _, *both in constraints for names in both if names}
    on: dict[str, list[int]] = {}
    for number, names in enumerate(lists):
        for name in names:
            on.setdefault(name, []).append(number)
    groups: dict[tuple[int, int, tuple[int, ...]], list[int]] = {}
    for index, machine in enumerate(cluster.machines):
        key = (id(machine.capacity), id(machine.labels), tuple(on.get(machine.name, ())))
        groups.setdefault(key, []).append(index)
    example = [cluster.machines[members[0]] for members in groups.values()]
    choosing = Choosing(machine.labels for machine in example)
    rows = []
    for where, machines, exclude in constraints:
        listed = None if machines is None else lists.get(machines, frozenset())
        barred = lists.get(exclude, frozenset())
        rows.append(
            tuple(
                g
                for g in choosing.chosen(where)
                if (listed is None or example[g].name in listed) and example[g].name not in barred
            )
        )
    return Eligibility(tuple(map(tuple, groups.values())), tuple(rows), row)
