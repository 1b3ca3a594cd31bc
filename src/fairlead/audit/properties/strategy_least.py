"""The smallest lies, about one machine, one term, one resource or one task: these come first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fairlead.audit.properties.strategy_lies import (
    Claimed,
    Liar,
    Scene,
    lie_of,
    too_small,
    with_amounts,
    with_other_terms,
)
from fairlead.audit.properties.try_changes import sample
from fairlead.model.constraint import Selector
from fairlead.model.eligibility import may_use
from fairlead.model.job import Job

MOST = 256
"""So many of the smallest lies are tried at most."""

WORK = 50_000
"""Jobs x kinds of machines x smallest lies: where inputs are large, fewer are tried, but never
fewer than others."""

RAISED = Fraction(2)
"""A lie multiplies one resource of the demand by this; half of what is most needed where it is not
needed at all."""


def room_for(scene: Scene, trials: int) -> int:
    """The number of the smallest lies that are tried."""
    size = len(scene.given.jobs) * len(scene.members)
    return max(trials, min(MOST, WORK // size))


def least(scene: Scene, liars: list[Liar]) -> tuple[list[Claimed], list[Claimed]]:
    """Every smallest lie of every liar, and those that claim machines and differ in one resource as
    well: the first of each liar, then the second of each."""
    rows = [_smallest(scene, liar) for liar in liars]
    return _by_turns(liars, [one for one, _ in rows]), _by_turns(liars, [two for _, two in rows])


def _by_turns(liars: list[Liar], rows: list[list[Job]]) -> list[Claimed]:
    return [
        (lie_of((liar, mine[place])), (liar, mine[place]))
        for place in range(max(map(len, rows), default=0))
        for liar, mine in zip(liars, rows, strict=True)
        if place < len(mine)
    ]


def choose(lies: tuple[list[Claimed], list[Claimed]], room: int, seed: int) -> list[Claimed]:
    """So many of them, drawn with the seed where there are more: those that differ in one thing
    before the others."""
    one, two = lies
    some = sample(one, room, seed)
    return some + sample(two, room - len(some), seed)


def _smallest(scene: Scene, liar: Liar) -> tuple[list[Job], list[Job]]:
    """Claims that differ from the truth in one thing, then those that claim machines and differ in
    one resource as well. Of constraints that allow the same machines
    one is enough, and of machines that no job can tell apart, too; the tenant's pool apart, by
    which it is weighed."""
    truth = _allowed(scene, liar.job)
    known = {truth}
    found, wider = [], []
    for claim in _constraints(scene, liar):
        allowed = _allowed(scene, claim)
        if any(allowed) and allowed not in known:
            known.add(allowed)
            found.append(claim)
            if any(more and not mine for more, mine in zip(allowed, truth, strict=True)):
                wider.append(claim)
    demands = [
        claim
        for claim in _demands(scene, liar.job)
        if not scene.whole or not too_small(claim, liar.job)
    ]
    # What it cannot use may be where it is put, unless its demand keeps it from there.
    both = [replace(claim, demand=need.demand) for claim in wider for need in demands]
    return [*found, *demands, *_numbers(liar.job)], both


def _allowed(scene: Scene, job: Job) -> tuple[bool, ...]:
    return tuple(may_use(job, machine) for machine in scene.seen.machines)


def _constraints(scene: Scene, liar: Liar) -> Iterator[Job]:
    """One machine more or less, the dearest first; one term less; one label asked for more."""
    job = liar.job
    own = frozenset(() if liar.own is None or liar.own.pool is None else liar.own.pool)
    mine = [machine.name for machine in scene.seen.machines if may_use(job, machine)]
    can = frozenset(mine)
    for kind in np.argsort(-liar.cost, kind="stable").tolist():
        for pooled in (True, False):
            name = next((m for m in scene.members[kind] if (m in own) is pooled), None)
            if name is None:
                continue
            if name in can:
                yield replace(job, exclude=(*job.exclude, name))
            else:
                names = tuple(
                    machine.name
                    for machine in scene.seen.machines
                    if machine.name in can or machine.name == name
                )
                yield replace(job, where=Selector(), machines=names, exclude=())
    yield from with_other_terms(scene, job)


def _demands(scene: Scene, job: Job) -> Iterator[Job]:
    """One resource less, or more of it; one that is not needed."""
    needed = {r: need for r, need in job.demand.items() if need}
    for r in scene.seen.resources:
        if r in needed:
            yield with_amounts(job, {r: needed[r] * RAISED})
            if len(needed) > 1:
                yield with_amounts(job, {r: Fraction(0)})
        else:
            yield with_amounts(job, {r: max(needed.values()) / 2})


def _numbers(job: Job) -> Iterator[Job]:
    """One task more, or less."""
    if job.tasks is not None:
        yield replace(job, tasks=job.tasks + 1)
        if job.tasks > 1:
            yield replace(job, tasks=job.tasks - 1)
