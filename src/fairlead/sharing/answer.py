"""From arrays back to names: the allocation as people read it, and the proof that goes with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from fairlead.model.proof import Round
from fairlead.model.shares import (
    JobShare,
    Level,
    MachineClass,
    Placement,
    Stop,
    TenantShare,
)
from fairlead.sharing.filling import Filling, FillingRound
from fairlead.sharing.problem import Floats, Problem, Tree

DIGITS = 12  # significant digits of every number that is shown: doubles carry noise beyond them
NOISE = 1e-13  # relative: a price worth less than this part of the greatest one is rounding
SAME_LEVEL = 1e-11  # relative: rounds closer than this are steps of zero, within one level


def shown(value: float) -> float:
    """The number without the noise of its last digits."""
    return float(f"{value:.{DIGITS}g}")


@dataclass(frozen=True)
class Names:
    """How a problem's indices are shown: classes are numbered in the order of their machines.

    `show[c]` is the number of class c.
    """

    problem: Problem
    show: tuple[int, ...]
    order: tuple[int, ...] = field(repr=False)

    def classes(self) -> tuple[MachineClass, ...]:
        """The classes in the order of their numbers."""
        members = self.problem.class_machines
        return tuple(MachineClass(self.show[c], members[c]) for c in self.order)


def names_of(problem: Problem, machines: Sequence[str]) -> Names:
    """The problem with its classes numbered by where in `machines` the first of each stands."""
    position = {name: index for index, name in enumerate(machines)}
    first = [min(position[name] for name in members) for members in problem.class_machines]
    order = sorted(range(len(first)), key=first.__getitem__)
    show = [0] * len(order)
    for number, c in enumerate(order):
        show[c] = number
    return Names(problem, tuple(show), tuple(order))


def placements(
    names: Names, tasks: Floats, job: int, number: Callable[[float], float] = shown
) -> tuple[Placement, ...]:
    """Where the tasks of a job run, by class, in the order of the classes' numbers, written by
    `number`."""
    return tuple(
        Placement(names.show[c], number(tasks[job, c])) for c in names.order if tasks[job, c] > 0
    )


def stops(
    names: Names, part: FillingRound, number: Callable[[float], float] = shown
) -> Iterator[Stop]:
    """Everything that is scarce in a round, with its price, written by `number`."""
    problem = names.problem
    # What all there is of something is worth, in share: the measure of what a price means.
    worth = part.price * problem.capacity * problem.count[:, None]
    tasks = np.where(part.task_price > 0, problem.tasks, 0.0) * part.task_price
    spread = {key: price * problem.count[key[1]] for key, price in part.spread_price.items()}
    noise = NOISE * max(worth.max(initial=0.0), tasks.max(initial=0.0), *spread.values(), 0.0)
    for c in names.order:
        for r, resource in enumerate(problem.resources):
            if worth[c, r] > noise:
                yield Stop(number(part.price[c, r]), machine_class=names.show[c], resource=resource)
    for limit, price in zip(problem.tree.limits, part.limit_price, strict=True):
        if price > 0:
            yield Stop(
                number(price),
                tenant=problem.tree.names[limit.tenant],
                resource=problem.resources[limit.resource],
            )
    for j in np.flatnonzero(tasks > noise):
        yield Stop(number(part.task_price[j]), job=problem.job_names[j])
    for (job, c), price in part.spread_price.items():
        if spread[job, c] > noise:
            yield Stop(number(price), job=problem.job_names[job], machine_class=names.show[c])


def proof_rounds(names: Names, filling: Filling, only: int | None = None) -> Iterator[Round]:
    """The rounds as data. `only`: the number of the class that was filled by itself."""
    jobs = names.problem.job_names
    for part in filling.rounds:
        yield Round(
            share=part.share,
            frozen=tuple(sorted(jobs[j] for j in part.frozen)),
            job_prices=tuple(
                (jobs[j], float(part.job_price[j])) for j in np.flatnonzero(part.job_price > 0)
            ),
            stops=tuple(stops(names, part, float)),
            machine_class=only,
        )


def levels(names: Names, filling: Filling, only: int | None = None) -> tuple[Level, ...]:
    """The levels: rounds that reach the same share are one.

    A price at a level is that of the first of its rounds that names the stop: it is the rise of
    the share of all that were still active.
    """
    tree, jobs = names.problem.tree, names.problem.job_names
    below = jobs_below(tree)
    waiting = {t: set(members) for t, members in enumerate(below)}
    active = {int(j) for part in filling.rounds for j in part.frozen}
    for members in waiting.values():
        members &= active
    found: list[Level] = []
    for part in filling.rounds:
        gone = {int(j) for j in part.frozen}
        frozen = []
        for t, members in waiting.items():
            if members and not members - gone:
                frozen.append(tree.names[t])
            members -= gone
        level = Level(
            share=shown(part.share),
            frozen=tuple(sorted(frozen)),
            jobs=tuple(sorted(jobs[j] for j in gone)),
            stopped_by=tuple(stops(names, part)),
            machine_class=only,
        )
        if found and part.share - found[-1].share <= SAME_LEVEL * part.share:
            level = _together(found.pop(), level)
        found.append(level)
    return tuple(found)


def _together(first: Level, then: Level) -> Level:
    """Two rounds of one level."""
    known = {(s.machine_class, s.resource, s.tenant, s.job) for s in first.stopped_by}
    more = [
        s for s in then.stopped_by if (s.machine_class, s.resource, s.tenant, s.job) not in known
    ]
    return Level(
        share=first.share,
        frozen=tuple(sorted(first.frozen + then.frozen)),
        jobs=tuple(sorted(first.jobs + then.jobs)),
        stopped_by=first.stopped_by + tuple(more),
        machine_class=first.machine_class,
    )


def jobs_below(tree: Tree) -> list[list[int]]:
    """For each tenant the jobs that hang on it or on a tenant below it."""
    below: list[list[int]] = [[] for _ in tree.names]
    for j, tenant in enumerate(tree.job_tenant):
        below[int(tenant)].append(j)
    for t in reversed(range(len(below))):  # parents come before their children
        if tree.parent[t] >= 0:
            below[int(tree.parent[t])] += below[t]
    return below


def tenant_shares(
    names: Names, weight: Floats, share: Floats, reached: Sequence[Level]
) -> tuple[TenantShare, ...]:
    """Every tenant's weighted share, from the shares (J,) of its jobs."""
    tree = names.problem.tree
    at = {name: index for index, level in enumerate(reached) for name in level.frozen}
    return tuple(
        TenantShare(
            name=name,
            parent=tree.names[tree.parent[t]] if tree.parent[t] >= 0 else None,
            weight=shown(weight[t]),
            share=shown(float(share[members].sum()) / weight[t]) if weight[t] > 0 else 0.0,
            level=at.get(name),
        )
        for t, (name, members) in enumerate(zip(tree.names, jobs_below(tree), strict=True))
    )


def job_shares(
    names: Names,
    order: Sequence[str],
    tasks: Floats,
    scale: Floats | None,
    share: Floats,
    reached: Sequence[Level],
    *,
    placed: bool,
    alone: Floats,
) -> tuple[JobShare, ...]:
    """What every job gets, in the order of the file."""
    problem = names.problem
    at = {name: index for index, level in enumerate(reached) for name in level.jobs}
    index = {name: j for j, name in enumerate(problem.job_names)}
    found = []
    for name in order:
        j = index[name]
        found.append(
            JobShare(
                name=name,
                tenant=problem.tree.names[problem.tree.job_tenant[j]],
                tasks=shown(float(tasks[j].sum())),
                alone=shown(alone[j]),
                scale=None if scale is None else shown(scale[j]),
                share=shown(share[j]),
                level=at.get(name),
                placements=placements(names, tasks, j) if placed else None,
            )
        )
    return tuple(found)
