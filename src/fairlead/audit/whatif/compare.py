"""A what-if: an input and the same with a change made, both solved, side by side."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from fairlead.audit.finding import Input
from fairlead.audit.outcome import Outcome, Rule, rule_of, solve
from fairlead.audit.whatif.edits import Edit, Edited, apply_edits
from fairlead.model.allocation import Allocation
from fairlead.model.shares import JobShare
from fairlead.model.unrounded import change, rise
from fairlead.model.unrounded import compared as order
from fairlead.sharing.analysis.explanation import has_all
from fairlead.sharing.analysis.yardstick import shares_by


@dataclass(frozen=True)
class Moved:
    """A job's tasks, or a tenant's weighted share, before and after; None where it
    is not there, and only there: a job that can never run runs 0 tasks.

    `change` is 1 where it gains, -1 where it loses, 0 where it has exactly as much; `by` how much
    more that is, and `part` the same as a part of what it had, None where it had nothing. Of a job,
    `scale` are the tasks that make one unit of share, before and after, 0 where it can never run.
    Of a tenant, `compared` is the share after in the units of before, of a job that had none in
    those of after, and `change` is about it: a change of machines or demands changes the scales,
    and then `after` alone says little. `rescaled`: the two differ.
    """

    name: str
    of: str | None  # of a job its tenant, of a tenant its parent
    before: float | None
    after: float | None
    change: int
    by: float
    part: float | None
    scale: tuple[Fraction | None, Fraction | None] = (None, None)
    compared: float | None = None
    rescaled: bool = False


class Kind(Enum):
    """The kinds of things that can stop a level. The values are those of `fairlead.whatif/1`."""

    RESOURCE = "resource"  # on machines, or in the whole cluster where a policy pools it
    LIMIT = "limit"  # of a tenant
    SPREAD = "spread"  # of a job, which has a task on each of the machines


@dataclass(frozen=True)
class Level:
    """The first level that something stops: its number, its share, and who freezes there."""

    index: int
    share: float
    jobs: tuple[str, ...]


@dataclass(frozen=True)
class Bottleneck:
    """Something that stops a level before or after the change.

    `machines` are those on which it is scarce (empty: in the whole cluster, or a limit); `who` the
    tenant of a limit or the job that spreads. `was` and `will` say whether the machines are there
    before and after; `before` and `after` are None where it stops nobody.
    """

    kind: Kind
    machines: tuple[str, ...]
    resource: str | None
    who: str | None
    before: Level | None
    after: Level | None
    was: bool = True
    will: bool = True


@dataclass(frozen=True)
class WhatIf:
    """Both outcomes, and what differs."""

    before: Outcome
    after: Outcome
    made: Edited
    edits: tuple[Edit, ...]
    jobs: tuple[Moved, ...]
    tenants: tuple[Moved, ...]
    bottlenecks: tuple[Bottleneck, ...]


def what_if(
    given: Input,
    edits: Iterable[Edit],
    rule: str | Rule,
    solved: Callable[[Input, Rule], Outcome] = solve,
) -> WhatIf:
    """The input beside the input with the changes, both `solved` under the rule. Raises
    InputError where a change cannot be made, or the policy refuses one of the two."""
    edits = tuple(edits)
    rule = rule_of(rule) if isinstance(rule, str) else rule
    made = apply_edits(given, edits)
    return _compare(solved(given, rule), solved(made.input, rule), made, edits)


def compare(before: Outcome, after: Outcome) -> WhatIf:
    """Two outcomes side by side; the change is whatever differs between their inputs."""
    names = [{machine.name for machine in one.input.cluster.machines} for one in (before, after)]
    made = Edited(
        after.input,
        added=tuple(m.name for m in after.input.cluster.machines if m.name not in names[0]),
        removed=tuple(m.name for m in before.input.cluster.machines if m.name not in names[1]),
    )
    return _compare(before, after, made, ())


def _compare(before: Outcome, after: Outcome, made: Edited, edits: tuple[Edit, ...]) -> WhatIf:
    return WhatIf(
        before,
        after,
        made,
        edits,
        tuple(_jobs(before.allocation, after.allocation, made.stranded)),
        tuple(_tenants(before.allocation, after.allocation, made.stranded)),
        _bottlenecks(before, after),
    )


_NONE = Fraction(0)


def _jobs(before: Allocation, after: Allocation, stranded: Collection[str]) -> Iterator[Moved]:
    """Every job of the two. One whose machines are all gone is there, and runs nothing."""
    was = {job.name: job for job in before.jobs}
    now = {job.name: job for job in after.jobs}
    one, two = before.unrounded, after.unrounded
    within = max(one.within, two.within)
    for name in dict.fromkeys([*was, *now]):
        some = was.get(name) or now.get(name)
        assert some is not None  # the name comes from one of them
        tasks = one.tasks.get(name, _NONE), two.tasks.get(name, _NONE)
        stays = name in stranded
        yield Moved(
            name,
            some.tenant,
            was[name].tasks if name in was else None,
            now[name].tasks if name in now else 0.0 if stays else None,
            order(*tasks, within),
            rise(*tasks),
            change(*tasks, within),
            (_scale(before, was.get(name)), _NONE if stays else _scale(after, now.get(name))),
        )


def _scale(allocation: Allocation, job: JobShare | None) -> Fraction | None:
    """The tasks that make one unit of share, 0 where it can never run; None of no job."""
    if job is None:
        return None
    return _NONE if job.nowhere is not None else allocation.unrounded.unit[job.name]


def _tenants(before: Allocation, after: Allocation, stranded: Collection[str]) -> Iterator[Moved]:
    """Every tenant of the two."""
    was = {tenant.name: tenant for tenant in before.tenants}
    now = {tenant.name: tenant for tenant in after.tenants}
    kept = {job.tenant for job in before.jobs if job.name in stranded} | set(now)
    then, later = before.unrounded.unit, after.unrounded.unit
    unit = {name: each or later.get(name, _NONE) for name, each in then.items()}
    within = max(before.unrounded.within, after.unrounded.within)
    had, alike = shares_by(unit, before, before), shares_by(unit, before, after)
    has = shares_by(later, after, after)
    for name in dict.fromkeys([*was, *now]):
        some = was.get(name) or now.get(name)
        assert some is not None  # the name comes from one of them
        both = name in was and name in kept
        shares = had.get(name, _NONE), (alike if both else has).get(name, _NONE)
        yield Moved(
            name,
            some.parent,
            was[name].share if name in was else None,
            now[name].share if name in now else 0.0 if name in kept else None,
            order(*shares, within),
            rise(*shares),
            change(*shares, within),
            compared=float(shares[1]) if both else None,
            rescaled=both and order(shares[1], has.get(name, _NONE), within) != 0,
        )


@dataclass(frozen=True)
class _Key:
    """A scarce thing, machine by machine, so that two allocations can be compared whose classes
    differ."""

    kind: Kind
    resource: str | None
    who: str | None
    machine: str | None


def _bottlenecks(before: Outcome, after: Outcome) -> tuple[Bottleneck, ...]:
    """Everything that stops a level in one of the two, machines alike in both together."""
    was, now = _stops(before), _stops(after)
    there = [frozenset(m.name for m in one.input.cluster.machines) for one in (before, after)]
    groups: dict[tuple[object, ...], list[_Key]] = {}
    for key in dict.fromkeys([*was, *now]):
        exists = tuple(key.machine is None or key.machine in names for names in there)
        same = (key.kind, key.resource, key.who, was.get(key), now.get(key), exists)
        groups.setdefault(same, []).append(key)
    found = []
    for keys in groups.values():
        key = keys[0]
        found.append(
            Bottleneck(
                key.kind,
                tuple(one.machine for one in keys if one.machine is not None),
                key.resource,
                key.who,
                was.get(key),
                now.get(key),
                *(key.machine is None or key.machine in names for names in there),
            )
        )
    return tuple(sorted(found, key=_order))


def _order(one: Bottleneck) -> tuple[float, float, str, tuple[str, ...]]:
    """A key that puts first what stops first before, then what stops first after."""
    far = float("inf")
    return (
        one.before.share if one.before else far,
        one.after.share if one.after else far,
        one.resource or "",
        one.machines[:1],
    )


def _stops(outcome: Outcome) -> Mapping[_Key, Level]:
    """The things that stop levels, each with the first level that it stops."""
    allocation = outcome.allocation
    machines = {group.index: group.machines for group in allocation.classes}
    pooled = any(job.placements is None for job in allocation.jobs)
    satisfied = {job.name for job in outcome.input.jobs if has_all(allocation, job)}
    found: dict[_Key, Level] = {}
    for index, level in enumerate(allocation.levels):
        here = Level(index, level.share, level.jobs)
        for stop in level.stopped_by:
            if stop.tenant is not None:
                keys = [_Key(Kind.LIMIT, stop.resource, stop.tenant, None)]
            elif stop.job is not None and stop.machine_class is None:
                if stop.job in satisfied:  # it has all its tasks: nothing is scarce
                    continue
                keys = [_Key(Kind.SPREAD, None, stop.job, None)]
            else:
                kind = Kind.RESOURCE if stop.job is None else Kind.SPREAD
                where: tuple[str | None, ...] = (None,)
                if not pooled and stop.machine_class is not None:
                    where = machines[stop.machine_class]
                keys = [_Key(kind, stop.resource, stop.job, name) for name in where]
            for key in keys:
                found.setdefault(key, here)
    return found
