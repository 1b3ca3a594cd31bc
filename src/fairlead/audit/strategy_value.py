"""What a liar has of its lie: the true tasks that it can run with what it gets, whichever of the
optimal placements comes out; with whole tasks those that fit into its containers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor

import numpy as np

from fairlead.audit.finding import Input
from fairlead.audit.outcome import Outcome, Rule
from fairlead.model.eligibility import may_use
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


def worth_of(claim: Job, true: Job, whole: bool = False) -> float:
    """The true tasks that fit into the resources of one claimed task: with whole tasks into its
    container, none where it is too small by the least (CDRF, section 2.1)."""
    fit = min(claim.demand.get(r, Fraction(0)) / need for r, need in true.demand.items() if need)
    return float(floor(fit) if whole else fit)


def gets(true: Job, claims: list[Job], after: Outcome) -> Range:
    """The true tasks that the liar can run with what its claims get, at most its own number: on
    machines that it can truly use, in the worst and in the best of the optimal placements.

    Where the rule looks at one machine that holds everything there is no placement, and tasks are
    all that is counted. The job may not spread. Whole tasks are counted in the placement that came
    out, where machines that the liar cannot use may be among those that it claimed; of a lottery,
    in expectation.
    """
    if after.whole:
        return _in_containers(true, claims, after)
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


def _in_containers(true: Job, claims: list[Job], after: Outcome) -> Range:
    whole = after.allocation.whole
    assert whole is not None  # the caller has whole tasks
    worth = {claim.name: worth_of(claim, true, whole=True) for claim in claims}
    machines = {machine.name: machine for machine in after.input.cluster.machines}
    members = {each.index: each.machines for each in after.allocation.classes}
    usable = {
        index: sum(may_use(true, machines[name]) for name in names)
        for index, names in members.items()
    }
    cap = np.inf if true.tasks is None else float(true.tasks)
    chances = [(one.probability, one.packings) for one in whole.lottery]
    least = most = 0.0
    for probability, packings in chances or [(Fraction(1), whole.packings)]:
        # On each machine so many true tasks: which machines of a class those are is not said.
        low = high = 0.0
        for index, names in members.items():
            mine = [
                (sum(worth.get(name, 0.0) * count for name, count in one.jobs), int(one.machines))
                for one in packings
                if one.machine_class == index
            ]
            mine.append((0.0, len(names) - sum(number for _, number in mine)))
            low += _of_so_many(sorted(mine), usable[index])
            high += _of_so_many(sorted(mine, reverse=True), usable[index])
        least += float(probability) * min(cap, low)
        most += float(probability) * min(cap, high)
    return Range(least, most)


def _of_so_many(each: list[tuple[float, int]], machines: int) -> float:
    """What the first so many machines have together."""
    total = 0.0
    for tasks, number in each:
        total += tasks * min(number, machines)
        machines -= min(number, machines)
    return total


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
