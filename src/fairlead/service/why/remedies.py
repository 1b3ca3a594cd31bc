"""The smallest change that would start a waiting job now, one of each kind. Each was tried: a copy
of the core, told of the change, launches a task of the job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from itertools import islice

from fairlead.model.constraint import Operator, Selector
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.quantity import write_amount, write_near, write_short
from fairlead.model.values import FrozenMap
from fairlead.model.words import amount, machines
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import (
    Event,
    MachineDrained,
    MachineJoined,
    TaskFinished,
    TenantChanged,
)
from fairlead.scheduling.reading.core_copy import Spares
from fairlead.scheduling.reading.machine_room import demand_of, least_reductions
from fairlead.scheduling.reading.present import Machines
from fairlead.scheduling.why.values import Cap, OverLimit, Why
from fairlead.service.fairness.causes import DisplayName
from fairlead.service.why.fewest_ends import Ends, differing, fewest_ends
from fairlead.service.why.trial import Trials

MOST_ENDS = 4
"""So many machines are tried on which tasks would have to end, and so many kinds of machines."""
COMPARED = 4 * MOST_ENDS
"""So many are compared, to try different ones."""
COPIES = 500_000
"""Jobs, times trials, at most: a copy of a core with 100,000 jobs takes a tenth of a second."""
MOST_TRIALS = 40


class ChangeKind(Enum):
    ENDS = "ends"  # these tasks end
    BACK = "back"  # a machine that drains takes tasks again
    CONSTRAINT = "constraint"  # a part of its constraint is dropped
    SPREAD = "spread"  # several of its tasks may share a machine
    PREFERENCE = "preference"  # it takes machines that it does not prefer
    GANG = "gang"  # its tasks need not start together
    DEMAND = "demand"  # a task asks for less
    LIMIT = "limit"  # a tenant may hold more
    MACHINE = "machine"  # one more machine


@dataclass(frozen=True, slots=True)
class Change:
    """A change after which `starts` tasks of the job would start at once.

    `machines` is where; `tasks` which tasks would have to end, counted by job; `part` the part of
    the constraint, the tenant, or the machine that one more would be like; `amounts` the demand,
    limit or capacity that it would take. `others`: on how many other machines the same would do as
    far as room goes."""

    kind: ChangeKind
    sentence: str
    starts: int
    machines: tuple[str, ...] = ()
    tasks: FrozenMap[int] = field(default_factory=FrozenMap)
    part: str | None = None
    amounts: FrozenMap[Fraction] = field(default_factory=FrozenMap)
    others: int = 0


def smallest_changes(
    core: Core, why: Why, display_name: DisplayName = str, spares: Spares | None = None
) -> tuple[Change, ...]:
    """One change of each kind that would start a task now, where there is one. `why` is the core's
    word on the job, of this moment; some of its tasks wait. `display_name`: what a reader is told
    of jobs' names. `spares`: copies to be written over."""
    most = min(MOST_TRIALS, max(4, COPIES // max(len(core.ids.jobs), 1)))
    trials = Trials(core, why.job, most, display_name, spares)
    kinds = (_ends, _back, _constraint, _others, _demand, _limit, _machine)
    return tuple(change for kind in kinds for change in kind(trials, why))


def _together(trials: Trials, why: Why) -> int:
    """The number of tasks that start together next."""
    gang = trials.counts.gang
    return gang if why.waiting is None or why.waiting >= gang else 1


def _ends(trials: Trials, why: Why) -> Iterator[Change]:
    """The fewest tasks that would have to end."""
    if not why.machines.no_room:
        return
    wanted = _together(trials, why)
    found = fewest_ends(trials.core, trials.slot, wanted)
    if not found:
        return
    if wanted == 1:
        for ends in islice(differing(trials.core, trials.slot, found[:COMPARED]), MOST_ENDS):
            starts = trials.happen(_ended(trials.core, ends.tasks))
            if starts:
                fewest = len(ends.tasks)
                alike = sum(len(other.tasks) == fewest for other in found) - 1
                yield _ends_change(trials, [ends], starts, alike)
                return
        return
    chosen: list[Ends] = []  # a gang needs room on several machines, together
    for ends in found:
        chosen.append(ends)
        if sum(one.fits for one in chosen) >= wanted:
            events = [event for one in chosen for event in _ended(trials.core, one.tasks)]
            starts = trials.happen(events)
            if starts:
                yield _ends_change(trials, chosen, starts, 0)
            return


def _ended(core: Core, tasks: tuple[tuple[int, int], ...]) -> list[Event]:
    return [TaskFinished(core.now, core.book.name_of(job), number) for job, number in tasks]


def _ends_change(trials: Trials, chosen: list[Ends], starts: int, alike: int) -> Change:
    core = trials.core
    counts: dict[str, int] = {}
    for ends in chosen:
        for job, _ in ends.tasks:
            name = trials.display_name(core.book.name_of(job))
            counts[name] = counts.get(name, 0) + 1
    where = tuple(core.ids.machine_at[ends.machine].name for ends in chosen)
    total = sum(counts.values())
    named = ", ".join(f"{count} of {name}" for name, count in list(counts.items())[:3])
    more = "" if len(counts) <= 3 else f" and {sum(list(counts.values())[3:])} of others"
    tasks = "1 task ends" if total == 1 else f"{total} tasks end"
    few = ", ".join(where[:3]) + (" …" if len(where) > 3 else "")
    places = where[0] if len(where) == 1 else f"{len(where)} machines ({few})"
    also = f"; as few would do on {machines(alike)} more" if alike else ""
    return Change(
        ChangeKind.ENDS,
        f"{_count(starts)} would start now if {tasks} on {places} ({named}{more}){also}",
        starts,
        machines=where,
        tasks=FrozenMap(counts),
        others=alike,
    )


def _count(starts: int) -> str:
    return "a task" if starts == 1 else f"{starts} tasks"


def _back(trials: Trials, why: Why) -> Iterator[Change]:
    """A machine that drains takes tasks again."""
    if not why.machines.draining:
        return
    there = Machines(trials.core)
    draining = [each for each, up in zip(there.values, there.up.tolist(), strict=True) if not up]
    able = [machine.name for machine in draining if _allowed(trials, machine)]
    for name in able[:MOST_ENDS]:
        starts = trials.happen([MachineDrained(trials.core.now, name, back=True)])
        if starts:
            yield Change(
                ChangeKind.BACK,
                f"{_count(starts)} would start now if {name}, which drains, took tasks again",
                starts,
                machines=(name,),
                others=len(able) - 1,
            )
            return


def _allowed(trials: Trials, machine: Machine) -> bool:
    job = trials.model
    return (
        (job.machines is None or machine.name in job.machines)
        and machine.name not in job.exclude
        and job.where.matches(machine.labels)
        and all(machine.capacity.get(r, 0) >= need for r, need in job.demand.items())
    )


def _constraint(trials: Trials, why: Why) -> Iterator[Change]:
    """Each part of the constraint that alone keeps it from starting; all of it, if none does."""
    job, found = trials.model, False
    if not why.machines.excluded:
        return
    for part, without in _parts(job):
        starts = trials.change(without)
        if starts:
            found = True
            sentence = f"{_count(starts)} would start now without the part `{part}` of `where`"
            if part in ("machines", "exclude"):
                sentence = f"{_count(starts)} would start now without its list `{part}`"
            yield Change(ChangeKind.CONSTRAINT, sentence, starts, part=part)
    if not found and len(_parts(job)) > 1:
        starts = trials.change(replace(job, where=Selector(), machines=None, exclude=()))
        if starts:
            sentence = (
                f"{_count(starts)} would start now without any constraint; no part alone does"
            )
            yield Change(ChangeKind.CONSTRAINT, sentence, starts)


def _parts(job: Job) -> list[tuple[str, Job]]:
    """Each part of the constraint, and the job without it."""
    requirements = list(dict.fromkeys(job.where.requirements))
    parts = [
        (str(one), replace(job, where=Selector([each for each in requirements if each != one])))
        for one in requirements
    ]
    if job.machines is not None:
        parts.append(("machines", replace(job, machines=None)))
    if job.exclude:
        parts.append(("exclude", replace(job, exclude=())))
    return parts


def _others(trials: Trials, why: Why) -> Iterator[Change]:
    """Drops what else a job asks for beside machines and amounts."""
    job = trials.model
    tries = []
    if job.spread and why.machines.one_each:
        what = "if several of its tasks could share a machine"
        tries.append((ChangeKind.SPREAD, what, replace(job, spread=False)))
    if job.prefer and why.machines.not_preferred:
        what = "if it took machines that it does not prefer"
        taken = replace(job, prefer=Selector(), prefer_for=None)
        tries.append((ChangeKind.PREFERENCE, what, taken))
    if _together(trials, why) > 1:
        what = "if its tasks need not start together"
        tries.append((ChangeKind.GANG, what, replace(job, gang=1)))
    for kind, what, changed in tries:
        starts = trials.change(changed)
        if starts:
            yield Change(kind, f"{_count(starts)} would start now {what}", starts)


def _demand(trials: Trials, why: Why) -> Iterator[Change]:
    """The least that a task would have to ask for less, relative to what it asks for."""
    if not (why.machines.no_room or why.machines.too_small) or _together(trials, why) > 1:
        return
    core, job = trials.core, trials.model
    demand = demand_of(core, trials.slot)
    tried: set[tuple[int, ...]] = set()
    for m, amounts in least_reductions(core, trials.slot):
        if amounts in tried:
            continue
        if len(tried) == MOST_ENDS:
            return
        tried.add(amounts)
        asked = {
            each.name: amounts[r] * each.unit
            for r, each in enumerate(core.ids.units)
            if amounts[r] < demand[r]
        }
        if not asked:  # there is room for a task as it is: something else stops it
            continue
        starts = trials.change(replace(job, demand=FrozenMap({**job.demand, **asked})))
        if starts:
            amounts_text = ", ".join(
                f"{_less(asked[r], job.demand[r], r)} instead of {write_short(job.demand[r])}"
                for r in asked
            )
            yield Change(
                ChangeKind.DEMAND,
                f"{_count(starts)} would start now if a task asked for {amounts_text}",
                starts,
                machines=(core.ids.machine_at[m].name,),
                amounts=FrozenMap(asked),
            )
            return


def _limit(trials: Trials, why: Why) -> Iterator[Change]:
    """A tenant's limit, as much larger as the next tasks need."""
    job = trials.model
    together = _together(trials, why)
    limits: dict[str, dict[str, Fraction]] = {}
    never: dict[str, dict[str, Fraction]] = {}  # all that it may hold now and these tasks
    for each in why.reasons:
        if isinstance(each, Cap):
            needed = each.held + each.aside + together * job.demand[each.resource]
            limits.setdefault(each.tenant, {})[each.resource] = needed
        elif isinstance(each, OverLimit):
            limits.setdefault(each.tenant, {})[each.resource] = each.needed
            never.setdefault(each.tenant, {})[each.resource] = each.limit + each.needed
    found = list(_with_limits(trials, limits))
    yield from found or _with_limits(trials, never)


def _with_limits(trials: Trials, limits: dict[str, dict[str, Fraction]]) -> Iterator[Change]:
    """These limits instead, if they let a task start."""
    if not limits:
        return
    core = trials.core
    events = []
    for name, raised in limits.items():
        tenant = core.ids.tenant_at[core.ids.tenants[name]]
        limit = FrozenMap({**tenant.limit, **raised})
        events.append(TenantChanged(core.now, replace(tenant, limit=limit)))
    starts = trials.happen(events)
    if starts:
        amounts_text = "; ".join(
            f"{name}'s limit were {_write_amounts(FrozenMap(raised))}"
            for name, raised in limits.items()
        )
        first = next(iter(limits))
        yield Change(
            ChangeKind.LIMIT,
            f"{_count(starts)} would start now if {amounts_text}",
            starts,
            part=first,
            amounts=FrozenMap(limits[first]),
        )


def _machine(trials: Trials, why: Why) -> Iterator[Change]:
    """One more machine: like one that is there, or else one that just holds a task."""
    core, job = trials.core, trials.model
    if job.machines is not None:
        return  # a new machine is not on its list
    together = _together(trials, why)
    kinds: dict[tuple[object, ...], Machine] = {}
    for machine in Machines(core).values:
        if _allowed(trials, machine):
            kinds.setdefault((machine.capacity, machine.labels), machine)
    for like in list(kinds.values())[:MOST_ENDS]:
        name = _new_name(core)
        new = Machine(name, like.capacity, like.labels)
        starts = trials.happen([MachineJoined(core.now, new)])
        if starts:
            size = ", ".join(amount(float(a), name, 4) for name, a in like.capacity.items())
            yield Change(
                ChangeKind.MACHINE,
                f"{_count(starts)} would start now with one more machine like {like.name} ({size})",
                starts,
                part=like.name,
                amounts=like.capacity,
            )
            return
    if kinds:
        return
    labels = _labels(job)
    if labels is None:
        return
    amounts = {r: need * together for r, need in job.demand.items()}
    try:
        starts = trials.happen([MachineJoined(core.now, Machine(_new_name(core), amounts, labels))])
    except InputError:
        return
    if starts:
        amounts_text = (
            f" and {', '.join(f'{key} = {labels[key]}' for key in labels)}" if labels else ""
        )
        yield Change(
            ChangeKind.MACHINE,
            f"{_count(starts)} would start now with one more machine that has"
            f" {_write_amounts(FrozenMap(amounts))}{amounts_text}",
            starts,
            amounts=FrozenMap(amounts),
        )


def _write_amounts(amounts: FrozenMap[Fraction]) -> str:
    """No less: what is asked for has to be enough."""
    return ", ".join(f"{write_near(amount, up=True)} {name}" for name, amount in amounts.items())


def _less(amount: Fraction, than: Fraction, name: str) -> str:
    """No more: a task of it has to fit. Exactly, where it would look like what it is less than."""
    text = write_near(amount, up=False)
    return f"{write_amount(amount) if text == write_near(than, up=False) else text} {name}"


def _new_name(core: Core) -> str:
    name = "one-more"
    while name in core.ids.machines:
        name += "-"
    return name


def _labels(job: Job) -> dict[str, str] | None:
    """Labels that satisfy the job's constraint; None where they are not to be read off it."""
    labels: dict[str, str] = {}
    for one in job.where.requirements:
        match one.operator:
            case Operator.EQUAL | Operator.IN | Operator.AT_LEAST | Operator.AT_MOST:
                labels.setdefault(one.key, one.values[0])
            case Operator.EXISTS:
                labels.setdefault(one.key, "yes")
    return labels if job.where.matches(labels) else None
