"""What a liar has of its lie: the true tasks that it can run with what it gets, whichever of the
optimal placements comes out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairlead.audit.finding import Input
from fairlead.audit.outcome import Outcome, Rule
from fairlead.model.job import Job
from fairlead.sharing.certificate.seen import Bools, Classes, Floats, Seen, see
from fairlead.sharing.face import Face, extremes
from fairlead.sharing.policy import Policy, View

ONLY_TOTALS = ("market", "most-tasks")
"""Mechanisms that say how many tasks each job gets, and not where: every placement of these tasks
is as good for them. The others divide each machine, and their placement is the only one."""


@dataclass(frozen=True)
class Range:
    """True tasks: what every optimal placement gives at least, and what one of them gives."""

    least: float
    most: float


def own_job(given: Input, tenant: str) -> Job | None:
    """The only job of a tenant; None where it has several, or none."""
    mine = [job for job in given.jobs if (job.tenant or job.name) == tenant]
    return mine[0] if len(mine) == 1 else None


def claims_of(before: Input, after: Input, true: Job) -> list[Job]:
    """What stands for the job after a lie: the job of its name, or all jobs that are new."""
    same = [job for job in after.jobs if job.name == true.name]
    known = {job.name for job in before.jobs}
    return same or [job for job in after.jobs if job.name not in known]


def worth_of(claim: Job, true: Job) -> float:
    """The true tasks that fit into the resources of one claimed task."""
    return float(min(claim.demand.get(r, 0) / need for r, need in true.demand.items() if need))


def gets(true: Job, claims: list[Job], after: Outcome) -> Range:
    """The true tasks that the liar can run with what its claims get, at most its own number: on
    machines that it can truly use, in the worst and in the best of the optimal placements.

    Where the rule looks at one machine that holds everything there is no placement, and tasks are
    all that is counted. The job may not spread.
    """
    shares = {share.name: share for share in after.allocation.jobs}
    worth = {claim.name: worth_of(claim, true) for claim in claims}
    cap = np.inf if true.tasks is None else float(true.tasks)
    whole = sum(worth[claim.name] * shares[claim.name].tasks for claim in claims)
    all_of_it = Range(min(cap, whole), min(cap, whole))
    if whole == 0 or any(shares[claim.name].placements is None for claim in claims):
        return all_of_it
    given = after.input
    taken = {job.name for job in given.jobs}
    name = next(n for i in range(len(taken) + 1) if (n := f"true{i}") not in taken)
    seen = see(given.cluster, (*given.jobs, replace(true, name=name, tenant=None)))
    kinds = seen.all_kinds()
    really = kinds.usable[-1]
    rows = [seen.job[claim.name] for claim in claims]
    if not (kinds.usable[rows] & ~really).any():
        return all_of_it  # it can use every machine that it claims
    if _placed_in_one_way(after.rule):
        found = sum(
            worth[claim.name] * _usable_part(seen, after, claim.name, really) for claim in claims
        )
        return Range(min(cap, found), min(cap, found))
    least, most = _over_the_face(
        seen, kinds, after, really, {seen.job[n]: w for n, w in worth.items()}
    )
    return Range(min(cap, least), min(cap, most, whole))


def _placed_in_one_way(rule: Rule) -> bool:
    if isinstance(rule, Policy):
        return rule.view is View.EACH_MACHINE
    return not rule.spec.startswith(ONLY_TOTALS)


def _usable_part(seen: Seen, after: Outcome, name: str, really: Bools) -> float:
    """The claimed tasks on machines that the liar can use: each machine of a class has an equal
    part."""
    members = {each.index: each.machines for each in after.allocation.classes}
    found = 0.0
    for place in after.allocation.job(name).placements or ():
        machines = members[place.machine_class]
        mine = sum(bool(really[seen.kind[seen.machine[machine]]]) for machine in machines)
        found += place.tasks * mine / len(machines)
    return found


def _over_the_face(
    seen: Seen, kinds: Classes, after: Outcome, really: Bools, worth: dict[int, float]
) -> tuple[float, float]:
    """The least and the most over all placements in which every job has the tasks it got."""
    tasks = np.zeros(len(seen.names))
    for share in after.allocation.jobs:
        tasks[seen.job[share.name]] = share.tasks
    # Jobs that are alike are one: which of them runs where does not matter.
    place: dict[tuple[object, ...], int] = {}
    jobs: list[int] = []
    amount: list[float] = []
    for j in np.flatnonzero(tasks > 0).tolist():
        alone = j in worth or bool(seen.spread[j])
        key = (seen.demand[j].tobytes(), kinds.usable[j].tobytes(), j if alone else None)
        if key not in place:
            place[key] = len(jobs)
            jobs.append(j)
            amount.append(0.0)
        amount[place[key]] += float(tasks[j])
    valued: Floats = np.zeros((len(jobs), len(really)))
    for row, j in enumerate(jobs):
        if j in worth:
            valued[row, really] = worth[j]
    count = kinds.count[None, :]
    return extremes(
        Face(
            demand=seen.demand[jobs],
            usable=kinds.usable[jobs],
            capacity=kinds.total,
            most=np.where(seen.spread[jobs][:, None], count, np.inf),
            tasks=np.array(amount),
        ),
        valued,
    )
