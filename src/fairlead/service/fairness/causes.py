"""The cause that a job has less than the exact allocation guarantees it: the one that decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from fairlead.model.values import FrozenMap
from fairlead.scheduling.core import Core
from fairlead.scheduling.reading.machine_room import could_run
from fairlead.scheduling.reading.present import Tasks, held_by_slot, is_same_job, owner_names
from fairlead.scheduling.why import values as waiting
from fairlead.scheduling.why.values import Why, machines, verb
from fairlead.service.fairness.interface import Answered
from fairlead.sharing.problem.problem import Bools, Ints

Told = Callable[[str], str]
"""From a job's unique name to the one that a reader is told."""

NAMED = 3
"""Tenants that a sentence names; the others are counted."""


class CauseKind(Enum):
    """The kinds of what keeps a job from its guarantee."""

    HELD = "held"  # others hold more than they are guaranteed, on machines that it could use
    STOPPING = "stopping"  # tasks were told to stop, and hold their machines until they have
    GANG = "gang"  # its tasks start together, and there is not room for all of them
    LIMIT = "limit"  # of its tenant, or of one above it
    PREFERS = "prefers"  # it waits for machines that it prefers
    RESERVED = "reserved"  # machines are kept free for others
    SPREAD = "spread"  # the machines that are left run a task of it already
    DRAINED = "drained"  # the machines that are left take no tasks
    PIECES = "pieces"  # room is left over in parts, none of which holds a whole task
    NOWHERE = "nowhere"  # no machine can run it any more
    DECIDING = "deciding"  # there is room: the next decisions place it


@dataclass(frozen=True, slots=True)
class Cause:
    """A kind, its sentence, and who or what is meant with a count each."""

    kind: CauseKind
    sentence: str
    counts: FrozenMap[int] = field(default_factory=FrozenMap)


def cause_of(
    core: Core,
    exact: Answered | None,
    slot: int,
    quarantined: frozenset[str] = frozenset(),
    told: Told = str,
) -> Cause:
    """Why tasks of this job do not start, though it is guaranteed more than it has. `told`: what
    sentences call a job of this name."""
    why = core.why(core.book.name_of(slot), told)
    for reason in why.reasons:
        simple = _SIMPLE.get(type(reason))
        if simple is not None:
            return Cause(simple, str(reason))
    if why.machines.room:
        return Cause(CauseKind.DECIDING, str(waiting.NotLooked(why.machines.room)))
    others = _others(core, why, quarantined)
    # Of these machines each would take a task at once: what is full comes after them.
    if why.machines.not_preferred and others.kind is CauseKind.PREFERS:
        return others
    if not why.machines.no_room:
        return others
    full = _no_room(core, exact, slot, told)
    return others if full.kind is CauseKind.PIECES and why.machines.reserved else full


_SIMPLE = {
    waiting.NoMachine: CauseKind.NOWHERE,
    waiting.Excluded: CauseKind.NOWHERE,
    waiting.TooSmall: CauseKind.NOWHERE,
    waiting.OverLimit: CauseKind.LIMIT,
    waiting.GangTooLarge: CauseKind.GANG,
    waiting.Gang: CauseKind.GANG,
    waiting.Cap: CauseKind.LIMIT,
}


def _no_room(core: Core, exact: Answered | None, slot: int, told: Told) -> Cause:
    """Machines that could run it are full: of whom?"""
    usable = could_run(core, slot)
    over = _above_guarantee(core, exact)
    tasks = Tasks(core)
    there = usable[tasks.machine]
    jobs, stopping = tasks.job[there], tasks.stopping[there]
    if stopping.any():
        names = _owners(core, jobs[stopping], told)
        return Cause(
            CauseKind.STOPPING,
            "tasks on machines that it could use are being stopped and have not ended yet:"
            f" {_name_most(names)}",
            names,
        )
    others = jobs[over[jobs] & (jobs != slot)]
    if len(others):
        names = _owners(core, others, told)
        return Cause(
            CauseKind.HELD,
            "it waits for machines on which jobs with more than they are guaranteed run tasks:"
            f" {_name_most(names)}",
            names,
        )
    count = int(usable.sum())
    return Cause(
        CauseKind.PIECES,
        f"{machines(count)} {verb(count, 'are')} open to it and nobody on them has more than is"
        " guaranteed; what is left is in parts that hold no whole task",
    )


def _above_guarantee(core: Core, exact: Answered | None) -> Bools:
    """(jobs,) whether a job has more tasks than it is guaranteed; one that the exact allocation
    does not know has none guaranteed."""
    held = held_by_slot(core)
    guaranteed: Ints = np.zeros(len(held), np.int64)
    if exact is not None and len(exact.answer.jobs.whole):
        was = exact.question
        same = is_same_job(core, was.slot, was.seq)
        guaranteed[was.slot[same]] = exact.answer.jobs.whole[same]
    above: Bools = held > guaranteed
    return above


def _owners(core: Core, jobs: Ints, told: Told) -> FrozenMap[int]:
    """Counts the tasks of each tenant, or of a job that is its own."""
    return FrozenMap(Counter(owner_names(core, jobs, told)))


def _name_most(counts: FrozenMap[int]) -> str:
    """The counts, the largest first."""
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    named = ", ".join(f"{count} of {name}" for name, count in most[:NAMED])
    rest = sum(count for _, count in most[NAMED:])
    return f"{named} and {rest} of others" if rest else named


def _others(core: Core, why: Why, quarantined: frozenset[str]) -> Cause:
    """The obstacles on the machines that are not merely full."""
    count = why.machines
    if count.not_preferred:
        preferring = (each for each in why.reasons if isinstance(each, waiting.Prefers))
        return Cause(CauseKind.PREFERS, str(next(preferring)))
    if count.draining:
        bad = sum(name in quarantined for name in core.ids.machines)
        more = f"; {machines(bad)} {verb(bad, 'are')} quarantined after errors" if bad else ""
        return Cause(
            CauseKind.DRAINED,
            f"{machines(count.draining)} that could run it {verb(count.draining, 'are')} draining"
            f"{more}",
        )
    for reason in why.reasons:
        match reason:
            case waiting.Prefers():
                return Cause(CauseKind.PREFERS, str(reason))
            case waiting.ReservedForOthers():
                return Cause(CauseKind.RESERVED, str(reason))
            case waiting.OneEach():
                return Cause(CauseKind.SPREAD, str(reason))
    return Cause(CauseKind.NOWHERE, "no machine that it may use is left")
