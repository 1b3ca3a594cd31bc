"""Pareto optimality: could anybody run more without anybody running less?"""

from __future__ import annotations

import numpy as np

from fairlead.audit.finding import Finding
from fairlead.audit.held import POOLED, Held, hold
from fairlead.audit.outcome import Options, Outcome, Shown
from fairlead.audit.property import Property, holds, not_applicable, violated
from fairlead.audit.tolerance import TOLERANCE, shortfall
from fairlead.model.report import rounded
from fairlead.model.words import counted
from fairlead.sharing.certificate.seen import Bools, Floats, Ints
from fairlead.sharing.improve import Cap, Room, best

NAME = "pareto-optimality"

NOISE = 1e-8
"""A gain of this part of what a job has, or should have, is none: the rows of the program hold to
1e-9 of it. Who has nothing at all would else gain infinitely by a rounding."""


def check(outcome: Outcome, options: Options) -> Finding:  # noqa: ARG001  exact: nothing to search
    """Whether anybody could run more while nobody runs less (TSF, Definition 4).

    One linear program: of all allocations that give every job at least what it has, the one with
    the largest sum of gains, each in parts of what its job has or should have by its weight. The
    witness is that better allocation.
    """
    held = hold(outcome)
    if not held.parties:
        return not_applicable(NAME, outcome, "nobody can run anything")
    if held.tasks is None:
        return not_applicable(NAME, outcome, POOLED.format(policy=outcome.rule.spec))
    better = improved(held)
    found = []
    for party in held.parties:
        shown = _shown(held, party.name, better)
        if shown is not None and shown.slack > TOLERANCE:
            found.append(((party.name,), None, shown))
    counts = (("tenants", len(held.parties)), ("could gain", len(found)))
    if found:
        return violated(NAME, outcome, found, counts=counts)
    return holds(NAME, outcome, counts=counts)


def measure(
    outcome: Outcome,
    changed: Outcome | None,  # noqa: ARG001  the property is about no change
    who: tuple[str, ...],
) -> Shown | None:
    """What the tenant would run in the better allocation, and what it runs."""
    held = hold(outcome)
    if held.tasks is None or not held.parties:
        return None
    return _shown(held, who[0], improved(held))


def improved(held: Held) -> Floats:
    """(J,) the tasks of each job in the best allocation in which nobody has less."""
    assert held.tasks is not None  # the callers have seen to that
    seen, tasks = held.seen, held.tasks
    runs = np.flatnonzero(held.classes.runs)
    part = np.zeros(len(held.total))
    for party, weight in zip(held.parties, held.weight, strict=True):
        part[party.jobs] = weight / len(party.jobs)
    alone = np.where(held.classes.usable, held.classes.holds, 0.0) @ held.classes.count
    size = np.maximum(held.total, part * alone)
    kinds, of_job = _kinds(held, runs)
    count = len(kinds)

    def together(values: Floats) -> Floats:
        total: Floats = np.bincount(of_job, values[runs], minlength=count).astype(float)
        return total

    first = runs[kinds]
    placed = np.zeros((count, tasks.shape[1]))
    np.add.at(placed, of_job, tasks[runs])
    used = np.zeros_like(held.classes.total)
    for r in range(used.shape[1]):
        used[:, r] = tasks.T @ seen.demand[:, r]
    floor, unit = together(held.total), together(size)
    # What is there, or what the allocation uses where rounding made that a trifle more.
    found = best(
        Room(
            demand=seen.demand[first],
            usable=held.classes.usable[first],
            capacity=np.maximum(held.classes.total, used),
            most=np.where(
                seen.spread[first][:, None],
                np.maximum(held.classes.count[None, :], placed),
                np.inf,
            ),
            floor=floor,
            ceiling=np.maximum(together(seen.tasks), floor),
            unit=unit,
            worth=1.0 / unit,
            caps=_caps(held, runs, of_job, count),
        ),
        (placed > 0) | _free(held, used)[None, :],
    )
    assert found is not None  # the allocation itself gives every job its floor
    gain = found.sum(axis=1) - floor
    gain[gain <= NOISE * unit] = 0.0
    room = np.where(np.isfinite(seen.tasks), np.maximum(seen.tasks - held.total, 0.0), np.inf)
    better: Floats = held.total.copy()
    for kind in np.flatnonzero(gain > 0):
        left = float(gain[kind])
        for job in runs[of_job == kind]:  # alike: any of them may take it
            more = min(left, float(room[job]))
            better[job] += more
            left -= more
    return better


def _kinds(held: Held, runs: Ints) -> tuple[Ints, Ints]:
    """Jobs that are alike gain together: the first of each kind (an index into `runs`), and the
    kind of each. A job that spreads is alike with nobody."""
    known: dict[tuple[object, ...], int] = {}
    first: list[int] = []
    kind: list[int] = []
    for place, job in enumerate(runs):
        limits = tuple(k for k, limit in enumerate(held.limits) if job in limit.jobs)
        key: tuple[object, ...] = (
            held.seen.demand[job].tobytes(),
            held.classes.usable[job].tobytes(),
            limits,
            int(job) if held.seen.spread[job] else None,
        )
        if key not in known:
            known[key] = len(first)
            first.append(place)
        kind.append(known[key])
    return np.array(first), np.array(kind)


def _caps(held: Held, runs: Ints, of_job: Ints, count: int) -> tuple[Cap, ...]:
    found = []
    for limit in held.limits:
        need = np.zeros(count)
        mine = np.isin(runs, limit.jobs)
        need[of_job[mine]] = held.seen.demand[runs[mine], limit.resource]
        now = float(held.seen.demand[limit.jobs, limit.resource] @ held.total[limit.jobs])
        found.append(Cap(need, max(limit.amount, now)))
    return tuple(cap for cap in found if cap.need.any())


def _free(held: Held, used: Floats) -> Bools:
    """(C,) the classes on which something of every resource that they have is left."""
    total = held.classes.total
    left = np.where(total > 0, total - used, np.inf)
    free: Bools = (left > TOLERANCE * total).min(axis=1)
    return free


def _shown(held: Held, tenant: str, better: Floats) -> Shown | None:
    party = next((each for each in held.parties if each.name == tenant), None)
    if party is None:
        return None
    # The job that gains most tells it: the others of the tenant have at least what they had.
    gains = [shortfall(float(better[j]), float(held.total[j])) for j in party.jobs]
    job = int(party.jobs[int(np.argmax(gains))])
    name, has, could = held.seen.names[job], float(held.total[job]), float(better[job])
    return Shown(
        before=could,
        after=has,
        slack=max(gains),
        sentence=(
            f"{name} gets {counted(has, 'task')}; it could have {counted(could, 'task')} while"
            " nobody has less."
        ),
        jobs=tuple(
            (name, rounded(float(tasks)) or 0.0)
            for name, tasks in zip(held.seen.names, better, strict=True)
        ),
    )


PROPERTY = Property(NAME, "nobody could run more without another running less", check, measure)
