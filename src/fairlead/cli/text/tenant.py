"""The explanation of a tenant in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.audit.tenant import OF_ALL, TenantExplanation, Try
from fairlead.cli.common.screen import Screen, table, wrap
from fairlead.cli.text.explanation import bullet, change_briefly, change_in_words, ends
from fairlead.model.machine import Machine
from fairlead.model.report import nowhere_sentence
from fairlead.model.words import counted, escaped, listing, number, percent
from fairlead.sharing.analysis.stop_names import reasons

_DIGITS = 4  # significant digits of what would be gained
_JOBS = 4  # jobs that a sentence names before it counts the rest
_CHANGES = 8  # changes that would raise it, best first


def tenant_lines(why: TenantExplanation, screen: Screen) -> Iterator[str]:
    yield from wrap(" ".join(_answer(why)), screen)
    if not why.jobs:
        return
    yield ""
    yield screen.bold("What its jobs hold, and what stops them")
    yield from _jobs(why, screen)
    never = [(escaped(job.name), job.nowhere) for job in why.jobs if job.nowhere is not None]
    for name, nowhere in never[:_JOBS]:
        yield from wrap(f"{name} can never run: {nowhere_sentence(nowhere)}", screen, "  ")
    if more := never[_JOBS:]:
        yield from wrap(f"{counted(len(more), 'more job')} can never run.", screen, "  ")
    if why.own is not None:
        yield ""
        yield screen.bold("What is its own")
        yield from wrap(_own(why), screen, "  ")
    if why.waiting:
        yield ""
        yield screen.bold("What would raise its share")
        yield from _raising(why, screen)


def _answer(why: TenantExplanation) -> Iterator[str]:
    tenant, allocation = why.tenant, why.outcome.allocation
    name = escaped(tenant.name)
    if not why.jobs:
        yield f"Tenant {name} has no jobs, so its share is 0."
        return
    runs = [f"{counted(job.tasks, 'task')} of {escaped(job.name)}" for job in why.jobs]
    if len(runs) > _JOBS:
        runs = [f"{counted(sum(job.tasks for job in why.jobs), 'task')} of {len(runs)} jobs"]
    below = "" if tenant.parent is None else f" below {escaped(tenant.parent)}"
    yield f"Tenant {name}{below} runs {listing(runs)} under {allocation.policy}."
    yield (
        f"Its share is {number(tenant.share)} (weight {number(tenant.weight)}): the sum over its"
        " jobs of tasks ÷ the tasks of one unit of share, divided by its weight."
    )


def _jobs(why: TenantExplanation, screen: Screen) -> list[str]:
    given = why.outcome.input
    stops = reasons(given.cluster, given.jobs, why.outcome.allocation)
    limits = {job.name: job.tasks for job in given.jobs}
    finite = any(limits[job.name] is not None for job in why.jobs)
    rows = []
    for job in why.jobs:
        limit = limits[job.name]
        of = ["" if limit is None else number(float(limit))] * finite
        name = escaped(job.name)
        if job.tenant != why.tenant.name:
            name += f" ({escaped(job.tenant)})"
        rows.append([name, number(job.tasks), *of, number(job.alone), stops[job.name]])
    header = ["job", "tasks", *["of"] * finite, "alone", "stopped by"]
    return [f"  {line}" for line in table(header, rows, "<>" + ">" * finite + "><", screen)]


def _own(why: TenantExplanation) -> str:
    """Sentences on what it could have in its pool or its part of each machine."""
    assert why.own is not None
    if len(why.jobs) > 1 and why.own.before <= why.own.after:
        whose = "its pool" if why.pooled else "its part of each machine, by the weights"
        return f"With no more than {whose}, it could have no larger share."
    less = " So it has less than that." if why.own.slack > 0 else ""
    return f"{escaped(why.own.sentence)}{less}"


def _raising(why: TenantExplanation, screen: Screen) -> Iterator[str]:
    machine = {machine.name: machine for machine in why.outcome.input.cluster.machines}
    useful = [one for one in why.tries if not why.tried or one.moves > 0]
    for one in useful[:_CHANGES]:
        yield from bullet(f"{_change(why, one, machine)}: {_brings(why, one)}", screen)
    if not useful:
        yield "  None of the small changes suggested by the prices."
    if less := [f"{_briefly(one)} ({_brings(why, one)})" for one in why.tries if one.moves < 0]:
        text = f"Tried, with a smaller share: {listing(less, most=_CHANGES)}."
        yield from wrap(text, screen, "  ")
    if useless := [_briefly(one) for one in why.tries if why.tried and not one.moves]:
        yield from wrap(f"Tried without effect: {listing(useless, most=_CHANGES)}.", screen, "  ")
    if not why.tried:
        text = "The input is large, so none was tried: `fairlead whatif` shares again with one."
        yield from wrap(text, screen, "  ")


def _change(why: TenantExplanation, one: Try, machine: dict[str, Machine]) -> str:
    if one.change is None or one.why is None:
        weights = (float(one.weight or 0), why.tenant.weight)
        return f"With weight {number(weights[0])} instead of {number(weights[1])}"
    text = change_in_words(one.why, one.change, machine)
    if text.startswith("With"):  # of one job: its constraint, its spread, its demand
        return f"{escaped(one.why.job.name)} {text[:1].lower()}{text[1:]}"
    return text


def _brings(why: TenantExplanation, one: Try) -> str:
    if one.share is None:
        slope = None if one.change is None else one.change.slope
        if slope is None or one.why is None:
            return "there is room to gain, by the prices"
        job = escaped(one.why.job.name)
        return f"initially about {number(slope, _DIGITS)} tasks more of {job}, by the prices"
    had = why.tenant.share
    by = f"{percent(abs(one.share - had), had)} {'less' if one.moves < 0 else 'more'}"
    gain = by if had else "more than none"
    moved = [
        f"{escaped(name)} {'+' if more > 0 else ''}{number(more, _DIGITS)}"
        for name, more in one.jobs
    ]
    end = "" if one.change is None or one.why is None else ends(one.why, one.change)
    return f"{gain} (tasks: {listing(moved, most=_JOBS)}){end}"


def _briefly(one: Try) -> str:
    if one.change is None or one.why is None:
        return f"weight {number(float(one.weight or 0))}"
    text = change_briefly(one.change)
    own = one.change.kind not in OF_ALL
    return f"{text} of {escaped(one.why.job.name)}" if own else text
