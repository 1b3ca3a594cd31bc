"""The cause that a job has less than the exact allocation guarantees it: the one that decides."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from fairlead.model.names import compress
from fairlead.model.values import FrozenMap
from fairlead.model.words import machines, verb
from fairlead.scheduling.core import Core
from fairlead.scheduling.reading.machine_room import could_run
from fairlead.scheduling.reading.present import Tasks, by_owner, tenants_of
from fairlead.scheduling.why import values as waiting
from fairlead.scheduling.why.values import Why
from fairlead.sharing.problem.problem import Bools, Floats, Ints

DisplayName = Callable[[str], str]
"""From a job's unique name to the one that a reader is told."""

NAMED = 3
"""Tenants that a sentence names; the others are counted."""

SHORT = 30
"""Letters of machines' names that stand for their number."""

ROUNDED = 1e-6
"""By less than this a number of tasks that was computed in doubles is below a whole one."""

MERGED = 40
"""Machines whose names are merged into ranges: of more it takes the loop's time."""


class CauseKind(Enum):
    HELD = "held"  # others hold more than they are guaranteed, on machines that it could use
    OTHER_JOBS = "other_jobs"  # jobs there do, most of tenants that in all hold no more
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
    """A kind, its sentence, and who or what is meant with a count each. `lacking`: resources of
    which too little is free, with the number of machines, of the `able` that could run the job;
    `machines`: these by their names, where that is short."""

    kind: CauseKind
    sentence: str
    counts: FrozenMap[int] = field(default_factory=FrozenMap)
    lacking: FrozenMap[int] = field(default_factory=FrozenMap)
    able: int = 0
    machines: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Beyond:
    """Of the job in each slot: the tasks that it runs beyond what it is guaranteed, its scale, and
    the share, not divided by a weight, that its tenant (itself, where it has none) holds in all
    beyond what is guaranteed."""

    tasks: Ints
    scale: Floats
    share: Floats


def cause_of(
    core: Core,
    beyond: Beyond,
    slot: int,
    quarantined: frozenset[str] = frozenset(),
    display_name: DisplayName = str,
) -> Cause:
    """Why tasks of this job do not start, though it is guaranteed more than it has. `display_name`:
    what sentences call a job of this name."""
    why = core.why(core.book.name_of(slot), display_name, ahead=False)
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
    usable = could_run(core, slot)
    full = _no_room(core, beyond, slot, usable, display_name)
    if full.kind is CauseKind.PIECES and why.machines.reserved:
        return others
    for reason in why.reasons:
        if isinstance(reason, waiting.NoRoom):
            lacking = FrozenMap(dict(reason.lacking))
            names = _short_names(core, usable)
            full = replace(full, lacking=lacking, able=reason.able, machines=names)
    return full


_SIMPLE = {
    waiting.NoMachine: CauseKind.NOWHERE,
    waiting.Excluded: CauseKind.NOWHERE,
    waiting.TooSmall: CauseKind.NOWHERE,
    waiting.OverLimit: CauseKind.LIMIT,
    waiting.GangTooLarge: CauseKind.GANG,
    waiting.Gang: CauseKind.GANG,
    waiting.Cap: CauseKind.LIMIT,
}


def _no_room(
    core: Core, beyond: Beyond, slot: int, usable: Bools, display_name: DisplayName
) -> Cause:
    """The `usable` machines are full: of whom?"""
    tasks = Tasks(core)
    there = usable[tasks.machine]
    jobs, stopping = tasks.job[there], tasks.stopping[there]
    if stopping.any():
        names = _owners(core, *np.unique(jobs[stopping], return_counts=True), display_name)
        return Cause(
            CauseKind.STOPPING,
            "tasks on machines that it could use are being stopped and have not ended yet:"
            f" {_name_most(names)}",
            names,
        )
    each = np.bincount(jobs)
    slots = np.flatnonzero(each)
    counts = np.minimum(each[slots], beyond.tasks[slots])
    counts[slots == slot] = 0
    (mine,) = tenants_of(core, np.array([slot]))
    same = (tenants_of(core, slots) == mine) & (mine >= 0)
    others, own = (counts > 0) & ~same, (counts > 0) & same
    waits = "it waits for machines on which"
    rich = _of_the_rich(core, beyond, slots[others], counts[others], display_name)
    if rich and 2 * sum(rich.values()) >= counts[others].sum():
        # The cause is what most of them are.
        words = f"{waits} tasks beyond what is guaranteed run"
        return Cause(CauseKind.HELD, f"{words}: {_name_most(rich)}", rich)
    more = "run more than they are guaranteed"
    for some, words in (
        (others, f"jobs {more}, most of tenants that have no more in all"),
        (own, f"its tenant's other jobs {more}"),
    ):
        if some.any():
            names = _owners(core, slots[some], counts[some], display_name)
            return Cause(CauseKind.OTHER_JOBS, f"{waits} {words}: {_name_most(names)}", names)
    count = int(usable.sum())
    return Cause(
        CauseKind.PIECES,
        f"{machines(count)} {verb(count, 'are')} open to it, on which nobody has more than is"
        " guaranteed; what is left is in parts that hold no whole task",
    )


def _short_names(core: Core, usable: Bools) -> str:
    """The machines in ranges of their names; nothing where these are long."""
    places = np.flatnonzero(usable).tolist()
    if len(places) > MERGED:
        return ""
    text = ", ".join(compress(core.ids.machine_at[place].name for place in places))
    return text if len(text) <= SHORT else ""


def _owners(core: Core, slots: Ints, counts: Ints, display_name: DisplayName) -> FrozenMap[int]:
    """Counts the tasks of each tenant, or of a job that is its own."""
    found: Counter[str] = Counter()
    names, place = by_owner(core, slots, display_name)
    for name, count in zip(names, _sum_by_place(place, counts), strict=True):
        found[name] += int(count)
    return FrozenMap(found)


def _sum_by_place(place: Ints, values: Ints | Floats) -> list[float]:
    """The sums of what has the same place; of whole numbers below 2^53 they are exact."""
    sums: list[float] = np.bincount(place, values).tolist()
    return sums


def _of_the_rich(
    core: Core, beyond: Beyond, slots: Ints, counts: Ints, display_name: DisplayName
) -> FrozenMap[int]:
    """Of these tasks, which are beyond what their jobs are guaranteed, those that are beyond what
    is guaranteed to their tenants in all, too."""
    tasks, share, most = Counter[str](), defaultdict[str, float](float), dict[str, float]()
    some = (counts > 0) & (beyond.share[slots] > 0)
    slots, counts = slots[some], counts[some]
    names, place = by_owner(core, slots, display_name)
    spare = np.zeros(len(names))
    spare[place] = beyond.share[slots]  # the same for all of a tenant's
    parts = _sum_by_place(place, counts / beyond.scale[slots])
    rows = zip(names, _sum_by_place(place, counts), parts, spare.tolist(), strict=True)
    for name, count, part, left in rows:
        tasks[name] += int(count)
        share[name] += part
        most[name] = left
    whole = {
        name: int(count * min(1.0, most[name] / share[name]) + ROUNDED)
        for name, count in tasks.items()
    }
    return FrozenMap({name: count for name, count in whole.items() if count})


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
