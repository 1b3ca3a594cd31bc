"""Tenants that are below their fair share though it has what it is guaranteed: shares are
divisible, and tasks are whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.scheduling.core import Core
from fairlead.scheduling.reading.present import Jobs
from fairlead.service.fairness.causes import Cause, DisplayName, cause_of
from fairlead.service.fairness.shortfalls import CLOSE, Measured
from fairlead.sharing.problem.problem import Bools, Floats, Ints

LISTED = 5
"""So many are listed, with a cause each; to be below by part of a task is common."""


@dataclass(frozen=True, slots=True)
class Below:
    """A tenant (or a job that is its own) with tasks that wait, which has less than its fair share
    and all that it is guaranteed.

    Shares are divided by the weight. `tasks`: what the exact allocation gives its jobs, divisible;
    `whole`: what is guaranteed of that. `job` is the one that is furthest from its exact tasks,
    `cause` why no more tasks of it start."""

    tenant: str
    fair: float
    has: float
    tasks: float
    whole: int
    job: str
    cause: Cause

    @property
    def gap(self) -> float:
        return self.fair - self.has


def find_below(
    core: Core, found: Measured, quarantined: frozenset[str], display_name: DisplayName = str
) -> tuple[tuple[Below, ...], int]:
    """Those who are furthest below their fair share, and how many others are. `display_name`: what
    a reader is told of jobs' names."""
    if found.judge is None or not len(found.judge.answer.jobs.tasks):
        return (), 0
    answer, was = found.judge.answer.jobs, found.judge.question
    at = Jobs(core).places_among(was.slot, was.seq)
    tasks = np.where(at >= 0, answer.tasks[at], 0.0)
    waits = (at >= 0) & (found.waiting > 0)
    rows: list[tuple[float, float, str, Ints]] = []
    for t in np.flatnonzero(_is_below(found)).tolist():
        name, fair, has = found.tenants[t], float(found.fair[t]), float(found.share[t])
        rows.append((fair, has, name, np.array([t])))
    alone = np.flatnonzero(waits & (found.owner < 0) & (found.lacks == 0) & (found.scale > 0))
    fair_alone, has_alone = answer.share[at[alone]], found.running[alone] / found.scale[alone]
    for i in np.flatnonzero(_differ(fair_alone, has_alone)).tolist():
        name = core.book.name_of(int(found.slot[alone[i]]))
        rows.append((float(fair_alone[i]), float(has_alone[i]), name, alone[i : i + 1]))
    rows.sort(key=lambda row: row[1] - row[0])  # the furthest below first; stable
    listed = []
    beyond = found.beyond(core)
    for fair, has, name, which in rows[:LISTED]:
        jobs = (
            which if name not in found.tenants else np.flatnonzero(found.belong_to(int(which[0])))
        )
        waiting = jobs[waits[jobs]]
        if not len(waiting):
            continue
        first = waiting[np.argmax((tasks - found.running)[waiting])]
        slot = int(found.slot[first])
        cause = cause_of(core, beyond, slot, quarantined, display_name)
        whole = int(np.maximum(found.whole[jobs], 0).sum())
        total = float(tasks[jobs].sum())
        job = display_name(core.book.name_of(slot))
        whose = name if name in found.tenants else job
        listed.append(Below(whose, fair, has, total, whole, job, cause))
    return tuple(listed), max(len(rows) - LISTED, 0)


def _is_below(found: Measured) -> Bools:
    """(T,) whether a tenant has less than is fair and is not short, with tasks that wait."""
    below: Bools = _differ(found.fair, found.share) & (found.shortfall == 0)
    below &= found.tenant_waiting > 0
    return below


def _differ(fair: Floats, has: Floats) -> Bools:
    """Whether what is fair is more, beyond what sums of doubles are wrong by."""
    differ: Bools = fair - has > CLOSE * (fair + has)
    return differ
