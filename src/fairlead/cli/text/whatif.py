"""The effects of a change, as tables for people."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from fairlead.audit.finding import Input
from fairlead.audit.whatif.compare import Bottleneck, Kind, Level, Moved, WhatIf
from fairlead.audit.whatif.edits import Add, Demand, Drop, Edit, Limit, Remove, Weight
from fairlead.cli.common.screen import Screen, table, wrap
from fairlead.cli.text.comparison import format_change
from fairlead.cli.text.warnings_of_two import warnings_of_two
from fairlead.model.allocation import Allocation
from fairlead.model.names import compress
from fairlead.model.quantity import write_plain
from fairlead.model.report import LISTS
from fairlead.model.words import amount, counted, escaped, listing, number, plural, sentence
from fairlead.sharing.analysis.stop_names import who_froze

_NAMES = 4  # names that a list shows before it counts the rest
_RANGES = 2  # ranges of machines in a cell, likewise
_DIGITS = 3  # significant digits of a change in percent


def lines(found: WhatIf, screen: Screen) -> Iterator[str]:
    """The change, then who has what before and after, then what stops them."""
    yield from wrap(" ".join(_change_sentences(found)), screen)
    yield ""
    before, after = found.before.allocation, found.after.allocation
    sizes = f"{_size(found.before.input)} before, {_size(found.after.input)} after"
    yield from wrap(f"{sizes}; policy {before.policy}, {before.tasks.value} tasks", screen)
    yield ""
    yield from _jobs(found, screen)
    yield ""
    yield from _tenants(found, screen)
    if found.bottlenecks:
        yield ""
        yield from _bottlenecks(found, screen)
    yield ""
    for text in summary(found):
        yield from wrap(text, screen)
    for text in warnings_of_two(before.sentences(), after.sentences()):
        yield from wrap(text, screen)


def _size(given: Input) -> str:
    return counted(len(given.cluster.machines), "machine")


def _change_sentences(found: WhatIf) -> Iterator[str]:
    names = list(found.made.added)
    for edit in found.edits:
        if isinstance(edit, Add):
            mine, names = names[: edit.count], names[edit.count :]
            yield sentence(f"{edit_in_words(edit)}, as {listing(compress(mine), most=_NAMES)}")
        else:
            yield sentence(edit_in_words(edit))
    if not found.edits:
        yield "A second input instead of the first."
        for what, machines in (("new", found.made.added), ("gone", found.made.removed)):
            if machines:
                yield f"Machines that are {what}: {listing(compress(machines), most=_NAMES)}."
    for job in found.made.stranded:
        yield f"None of the machines on the list of {escaped(job)} is left, so it runs nowhere."


def edit_in_words(edit: Edit) -> str:
    match edit:
        case Add(count, model):
            capacity = [amount(float(model.capacity[r]), r) for r in model.capacity]
            more = counted(count, "more machine") if count > 1 else "One more machine"
            return f"{more} like {model.name} ({listing(capacity)})"
        case Remove(machines):
            names = listing(compress(machines), most=_NAMES)
            return f"Without {counted(len(machines), 'machine')}: {names}"
        case Weight(tenant, weight):
            return f"{escaped(tenant)} has the weight {write_plain(weight)}"
        case Drop(job, None):
            return f"{escaped(job)} may use every machine"
        case Drop(job, part):
            own = "its list of " if part in LISTS else ""
            return f"{escaped(job)} is without {own}`{escaped(part or '')}`"
        case Demand(job, resource, need):
            return f"A task of {escaped(job)} needs {_of(need, resource)}"
        case Limit(tenant, resource, limit):
            return f"{escaped(tenant)} has the limit {_of(limit, resource)}"


def _of(value: Fraction, resource: str) -> str:
    return amount(float(value), resource)


def _jobs(found: WhatIf, screen: Screen) -> list[str]:
    own = all(job.of == job.name for job in found.jobs)
    header = ["job", *["tenant"] * (not own), "tasks before", "after", "change"]
    rows = [
        [
            escaped(job.name),
            *[escaped(job.of or "") if job.of != job.name else ""] * (not own),
            number(job.before),
            number(job.after),
            _change(job),
        ]
        for job in found.jobs
    ]
    return table(header, rows, "<" + "<" * (not own) + ">><", screen)


def _change(moved: Moved) -> str:
    """`+4.5%`, `=`, `from 0`, and `new` or `gone` where it is not there before or after."""
    if moved.before is None:
        return "new"
    if moved.after is None:
        return "gone"
    return "from 0" if moved.part is None else format_change(moved.part)


def _tenants(found: WhatIf, screen: Screen) -> list[str]:
    """A row for each tenant; a column more where the scales change."""
    moved = any(tenant.rescaled for tenant in found.tenants)
    header = ["tenant", "share before", "after", *["on the old scale"] * moved, "change"]
    rows = [
        [
            escaped(tenant.name),
            number(tenant.before),
            number(tenant.after),
            *[number(tenant.compared)] * moved,
            _change(tenant),
        ]
        for tenant in found.tenants
    ]
    return table(header, rows, "<>>" + ">" * moved + "<", screen)


def _bottlenecks(found: WhatIf, screen: Screen) -> list[str]:
    """A row for each thing that stops somebody before or after."""
    sides = (found.before.allocation, found.after.allocation)
    tenant_of = [{job.name: job.tenant for job in side.jobs} for side in sides]
    rows = [
        [
            bottleneck_name(one),
            _stops(one.before, sides[0], tenant_of[0]) if one.was else "(not there)",
            _stops(one.after, sides[1], tenant_of[1]) if one.will else "(not there)",
        ]
        for one in found.bottlenecks
    ]
    return table(["bottleneck", "stops before", "stops after"], rows, "<<<", screen)


def bottleneck_name(one: Bottleneck) -> str:
    """`gpu on h[01-03]`, `limit of vision (gpu)`, `spread of web on m[1-3]`."""
    where = f" on {listing(compress(one.machines), most=_RANGES)}" if one.machines else ""
    if one.kind is Kind.LIMIT:
        return f"limit of {escaped(one.who or '')} ({one.resource})"
    if one.kind is Kind.SPREAD:
        return f"spread of {escaped(one.who or '')}{where}"
    return f"{one.resource}{where or ' in the cluster'}"


def _stops(level: Level | None, allocation: Allocation, tenant_of: dict[str, str]) -> str:
    if level is None:
        return "-"
    froze = who_froze(allocation.levels[level.index], tenant_of)
    return f"{listing(froze, most=_NAMES)} at {number(level.share)}"


def summary(found: WhatIf) -> Iterator[str]:
    """Sentences on gains and losses, those with the largest changes first, and on the scales."""
    parts = []
    for word, way in (("gain", 1), ("lose", -1)):
        who = [job for job in found.jobs if job.change == way]
        if who:
            who.sort(key=lambda job: -abs(job.by))
            names = [f"{escaped(job.name)} {_tasks_more(job)}" for job in who]
            does = word if len(who) > 1 else word + "s"
            parts.append(f"{counted(len(who), 'job')} {does} ({listing(names, most=3)})")
    same = sum(job.change == 0 for job in found.jobs)
    if same:
        parts.append(f"{counted(same, 'job')} {plural('runs', same)} as many tasks as before")
    if parts:
        yield f"In tasks: {listing(parts)}."
    scaled = [
        job for job in found.jobs if job.scale[0] and job.scale[1] and job.scale[0] != job.scale[1]
    ]
    if scaled:
        names = [
            f"{escaped(job.name)} {number(float(job.scale[0] or 0))}"
            f" to {number(float(job.scale[1] or 0))}"
            for job in scaled
        ]
        yield (
            "The tasks that make a share of 1 change too:"
            f" {listing(names, most=3)}. A share can fall while its tasks rise."
        )
    if not found.bottlenecks and found.jobs:
        yield f"{found.before.allocation.policy} fills no levels, so it names no bottlenecks."


def _tasks_more(job: Moved) -> str:
    return f"{'+' if job.change > 0 else '-'}{number(abs(job.by), _DIGITS + 1)}"
