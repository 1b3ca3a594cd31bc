"""The value of a lie to its liar: the true tasks that it can run with what it gets, whichever of
the optimal placements comes out; with whole tasks those that fit into its containers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor

import numpy as np

from fairlead.audit.finding import Input
from fairlead.audit.holdings.arrays import Held, hold
from fairlead.audit.holdings.bundle import LARGE
from fairlead.audit.outcome import Outcome, Rule
from fairlead.model.eligibility import may_use
from fairlead.model.errors import SolverError
from fairlead.model.job import Job
from fairlead.model.unrounded import EXACT, IN_DOUBLES
from fairlead.sharing.analysis.improve import Room, extremes
from fairlead.sharing.analysis.improve_exact import Space, most_of
from fairlead.sharing.certificate.arrays import Bools, Classes, Floats, Seen, see
from fairlead.sharing.policy import Policy, View

ONLY_TOTALS = ("market", "most-tasks")
"""Mechanisms that say how many tasks each job gets, and not where: every placement of these tasks
is as good for them. The others divide each machine, and their placement is the only one."""

NONE = Fraction(0)

DOUBT = 1e-6
"""A part of what the machines hold, by which two programs in doubles may be off."""


@dataclass(frozen=True)
class Range:
    """True tasks: what every optimal placement gives at least, and what one of them gives."""

    least: Fraction
    most: Fraction
    within: Fraction = EXACT  # to what part of themselves these are known


def own_job(given: Input, tenant: str) -> Job | None:
    """The only job of a tenant; None where it has several, or none."""
    mine = [job for job in given.jobs if (job.tenant or job.name) == tenant]
    return mine[0] if len(mine) == 1 else None


def claims_of(before: Input, after: Input, true: Job) -> list[Job]:
    """The jobs that stand for the job after a lie: the job of its name, or all jobs that are
    new."""
    same = [job for job in after.jobs if job.name == true.name]
    known = {job.name for job in before.jobs}
    return same or [job for job in after.jobs if job.name not in known]


def worth_of(claim: Job, true: Job, whole: bool = False) -> Fraction:
    """The true tasks that fit into the resources of one claimed task: with whole tasks into its
    container, none where it is too small by the least (CDRF, section 2.1)."""
    fit = min(claim.demand.get(r, Fraction(0)) / need for r, need in true.demand.items() if need)
    return Fraction(floor(fit)) if whole else fit


def gets(true: Job, claims: list[Job], after: Outcome, truth: Fraction | None = None) -> Range:
    """The true tasks that the liar can run with what its claims get, at most its own number: on
    machines that it can truly use, in the worst and in the best of the optimal placements.

    Where the rule looks at one machine that holds everything there is no placement, and tasks are
    all that is counted. The job may not spread. Whole tasks are counted in the placement that came
    out, where machines that the liar cannot use may be among those that it claimed; of a lottery,
    in expectation. Where doubles say that the worst placement gives much less than the `truth`,
    they are believed.
    """
    if after.whole:
        return _in_containers(true, claims, after)
    shares = {share.name: share for share in after.allocation.jobs}
    worth = {claim.name: worth_of(claim, true) for claim in claims}
    numbers = after.numbers
    whole = sum((worth[claim.name] * numbers.tasks[claim.name] for claim in claims), NONE)
    all_of_it = Range(_at_most(true, whole), _at_most(true, whole), numbers.within)
    if whole == 0 or any(shares[claim.name].placements is None for claim in claims):
        return all_of_it
    given = after.input
    taken = {job.name for job in given.jobs}
    name = next(n for i in range(len(taken) + 1) if (n := f"true{i}") not in taken)
    seen = see(given.cluster, (*given.jobs, replace(true, name=name, tenant=None)))
    kinds = seen.all_kinds
    really = kinds.usable[-1]
    rows = [seen.job[claim.name] for claim in claims]
    if not (kinds.usable[rows] & ~really).any():
        return all_of_it  # it can use every machine that it claims
    if _placed_in_one_way(after.rule):
        held = hold(after)
        found = sum(
            (worth[claim.name] * _usable_part(held, claim.name, true) for claim in claims), NONE
        )
        return Range(_at_most(true, found), _at_most(true, found), held.within)
    by_row = {seen.job[name]: each for name, each in worth.items()}
    least, most, within = _over_the_face(seen, kinds, after, really, by_row, truth)
    return Range(_at_most(true, least), _at_most(true, min(most, whole)), within)


def _at_most(true: Job, tasks: Fraction) -> Fraction:
    return tasks if true.tasks is None else min(tasks, Fraction(true.tasks))


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
    chances = [(one.probability, one.packings) for one in whole.lottery]
    least = most = NONE
    for probability, packings in chances or [(Fraction(1), whole.packings)]:
        # On each machine so many true tasks: which machines of a class those are is not said.
        low = high = NONE
        for index, names in members.items():
            mine = [
                (
                    sum((worth.get(name, NONE) * count for name, count in one.jobs), NONE),
                    one.machines,
                )
                for one in packings
                if one.machine_class == index
            ]
            mine.append((NONE, len(names) - sum((number for _, number in mine), NONE)))
            low += _of_so_many(sorted(mine), usable[index])
            high += _of_so_many(sorted(mine, reverse=True), usable[index])
        least += probability * _at_most(true, low)
        most += probability * _at_most(true, high)
    return Range(least, most)


def _of_so_many(each: list[tuple[Fraction, Fraction]], machines: int) -> Fraction:
    """The tasks that the first so many machines have together."""
    total, left = NONE, Fraction(machines)
    for tasks, number in each:
        total += tasks * min(number, left)
        left -= min(number, left)
    return total


def _placed_in_one_way(rule: Rule) -> bool:
    if isinstance(rule, Policy):
        return rule.view is View.EACH_MACHINE
    return not rule.spec.startswith(ONLY_TOTALS)


def _usable_part(held: Held, name: str, true: Job) -> Fraction:
    """The claimed tasks on machines that the liar can use: each machine of a class has an equal
    part."""
    allocation, machines = held.outcome.allocation, held.seen.machines
    found = NONE
    placed = held.placed.get(held.seen.job[name], {})
    for each in allocation.classes:
        tasks = placed.get(held.classes.column[each.index])
        if tasks:
            mine = sum(may_use(true, machines[held.seen.machine[m]]) for m in each.machines)
            found += tasks * mine / len(each.machines)
    return found


def _over_the_face(
    seen: Seen,
    kinds: Classes,
    after: Outcome,
    really: Bools,
    worth: dict[int, Fraction],
    truth: Fraction | None,
) -> tuple[Fraction, Fraction, Fraction]:
    """The least and the most over all placements in which every job has the tasks it got, and to
    what part of itself that is known: in rationals unless there are very many places."""
    numbers = after.numbers
    # Jobs that are alike are one: which of them runs where does not matter.
    place: dict[tuple[object, ...], int] = {}
    jobs: list[int] = []
    amount: list[Fraction] = []
    for share in after.allocation.jobs:
        j = seen.job[share.name]
        if not numbers.tasks[share.name]:
            continue
        alone = j in worth or bool(seen.spread[j])
        key = (tuple(seen.need[j].tolist()), kinds.usable[j].tobytes(), j if alone else None)
        if key not in place:
            place[key] = len(jobs)
            jobs.append(j)
            amount.append(NONE)
        amount[place[key]] += numbers.tasks[share.name]
    usable = kinds.usable[jobs]
    large = bool(numbers.within) or int(np.count_nonzero(usable)) > LARGE
    if large or truth is not None:
        valued: Floats = np.zeros((len(jobs), len(really)))
        for row, j in enumerate(jobs):
            if j in worth:
                valued[row, really] = float(worth[j])
        tasks = np.array([float(each) for each in amount])
        near = _nearly(
            Room(
                demand=seen.demand[jobs],
                usable=usable,
                capacity=kinds.total,
                most=np.where(seen.spread[jobs][:, None], kinds.count[None, :], np.inf),
                floor=tasks,
                ceiling=tasks,
                unit=tasks,
                worth=valued,
            ),
            large=large,
        )
        # They leave a hundred millionth of what others have open, which is much to who has little.
        room = DOUBT * float((valued * usable * kinds.holds[jobs] * kinds.count).sum())
        if near is not None and (large or (truth is not None and near[0] + room < truth)):
            return Fraction(near[0]), Fraction(near[1]), max(numbers.within, IN_DOUBLES)
    value = {
        (row, c): worth[jobs[row]] if jobs[row] in worth and really[c] else NONE
        for row, c in np.argwhere(usable).tolist()
    }
    space = Space(
        demand=[[Fraction(need) for need in seen.need[j].tolist()] for j in jobs],
        capacity=[[Fraction(int(each)) for each in row] for row in kinds.all],
        floor=amount,
        ceiling=amount,
        worth=value,
        most={
            (row, c): Fraction(int(kinds.count[c])) for row, c in value if seen.spread[jobs[row]]
        },
    )
    found = []
    for sign in (-1, 1):
        best = most_of(replace(space, worth={at: sign * each for at, each in value.items()}))
        assert best is not None  # the placement that came out
        found.append(sum((value[at] * tasks for at, tasks in best.items()), NONE))
    return found[0], found[1], EXACT


def _nearly(room: Room, *, large: bool) -> tuple[float, float] | None:
    try:
        return extremes(room)
    except SolverError:
        if large:
            raise
        return None
