"""From arrays back to names: the allocation as people read it, and the proof that goes with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq

from fairlead.model.proof import Places, Round, Scarce
from fairlead.model.shares import (
    Freeze,
    JobShare,
    Level,
    MachineClass,
    Placement,
    Stop,
    TenantShare,
)
from fairlead.model.unrounded import EXACT, Unrounded
from fairlead.sharing.filling.corner import Row
from fairlead.sharing.filling.rounds import Filling, FillingRound
from fairlead.sharing.numbers.amounts import fraction, nearest, rationals
from fairlead.sharing.numbers.sums import total
from fairlead.sharing.problem.problem import Floats, Problem, jobs_below

DIGITS = 12  # significant digits of every number that is shown


def rounded(value: float) -> float:
    """The number as it is shown."""
    return float(f"{value:.{DIGITS}g}")


@dataclass(frozen=True)
class Names:
    """A problem's indices as people see them: classes are numbered in the order of their machines.

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
    names: Names, tasks: Floats, job: int, number: Callable[[float], float] = rounded
) -> tuple[Placement, ...]:
    """The places where the tasks of a job run, by class, in the order of the classes' numbers,
    written by `number`."""
    there = sorted(np.flatnonzero(tasks[job] > 0).tolist(), key=names.show.__getitem__)
    return tuple(Placement(names.show[c], number(tasks[job, c])) for c in there)


def scarce(names: Names, row: Row) -> Scarce:
    kind, first, second = row
    problem = names.problem
    if kind == "on":
        return Scarce(machine_class=names.show[first], resource=problem.resources[second])
    if kind == "spread":
        return Scarce(machine_class=names.show[second], job=problem.job_names[first])
    if kind == "tasks":
        return Scarce(job=problem.job_names[first])
    limit = problem.tree.limits[first]
    return Scarce(
        tenant=problem.tree.names[limit.tenant], resource=problem.resources[limit.resource]
    )


def stops(
    names: Names, part: FillingRound, number: Callable[[float], float] = rounded
) -> Iterator[Stop]:
    """Everything that is scarce in a round, with its price, written by `number`."""
    priced = np.argwhere(part.price).tolist()
    rows: list[tuple[Row, float]] = [
        (("on", c, r), float(part.price[c, r]))
        for c, r in sorted(priced, key=lambda pair: (names.show[pair[0]], pair[1]))
    ]
    for kind, prices in (("limit", part.limit_price), ("tasks", part.task_price)):
        rows += [((kind, int(i), 0), float(prices[i])) for i in np.flatnonzero(prices)]
    rows += [(("spread", *pair), price) for pair, price in part.spread_price.items()]
    for row, price in rows:
        about = scarce(names, row)
        yield Stop(number(price), about.machine_class, about.resource, about.tenant, about.job)


def freezes(names: Names, filling: Filling, only: int | None = None) -> Iterator[Freeze]:
    """The rounds with their prices. `only`: the number of the class that was filled by itself."""
    jobs = names.problem.job_names
    for part in filling.rounds:
        yield Freeze(
            share=part.share,
            frozen=tuple(sorted(jobs[j] for j in part.frozen)),
            job_prices=tuple(
                (jobs[j], float(part.job_price[j])) for j in np.flatnonzero(part.job_price > 0)
            ),
            stops=tuple(stops(names, part, float)),
            machine_class=only,
        )


def proof_rounds(names: Names, filling: Filling, only: int | None = None) -> Iterator[Round]:
    """The proofs of the rounds. `only`: the number of the class that was filled by itself."""
    jobs = names.problem.job_names
    for part in filling.rounds:
        yield Round(
            share=part.share,
            frozen=tuple(sorted(jobs[j] for j in part.frozen)),
            scarce=tuple(scarce(names, row) for row in part.scarce),
            even=tuple(
                Places((jobs[j],), tuple(sorted(names.show[c] for c in classes)))
                for j, classes in part.even
            ),
            machine_class=only,
        )


def proof_places(names: Names, filling: Filling) -> Iterator[Places]:
    for members, classes in filling.places:
        jobs = tuple(sorted(names.problem.job_names[j] for j in members))
        yield Places(jobs, tuple(sorted(names.show[c] for c in classes)))


def levels(names: Names, filling: Filling, only: int | None = None) -> tuple[Level, ...]:
    """The levels: rounds that reach the same share are one.

    A price at a level is that of the first of its rounds that names the stop: it is the rise of
    the share of all that were still active.
    """
    tree, jobs = names.problem.tree, names.problem.job_names
    active = {int(j) for part in filling.rounds for j in part.frozen}
    waiting = [len(active.intersection(members)) for members in jobs_below(tree)]
    parent, own = tree.parent.tolist(), tree.job_tenant.tolist()
    found: list[Level] = []
    for index, part in enumerate(filling.rounds):
        gone = {int(j) for j in part.frozen}
        frozen = []
        for j in gone:
            t = own[j]
            while t >= 0:
                waiting[t] -= 1
                if not waiting[t]:
                    frozen.append(tree.names[t])
                t = parent[t]
        level = Level(
            share=rounded(part.share),
            frozen=tuple(sorted(frozen)),
            jobs=tuple(sorted(jobs[j] for j in gone)),
            stopped_by=tuple(stops(names, part)),
            machine_class=only,
        )
        if index and part.level == filling.rounds[index - 1].level:
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


def tenant_shares(
    names: Names, weight: Iterable[Any], share: Iterable[Any], reached: Sequence[Level]
) -> tuple[TenantShare, ...]:
    """Every tenant's weight and its weighted share (T,)."""
    tree = names.problem.tree
    weight, share = rationals(weight), rationals(share)
    at = {name: index for index, level in enumerate(reached) for name in level.frozen}
    return tuple(
        TenantShare(
            name=name,
            parent=tree.names[tree.parent[t]] if tree.parent[t] >= 0 else None,
            weight=rounded(nearest(weight[t])),
            share=rounded(nearest(share[t])),
            level=at.get(name),
        )
        for t, name in enumerate(tree.names)
    )


def of_tenants(problem: Problem, weight: Iterable[Any], share: Iterable[Any]) -> list[fmpq]:
    """(T,) every tenant's weighted share, from the shares (J,) of its jobs."""
    tree = problem.tree
    parts: list[list[fmpq]] = [[] for _ in tree.names]
    for tenant, each in zip(tree.job_tenant.tolist(), rationals(share), strict=True):
        parts[tenant].append(each)
    found = [fmpq(0)] * len(parts)
    weights = rationals(weight)
    for t in reversed(range(len(parts))):  # parents come before their children
        together = total(parts[t])
        if (above := int(tree.parent[t])) >= 0:
            parts[above].append(together)
        if weights[t] > 0:
            found[t] = together / weights[t]
    return found


def unrounded(
    problem: Problem,
    tasks: Iterable[Any],
    unit: Iterable[Any],
    share: Iterable[Any],
    weight: Iterable[Any],
    tenant_share: Iterable[Any],
    within: Fraction = EXACT,
) -> Unrounded:
    """The numbers by name: the tasks (J,) of the jobs, what makes one unit of share of each (J,)
    and their shares (J,), and the tenants' weights (T,) and weighted shares (T,)."""

    def named(names: Sequence[str], numbers: Iterable[Any]) -> dict[str, Fraction]:
        return dict(zip(names, map(fraction, rationals(numbers)), strict=True))

    jobs, tenants = problem.job_names, problem.tree.names
    return Unrounded(
        named(jobs, tasks),
        named(jobs, unit),
        named(jobs, share),
        named(tenants, weight),
        named(tenants, tenant_share),
        within,
    )


def job_shares(
    names: Names,
    order: Sequence[str],
    tasks: Floats,
    total: Sequence[float],
    scale: Sequence[float] | None,
    share: Sequence[float],
    reached: Sequence[Level],
    *,
    placed: bool,
    alone: Sequence[float],
) -> tuple[JobShare, ...]:
    """The share of every job, in the order of the file: `total` tasks, in these places."""
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
                tasks=rounded(total[j]),
                alone=rounded(alone[j]),
                scale=None if scale is None else rounded(scale[j]),
                share=rounded(share[j]),
                level=at.get(name),
                placements=placements(names, tasks, j) if placed else None,
            )
        )
    return tuple(found)
