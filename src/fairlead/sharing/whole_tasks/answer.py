"""Whole tasks by name: the allocation as people read it, after it was seen to fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq

from fairlead.model.allocation import Allocation
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.never import why_never
from fairlead.model.shares import Certificate, JobShare, Placement, Tasks
from fairlead.model.wholes import Chance, Distance, Packing, Whole
from fairlead.model.words import listing
from fairlead.sharing.filling import names as back
from fairlead.sharing.filling.names import Names, rounded
from fairlead.sharing.filling.pool_weights import Weights
from fairlead.sharing.filling.rates import rates
from fairlead.sharing.numbers.amounts import nearest, rational, rationals
from fairlead.sharing.problem.compile import compile_problem
from fairlead.sharing.problem.problem import Floats, Problem
from fairlead.sharing.whole_tasks.counts import Counts, counts_of
from fairlead.sharing.whole_tasks.equal_tasks import all_alike, deal, in_slots
from fairlead.sharing.whole_tasks.fits import Fits
from fairlead.sharing.whole_tasks.outcome import WholeOutcome
from fairlead.sharing.whole_tasks.point import Packing as Row
from fairlead.sharing.whole_tasks.point import Point
from fairlead.sharing.whole_tasks.pool_weights import with_pools
from fairlead.sharing.whole_tasks.registry import parse_whole
from fairlead.sharing.whole_tasks.rounding import round_tasks

Machines = Sequence[tuple[int, Row, Fraction]]
Tasked = Sequence[Sequence[int | Fraction]]
"""(J, C) whole tasks, or their mean."""
SAME = 1e-6
"""Tasks: less than this is a rounding error of the exact shares."""
Known = dict[Row, tuple[tuple[str, int], ...]]


def by_whole_mechanism(cluster: Cluster, jobs: Sequence[Job], spec: str) -> Allocation:
    """The allocation of a mechanism for whole tasks. The input is valid."""
    mechanism = parse_whole(spec)
    counts = with_pools(counts_of(cluster, jobs, compile_problem(cluster, jobs)))
    fewer, classes = counts.used_classes()
    outcome = mechanism.allocate(fewer).on(classes.tolist())
    names = _names(cluster, counts.problem)
    known: Known = {}
    lottery = (
        ()
        if outcome.lottery is None
        else tuple(
            Chance(
                one.probability,
                _jobs(names, one.tasks(len(counts.demand))),
                _packings(
                    names, [(k, row, Fraction(number)) for k, row, number in one.machines], known
                ),
            )
            for one in outcome.lottery.allocations
        )
    )
    point = outcome.point
    whole = Whole(_packings(names, outcome.machines, known), lottery=lottery, notes=outcome.notes)
    tasks = _by_class(counts, outcome.machines)
    answer = _allocation(
        cluster, jobs, counts, names, mechanism.spec, tasks, None, counts.weight, whole
    )
    if point is not None:
        if lottery:
            check_mean(outcome, point, len(counts.demand))
        answer = replace(answer, certificate=Certificate(0.0, _gap(point)))
    fits = Fits(cluster, jobs, answer.classes)
    for packings in [chance.packings for chance in lottery] or [whole.packings]:
        fits.check(packings)
    return answer


def rounded_answer(
    cluster: Cluster,
    jobs: Sequence[Job],
    problem: Problem,
    spec: str,
    tasks: Floats,
    scale: Sequence[fmpq] | None,
    weights: Weights,
    pooled: bool,
) -> Allocation:
    """The exact divisible tasks (J, C) of a policy rounded to whole ones."""
    counts = counts_of(cluster, jobs, problem)
    unit = problem.alone if scale is None else np.array(list(map(nearest, scale)))
    effective = rates(problem.tree, weights.weight, (unit > 0) & (counts.usable > 0))
    placed = np.zeros(problem.usable.shape) if pooled else tasks
    divisible = tasks.sum(axis=1)
    names = _names(cluster, problem)
    if all_alike(counts):
        whole_tasks: Tasked = in_slots(counts, unit * effective).tolist()
        packings = _deal(names, whole_tasks)
        packed, bound = None, None
    else:
        found = round_tasks(counts, placed, divisible, unit * effective)
        whole_tasks = _by_class(counts, found.machines)
        packings = _packings(names, found.machines, {})
        packed, bound = (None, None) if pooled else (found.packed, found.bound)
    exact = zip(problem.job_names, divisible.tolist(), strict=True)
    whole = Whole(
        packings,
        divisible=tuple(sorted((name, rounded(each)) for name, each in exact)),
        notes=_notes(divisible, counts, whole_tasks, packed, bound),
    )
    answer = _allocation(
        cluster, jobs, counts, names, spec, whole_tasks, scale, weights.exact, whole
    )
    distances = _distances(names, answer, divisible, bound, weights.weight)
    answer = replace(answer, whole=replace(whole, distances=distances))
    Fits(cluster, jobs, answer.classes).check(whole.packings)
    return answer


def _distances(
    names: Names, answer: Allocation, divisible: Floats, bound: Floats | None, weight: Floats
) -> tuple[Distance, ...]:
    """Of every tenant, in the units of its share."""
    scale = {job.name: job.scale for job in answer.jobs}
    unit = [scale[name] for name in names.problem.job_names]
    each = np.array([1.0 / size if size else 0.0 for size in unit])

    def of_tenants(tasks: Floats) -> list[float]:
        return [nearest(share) for share in back.of_tenants(names.problem, weight, tasks * each)]

    exact, most = of_tenants(divisible), None if bound is None else of_tenants(bound)
    return tuple(
        Distance(
            tenant.name,
            rounded(exact[t]),
            tenant.share,
            None if most is None else rounded(most[t]),
        )
        for t, tenant in enumerate(answer.tenants)
    )


def _notes(
    divisible: Floats, counts: Counts, tasks: Tasked, packed: float | None, bound: Floats | None
) -> tuple[str, ...]:
    """Sentences on the distance of whole tasks from the exact shares, with what no packing can do
    better; `packed` None: these are lexicographically max-min, or nothing was placed that could be
    packed."""
    has = np.array([int(sum(each)) for each in tasks], np.int64)
    names = counts.problem.job_names
    less = divisible - has
    none = [
        f"{names[j]} ({counts.gang[j]} together, {divisible[j]:.6g} by its exact share)"
        for j in np.flatnonzero((counts.gang > 1) & (has == 0) & (divisible > SAME)).tolist()
        if counts.usable[j] > 0
    ]
    notes = [f"{int(has.sum())} whole tasks; the exact shares are {divisible.sum():.6g} tasks"]
    worst = int(less.argmax()) if len(less) else -1
    if worst >= 0 and less[worst] > SAME:
        most = "" if bound is None else f" (at most {bound[worst]:.6g} less, by the bound)"
        notes.append(
            f"nobody is further below its exact share than job {names[worst]}:"
            f" {has[worst]} of {divisible[worst]:.6g} tasks{most}"
        )
    if none:
        notes.append(f"a gang starts whole or not at all, so none runs of {listing(none, most=5)}")
    if packed is not None and divisible.sum() - packed > SAME:
        notes.append(
            "packing whole tasks within the exact shares of each kind of machine loses at least"
            f" {divisible.sum() - packed:.6g} of them; what that leaves is filled in the order of"
            " the shares"
        )
    elif all_alike(counts):
        notes.append("all tasks are of one size: no whole tasks have shares that are more equal")
    return tuple(notes)


def _names(cluster: Cluster, problem: Problem) -> Names:
    return back.names_of(problem, [machine.name for machine in cluster.machines])


def _jobs(names: Names, tasks: Sequence[int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(zip(names.problem.job_names, tasks, strict=True)))


def _packings(names: Names, machines: Machines, known: Known) -> tuple[Packing, ...]:
    """Packings by name; `known` keeps what was named before."""
    found = []
    for k, row, number in machines:
        if any(row):
            if row not in known:
                known[row] = tuple((name, tasks) for name, tasks in _jobs(names, row) if tasks)
            found.append(Packing(names.show[k], number, known[row]))
    return tuple(sorted(found, key=lambda each: (each.machine_class, each.jobs)))


def _by_class(counts: Counts, machines: Machines) -> Tasked:
    tasks = [[Fraction(0)] * len(counts.count) for _ in counts.problem.job_names]
    for k, row, number in machines:
        for j in np.flatnonzero(row).tolist():
            tasks[j][k] += row[j] * number
    return tasks


def _deal(names: Names, tasks: Tasked) -> tuple[Packing, ...]:
    """Packings of tasks that are all of one size."""
    table = np.array(tasks, np.int64)
    job = names.problem.job_names
    found = [
        Packing(
            names.show[c], Fraction(times), tuple(sorted((job[j], number) for j, number in hand))
        )
        for c in range(table.shape[1])
        for hand, times in deal(table[:, c], int(names.problem.count[c]))
    ]
    return tuple(sorted(found, key=lambda each: (each.machine_class, each.jobs)))


def _allocation(
    cluster: Cluster,
    jobs: Sequence[Job],
    counts: Counts,
    names: Names,
    spec: str,
    tasks: Tasked,
    scale: Sequence[fmpq] | None,
    weight: Sequence[Any],
    whole: Whole,
) -> Allocation:
    problem = counts.problem
    total = [sum(each, start=Fraction(0)) for each in tasks]
    unit = rationals(counts.usable if scale is None else scale)
    share = [
        rational(tasks) / each if each > 0 else fmpq(0)
        for tasks, each in zip(total, unit, strict=True)
    ]
    at = {name: j for j, name in enumerate(problem.job_names)}
    never = why_never(cluster, jobs)
    shares = []
    for job in jobs:
        j = at[job.name]
        shares.append(
            JobShare(
                name=job.name,
                tenant=job.tenant or job.name,
                tasks=_number(total[j]),
                alone=int(counts.alone[j]),
                scale=rounded(nearest(unit[j])) if unit[j] > 0 else None,
                share=rounded(nearest(share[j])),
                level=None,
                placements=tuple(
                    Placement(names.show[c], _number(tasks[j][c]))
                    for c in names.order
                    if tasks[j][c]
                ),
                nowhere=never.get(job.name),
            )
        )
    tenant_share = back.of_tenants(problem, weight, share)
    return Allocation(
        policy=spec,
        tasks=Tasks.WHOLE,
        tenants=back.tenant_shares(names, weight, tenant_share, ()),
        jobs=tuple(shares),
        classes=names.classes(),
        levels=(),
        certificate=Certificate(0.0, None),
        warnings=(),
        whole=whole,
        unrounded=back.unrounded(problem, total, unit, share, weight, tenant_share),
    )


def _number(value: int | Fraction) -> float:
    """A whole number as one, which JSON shows without a point."""
    return int(value) if value.denominator == 1 else rounded(float(value))


def check_mean(outcome: WholeOutcome, point: Point, jobs: int) -> None:
    """Raises InternalError where the lottery's mean is not the point, exactly."""
    from fairlead.model.errors import InternalError
    from fairlead.sharing.whole_tasks.lottery import expected

    assert outcome.lottery is not None
    chances = sum((one.probability for one in outcome.lottery.allocations), start=Fraction(0))
    if chances != 1 or expected(outcome.lottery, jobs) != point.tasks:
        raise InternalError("the lottery's allocations do not have the point as their mean")


def _gap(point: Point) -> float:
    """By how much, relative, another mixture could be worth more at the prices of a round: the
    point is on a supporting hyperplane of the convex hull where that is nothing."""
    tasks = np.array([float(each) for each in point.tasks])
    worst = 0.0
    for price in point.prices:
        best = sum(
            kind.count * float(np.maximum(price.net, 0.0) @ kind.packer.best(price.net))
            for kind in point.kinds
        )
        worst = max(worst, (best + price.caps) / float(price.task @ tasks) - 1.0)
    return max(0.0, worst)
