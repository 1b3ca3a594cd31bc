"""The output of `fairlead trace info`: the numbers of a workload as tables, or as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from fairlead.cli.common.screen import Screen, table, wrap
from fairlead.model.report import Tree, rounded
from fairlead.model.words import amounts, counted, escaped, number
from fairlead.simulation.traces.describing import PERCENTS, Description
from fairlead.simulation.traces.registry import meanings
from fairlead.simulation.workload import Workload

SCHEMA = "fairlead.trace-info/1"
SECOND = 1_000_000
MOST_TERMS = 20
"""Rows of the table of terms; the rest is counted."""


def lines(workload: Workload, found: Description, screen: Screen) -> list[str]:
    """The tables and the sentences for people."""
    parts = [
        _summary(workload, found, screen),
        _percentiles(workload, found, screen),
        _terms(found, screen),
        _load(workload, found, screen),
        _notes(workload, screen),
        _options(workload, screen),
    ]
    text: list[str] = []
    for part in parts:
        if part:
            text += ([""] if text else []) + part
    return text


def _summary(workload: Workload, found: Description, screen: Screen) -> list[str]:
    rows = [["machines", _machines(found)]]
    if found.machines:
        rows.append(["capacity", ", ".join(_capacities(workload, found))])
    rows.append(["jobs", f"{found.jobs} with {counted(found.tasks, 'task')}"])
    if found.jobs:
        owners = [counted(found.tenants, "tenant")] if found.tenants or not found.jobs_alone else []
        if found.jobs_alone:
            owners.append(f"{counted(found.jobs_alone, 'job')} of their own")
        rows.append(["shared by", ", ".join(owners)])
        rows.append(["submitted", _span(found)])
        rows.append(["demands", f"{found.demand_vectors} different"])
        constrained = (
            f"{found.constrained_jobs} jobs with {counted(found.constrained_tasks, 'task')}"
        )
        rows.append(["constrained", constrained if found.constrained_jobs else "no job"])
        if found.spread_jobs:
            spread = f"{found.spread_jobs} jobs with {counted(found.spread_tasks, 'task')}"
            rows.append(["spread", spread])
        if found.gang_jobs:
            rows.append(["gangs", counted(found.gang_jobs, "job")])
        if found.machines:
            nowhere = f"{counted(found.nowhere_jobs, 'job')} with"
            nowhere = f"{nowhere} {counted(found.nowhere_tasks, 'task')}"
            rows.append(["fit nowhere", nowhere if found.nowhere_jobs else "no job"])
    return [screen.bold(escaped(workload.name)), *table(["", ""], rows, "<<", screen)]


def _machines(found: Description) -> str:
    text = f"{found.machines} at the start"
    if found.machines_ever != found.machines or found.machine_events != found.machines:
        text += f", {found.machines_ever} ever, {counted(found.machine_events, 'event')}"
    kinds = found.configurations
    return f"{text}; {kinds} different" if found.machines else "none"


def _capacities(workload: Workload, found: Description) -> Iterator[str]:
    for resource, units in zip(workload.resources, found.capacity, strict=True):
        yield f"{amounts([float(units * resource.unit)])[0]} {escaped(resource.name)}"


def _span(found: Description) -> str:
    first, last = found.first_submission or 0, found.last_submission or 0
    if first == last:
        return f"all at {_seconds(first)} s"
    return f"from {_seconds(first)} s to {_seconds(last)} s"


def _seconds(time: float) -> str:
    return number(time / SECOND)


def _percentiles(workload: Workload, found: Description, screen: Screen) -> list[str]:
    header = ["percentiles", *(f"p{percent}" for percent in PERCENTS[:-1]), "max"]
    rows = []
    if found.tasks_of_jobs is not None:
        rows.append(["tasks of a job", *map(str, found.tasks_of_jobs)])
    if found.durations is not None:
        rows.append(["duration, s", *map(_seconds, found.durations)])
    for resource, units in zip(workload.resources, found.demands, strict=True):
        if units is not None:
            values = amounts([float(amount * resource.unit) for amount in units])
            rows.append([f"{escaped(resource.name)} of a task", *values])
    if found.eligible is not None:
        shares = [_percent(share) for share in found.eligible]
        rows.append(["machines a job may use", *shares])
    return table(header, rows, "<" + ">" * len(PERCENTS), screen) if rows else []


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{number(100 * share, 3)}%"


def _terms(found: Description, screen: Screen) -> list[str]:
    if not found.terms:
        return []
    order = sorted(found.terms, key=lambda term: (-term[1], term[0]))
    rows = [
        [str(jobs), str(machines), escaped(text)] for text, jobs, machines in order[:MOST_TERMS]
    ]
    text = table(["jobs", "machines", "that satisfy"], rows, ">><", screen)
    if len(order) > MOST_TERMS:
        text.append(f"and {counted(len(order) - MOST_TERMS, 'term')} more")
    return text


def _load(workload: Workload, found: Description, screen: Screen) -> list[str]:
    if not found.jobs or not found.machines:
        return []
    names = [escaped(resource.name) for resource in workload.resources]
    rows = [["all tasks at once", *map(_percent, found.at_once)]]
    rows += [
        [f"{_seconds(part.begin)}-{_seconds(part.end)} s", *map(_percent, part.share)]
        for part in found.load
    ]
    return table(["asked of capacity", *names], rows, "<" + ">" * len(names), screen)


def _notes(workload: Workload, screen: Screen) -> list[str]:
    if not workload.notes:
        return []
    text = [screen.bold("found, missing, assumed")]
    for note in workload.notes:
        first, *rest = wrap(escaped(note), screen, "  ")
        text += ["-" + first[1:], *rest]
    return text


def _options(workload: Workload, screen: Screen) -> list[str]:
    if not workload.options:
        return []
    known = meanings(workload.name)
    rows = [
        [escaped(name), escaped(value), known.get(name, "")]
        for name, value in workload.options.items()
    ]
    return table(["option", "value", "what it says"], rows, "<<<", screen)


def tree(workload: Workload, found: Description) -> Tree:
    """The numbers as data: times in seconds, amounts as people give them, shares of 1."""
    units = [(resource.name, resource.unit) for resource in workload.resources]
    names = [name for name, _ in units]
    return {
        "schema": SCHEMA,
        "name": workload.name,
        "resources": [
            {"name": each.name, "unit": str(each.unit), "device": each.device}
            for each in workload.resources
        ],
        "machines": {
            "at_start": found.machines,
            "ever": found.machines_ever,
            "events": found.machine_events,
            "configurations": found.configurations,
            "capacity": {
                name: _amount(amount, unit)
                for (name, unit), amount in zip(units, found.capacity, strict=True)
            },
        },
        "jobs": found.jobs,
        "tasks": found.tasks,
        "tenants": found.tenants,
        "jobs_without_tenant": found.jobs_alone,
        "submitted_seconds": None
        if found.first_submission is None or found.last_submission is None
        else [found.first_submission / SECOND, found.last_submission / SECOND],
        "tasks_of_a_job": _by_percentile(found.tasks_of_jobs),
        "duration_seconds": _by_percentile(_seconds_of(found.durations)),
        "demand": {
            name: _by_percentile(
                None if values is None else [_amount(value, unit) for value in values]
            )
            for (name, unit), values in zip(units, found.demands, strict=True)
        },
        "demand_vectors": found.demand_vectors,
        "spread": {"jobs": found.spread_jobs, "tasks": found.spread_tasks},
        "gangs": {"jobs": found.gang_jobs},
        "constrained": {"jobs": found.constrained_jobs, "tasks": found.constrained_tasks},
        "terms": [
            {"term": text, "jobs": jobs, "machines": machines}
            for text, jobs, machines in found.terms
        ],
        "eligible_machines": _by_percentile(found.eligible),
        "fit_nowhere": {"jobs": found.nowhere_jobs, "tasks": found.nowhere_tasks},
        "all_at_once": {
            name: rounded(share) for name, share in zip(names, found.at_once, strict=True)
        },
        "load": [
            {
                "from_seconds": part.begin / SECOND,
                "to_seconds": part.end / SECOND,
                "share": {
                    name: rounded(share) for name, share in zip(names, part.share, strict=True)
                },
            }
            for part in found.load
        ],
        "notes": list(workload.notes),
        "options": dict(workload.options),
    }


def _amount(units: int, unit: Fraction) -> float:
    """Whole amounts stay exact: bytes have more digits than other results."""
    amount = units * unit
    return amount.numerator if amount.denominator == 1 else float(f"{float(amount):.12g}")


def _seconds_of(times: Sequence[int] | None) -> list[float] | None:
    return None if times is None else [time / SECOND for time in times]


def _by_percentile(values: Sequence[float] | None) -> dict[str, float] | None:
    if values is None:
        return None
    keys = [*(f"p{percent}" for percent in PERCENTS[:-1]), "max"]
    return dict(zip(keys, values, strict=True))
