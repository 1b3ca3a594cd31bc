"""An explanation in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairlead.cli.common.screen import Screen, wrap
from fairlead.cli.text.typing_hints import typing_hints
from fairlead.model.machine import Cluster, Machine
from fairlead.model.names import compress
from fairlead.model.report import LISTS, exclusions, nowhere_sentence
from fairlead.model.shares import MachineClass
from fairlead.model.words import (
    amount,
    amounts,
    counted,
    escaped,
    listing,
    number,
    percent,
    plural,
    sentence,
)
from fairlead.sharing.analysis.alike import stops_together
from fairlead.sharing.analysis.explanation import Explanation, Scarce
from fairlead.sharing.analysis.improvements import Change, Kind
from fairlead.sharing.analysis.input_changes import SPREAD

_DIGITS = 4  # significant digits of what is held and of what would be gained
_STOPS = 6  # stops that are told one by one
_NAMES = 4  # names that a list shows before it counts the rest
_RANGES = 2  # ranges of machines, likewise


def explanation_lines(
    cluster: Cluster, why: Explanation, changes: Sequence[Change], tried: bool, screen: Screen
) -> Iterator[str]:
    yield from wrap(" ".join(answer(why)), screen)
    for hint in typing_hints(cluster, (why.job,), (why.share,)):
        yield from wrap(f"hint: {escaped(hint)}", screen)
    if why.share.nowhere is None:
        yield ""
        yield screen.bold("Where it can run")
        yield from wrap(" ".join(where(why)), screen, "  ")
        yield ""
        yield screen.bold("What stopped it")
        yield from wrap(describe_stop(why), screen, "  ")
        own = [scarce for scarce in why.scarce if scarce.own and not why.satisfied]
        texts = [
            _scarce(why, scarce, machines)
            for scarce, machines in stops_together(cluster, why)
            if scarce.own and not why.satisfied and not _spreads(scarce)
        ]
        if spread := [scarce for scarce in own if _spreads(scarce)]:
            texts.append(_spread(why, spread))
        for text in texts[:_STOPS]:
            yield from bullet(text, screen)
        if len(texts) > _STOPS:
            more = counted(len(texts) - _STOPS, "more place")
            yield from bullet(f"The same holds in {more}", screen)
        if others := [
            _what(why, scarce, machines)
            for scarce, machines in stops_together(cluster, why)
            if not scarce.own
        ]:
            yield from bullet(
                f"It does not use {listing(others, most=3)} itself, but with more of that, the jobs"
                " that do would leave it room",
                screen,
            )
    useful = [change for change in changes if not tried or change.moves > 0]
    fewer = [f"{change_briefly(c)} ({_brings(why, c)})" for c in changes if c.moves < 0]
    useless = [change_briefly(c) for c in changes if tried and not c.moves]
    texts = list(advice(cluster, why, useful, tried))
    if texts or fewer or useless or (why.scarce and not why.satisfied):
        yield ""
        yield screen.bold("What would raise it")
        for text in texts:
            yield from bullet(text, screen)
        if not texts:
            yield "  None of the small changes suggested by the prices."
        if fewer:
            yield from wrap(f"Tried, with fewer tasks: {listing(fewer)}.", screen, "  ")
        if useless:
            yield from wrap(f"Tried without effect: {listing(useless)}.", screen, "  ")
        if texts and not tried:
            text = "The input is large, so none was tried: `fairlead whatif` shares again with one."
            yield from wrap(text, screen, "  ")
    for note in why.allocation.sentences():
        if why.share.nowhere is None and _mentions(note, why):
            yield ""
            yield from wrap(f"warning: {escaped(note)}", screen)


def bullet(text: str, screen: Screen) -> list[str]:
    first, *rest = wrap(sentence(text), screen, "    ")
    return [f"  - {first.lstrip()}", *rest]


def answer(why: Explanation) -> Iterator[str]:
    """Sentences on the tasks and the share that it gets."""
    job, share, allocation = escaped(why.job.name), why.share, why.allocation
    if share.nowhere is not None:
        yield f"{job} can never run, so it gets no tasks: {nowhere_sentence(share.nowhere)}"
        return
    runs = counted(share.tasks, "task")
    if why.job.tasks is not None:
        runs = f"{number(share.tasks)} of its {counted(float(why.job.tasks), 'task')}"
    own = share.tenant == share.name
    who = "" if own else f" for tenant {escaped(share.tenant)}"
    yield f"{job} runs {runs}{who} under {allocation.policy}."
    yield (
        f"Alone in the cluster, and free to use every machine, it could run {number(share.alone)}."
    )
    if share.scale is not None:
        whose = "its" if own else "the tenant's"
        weight = "" if why.tenant.weight == 1 else f" (weight {number(why.tenant.weight)})"
        unit = "that many" if share.scale == share.alone else counted(share.scale, "task")
        yield (
            f"{unit[:1].upper()}{unit[1:]} {'makes' if unit == '1 task' else 'make'} a share of 1;"
            f" {whose} share is {number(why.tenant.share)}{weight}."
        )


def where(why: Explanation) -> Iterator[str]:
    """Sentences on the machines that it can use, and on the reasons against the others."""
    ignored = ""
    if why.share.placements is None:
        ignored = f" {why.allocation.policy} ignores that: it sees one machine with everything."
    names = why.usable_machines
    if len(names) == why.machines:
        which = "the only machine" if why.machines == 1 else f"all {_machines(why.machines)}"
        yield f"It can use {which}.{ignored}"
        return
    of = f"{len(names)} of {_machines(why.machines)}"
    yield f"It can use {of}: {listing(compress(names), most=_NAMES)}."
    if parts := exclusions(why.excluded):
        yield sentence(f"Of the others, {escaped(listing(parts))}") + ignored


def describe_stop(why: Explanation) -> str:
    """At which level it froze, with whom."""
    allocation, share = why.allocation, why.share
    if why.satisfied:
        return "Nothing: it runs all the tasks that it has."
    if share.level is not None:
        level = allocation.levels[share.level]
        others = [escaped(name) for name in level.jobs if name != share.name]
        together = f", together with {listing(others, most=_NAMES)}" if others else ""
        return f"It froze at level {share.level}, at a share of {number(level.share)}{together}."
    if allocation.proof is None:
        return (
            f"{allocation.policy} fills no levels, so nothing stopped it at a share: the rule"
            " alone says what it gets."
        )
    return (
        f"{allocation.policy} fills every machine by itself, so it was stopped on each of those"
        " that it can use."
    )


def _spreads(scarce: Scarce) -> bool:
    """Is it stopped by having a task on each machine of a class?"""
    return scarce.stop.job is not None and scarce.stop.machine_class is not None


def _spread(why: Explanation, scarce: Sequence[Scarce]) -> str:
    classes = {each.stop.machine_class for each in scarce}
    groups = [group for group in why.allocation.classes if group.index in classes]
    names = [name for group in groups for name in group.machines]
    each = "each of " if len(names) > 1 else ""
    on = listing(compress(names), most=_NAMES)
    return f"It has a task on {each}{on}, and `spread` allows no second one there"


def _scarce(why: Explanation, scarce: Scarce, machines: MachineClass | None) -> str:
    stop = scarce.stop
    if stop.job is not None:
        return (
            "It may have at most one task on a machine (`spread`), and the cluster has"
            f" {_machines(why.machines)}"
        )
    total, holders = _holders(why, scarce)
    if stop.tenant is not None:
        reached = f"Tenant {escaped(stop.tenant)} has reached its limit of {stop.resource}"
        return f"{reached}: of {total}, {holders}" if holders else f"{reached}, which is {total}"
    return f"No {stop.resource} is left {_on(why, machines)}: of {total}, {holders}"


def _holders(why: Explanation, scarce: Scarce) -> tuple[str, str]:
    """All there is, and who holds how much of it: the job first, then the others, most first."""
    own = why.job.name
    holders = sorted(scarce.holders, key=lambda holder: holder.job != own)
    named, rest = holders[:_NAMES], holders[_NAMES:]
    held = [holder.amount for holder in named]
    if rest:
        held.append(sum(holder.amount for holder in rest))
    total, *texts = amounts([scarce.total, *held], _DIGITS)
    who = [escaped(holder.job) for holder in named]
    if rest:
        who.append(counted(len(rest), "other job"))
    parts = [
        f"{name} {plural('holds', 1 if index < len(named) else len(rest))} {text}"
        f" ({percent(value, scarce.total)})"
        for index, (name, text, value) in enumerate(zip(who, texts, held, strict=True))
    ]
    return total, listing(parts)


def _what(why: Explanation, scarce: Scarce, machines: MachineClass | None) -> str:
    stop = scarce.stop
    if stop.tenant is not None:
        return f"the limit of {escaped(stop.tenant)} ({stop.resource})"
    if stop.job is not None:
        what = "tasks of" if stop.machine_class is None else "machines for the spread of"
        return f"the {what} {escaped(stop.job)}"
    return f"the {stop.resource} {_on(why, machines)}"


def _on(why: Explanation, machines: MachineClass | None) -> str:
    if machines is None or why.share.placements is None:
        return "in the whole cluster"
    return f"on {listing(compress(machines.machines), most=_RANGES)}"


def advice(
    cluster: Cluster, why: Explanation, changes: Sequence[Change], tried: bool
) -> Iterator[str]:
    """The changes, each with what it would bring: tried, or bounded by the prices."""
    machine = {machine.name: machine for machine in cluster.machines}
    told: set[tuple[str, str]] = set()
    for change in changes:
        if tried and change.tasks is not None:
            brings = _brings(why, change)
        elif why.share.nowhere is not None:
            brings = "it could run" if change.machines is None else "it could run there"
        elif change.slope is None:
            brings = "there is room to gain, by the prices"
        else:
            brings = f"initially about {number(change.slope, _DIGITS)} tasks more, by the prices"
        if change.kind is Kind.MACHINE and change.machines is not None:
            # Classes may be told apart by names only: one machine of them is enough.
            one = (_has(machine[change.machines.machines[0]]), brings)
            if one in told:
                continue
            told.add(one)
        yield sentence(f"{change_in_words(why, change, machine)}: {brings}")


def _brings(why: Explanation, change: Change) -> str:
    """What a change that was tried brings, with the limits at which that ends."""
    assert change.tasks is not None
    more = change.tasks - why.share.tasks
    text = f"{counted(change.tasks, 'task')}, {number(abs(more), _DIGITS)}"
    text += " fewer" if change.moves < 0 else " more"
    return text + ends(why, change)


def ends(why: Explanation, change: Change) -> str:
    """The limits that stop the job with the change, if there are such."""
    limits = [f"{escaped(tenant)} ({resource})" for tenant, resource in change.meets]
    if not limits:
        return ""
    return f"; there {escaped(why.job.name)} meets the limit of {listing(limits)}"


def _has(machine: Machine) -> str:
    capacity = machine.capacity
    return listing([amount(float(capacity[name]), name) for name in capacity if capacity[name]])


def change_in_words(why: Explanation, change: Change, machine: dict[str, Machine]) -> str:
    """A change that would raise the job, with the machines that it is about."""
    names = () if change.machines is None else change.machines.machines
    on = listing(compress(names), most=_NAMES)
    if change.kind is Kind.RESOURCE:
        if why.share.placements is None or not names:
            return f"{_more(change)} in the cluster"
        return f"{_more(change)}{', spread over' if len(names) > 1 else ' on'} {on}"
    if change.kind is Kind.MACHINE:
        return f"One more machine like {names[0]} ({_has(machine[names[0]])})"
    if change.kind is Kind.LIMIT:
        return f"{_more(change)} in the limit of {escaped(change.subject)}"
    if change.kind is Kind.SPREAD:
        return f"Without `{SPREAD}`"
    if change.kind is Kind.DEMAND:
        assert change.resource is not None and change.amount is not None
        had = float(why.job.demand[change.resource])
        less, before = amounts([float(change.amount), had], _DIGITS)
        return f"With {less} {change.resource} a task instead of {before}"
    if not change.subject:
        return f"Without its whole constraint (which keeps it from {_machines(len(names))})"
    if not names:
        return f"Without {_part(change)} (which keeps it from no machine alone)"
    keeps = f"which alone keeps it from {counted(len(names), 'machine')}: {on}"
    return f"Without {_part(change)} ({keeps})"


def _part(change: Change) -> str:
    own = "its list of " if change.subject in LISTS else ""
    return f"{own}`{escaped(change.subject)}`"


def change_briefly(change: Change) -> str:
    """A change that does not raise the job, in few words."""
    names = () if change.machines is None else change.machines.machines
    on = f" on {listing(compress(names), most=2)}" if names else ""
    match change.kind:
        case Kind.RESOURCE:
            return f"{_more(change, 'one more')}{on}"
        case Kind.MACHINE:
            return f"one more machine like {names[0]}"
        case Kind.LIMIT:
            return f"{_more(change, 'one more')} in the limit of {escaped(change.subject)}"
        case Kind.SPREAD:
            return f"dropping `{SPREAD}`"
        case Kind.DEMAND:
            assert change.amount is not None and change.resource is not None
            return f"{amount(float(change.amount), change.resource)} a task"
        case _:
            return f"dropping {_part(change) if change.subject else 'the whole constraint'}"


def _more(change: Change, one: str = "One more") -> str:
    assert change.amount is not None and change.resource is not None
    if change.amount == 1:
        return f"{one} {change.resource}"
    return f"{amount(float(change.amount), change.resource)} more"


def _machines(count: int) -> str:
    return counted(count, "machine")


def _mentions(note: str, why: Explanation) -> bool:
    """Whether a warning is about this job or about the whole allocation."""
    about = note.removeprefix("job ")
    return about == note or about.startswith((f"{why.job.name}:", f"{why.job.name} "))
