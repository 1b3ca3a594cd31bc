"""The CDRF lottery, and allocations of whole tasks close to its mean."""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt

import numpy as np

from fairlead.model.errors import InternalError
from fairlead.sharing.problem.problem import Floats, Ints
from fairlead.sharing.whole_tasks.capped import capped, keeps, trim
from fairlead.sharing.whole_tasks.counts import Counts, total_use
from fairlead.sharing.whole_tasks.evenest import calm
from fairlead.sharing.whole_tasks.gangs import refuse_gangs
from fairlead.sharing.whole_tasks.lottery import generator, lottery
from fairlead.sharing.whole_tasks.outcome import WholeOutcome
from fairlead.sharing.whole_tasks.point import Packing, Point, cdrf_point

MOST_TRIES = 1000
"""Fewer than 2 are needed on average, more than t with a probability below 2^-t (Theorem 4.3)."""


def cdrf_lottery(counts: Counts) -> WholeOutcome:
    """A lottery over whole tasks whose mean is max-min fair (CDRF, Algorithm 2).

    The weighted lexicographic max-min of tasks over stand-alone tasks, among all lotteries
    (Friedman, Ghodsi, Psomas 2014). It is fair, Pareto-optimal and strategy-proof ex ante: before
    the draw.
    """
    refuse_gangs(counts, "cdrf-lottery")
    point = calm(cdrf_point(counts))
    found = lottery(point)
    jobs = len(point.tasks)
    if not all(keeps(counts, one.tasks(jobs)) for one in found.allocations):
        point, found = capped(counts, point)
    return WholeOutcome(point.mixture, point, found)


def gim_cdrf(counts: Counts, seed: int = 0, deterministic: bool = False) -> WholeOutcome:
    """Each machine draws what it runs until all have nearly the lottery's mean (CDRF section 4.1).

    A machine draws its packing from its class's mixture (Friedman, Ghodsi, Psomas 2014).
    `deterministic=true`: as many machines of each packing as the mixture says, rounded down, and
    the rest of the machines stay empty (section 4.2).
    """
    refuse_gangs(counts, "gim-cdrf")
    point = calm(cdrf_point(counts))
    if deterministic:
        down = tuple((k, packing, Fraction(int(n))) for k, packing, n in point.mixture if n >= 1)
        return WholeOutcome(down, point, notes=(_distance(point, down),))
    draw = generator(seed)
    promised = _promised(counts, point)
    expected = np.array([float(each) for each in point.tasks])
    least = promised * expected
    for cap in counts.limits:  # `keep_limits` takes no more than a part of a task below the mean
        least = np.where(cap.use > 0, np.minimum(least, np.floor(expected)), least)
    for tries in range(1, MOST_TRIES + 1):
        machines = keep_limits(counts, point, _draw(point, draw))
        tasks = _total(machines, len(expected))
        if (tasks >= least - 1e-9).all():
            notes = (_drawn_until(counts, promised, tries), _distance(point, machines))
            return WholeOutcome(machines, point, notes=notes)
    raise InternalError(f"none of {MOST_TRIES} draws kept what one in two keeps")


def shapley_folkman(counts: Counts) -> WholeOutcome:
    """The whole tasks closest to the lottery's mean that rounding finds (CDRF Theorem 4.6).

    The Shapley-Folkman-Starr mechanism, made constructive: nearly all machines have the packing
    that the mixture says, and those that are split between packings, at most one for each job, take
    the packings that come closest to the point together (Friedman, Ghodsi, Psomas 2014).
    """
    refuse_gangs(counts, "shapley-folkman")
    point = calm(cdrf_point(counts))
    jobs = len(point.tasks)
    goal = np.array([float(each) for each in point.tasks])
    fixed = [(k, packing, Fraction(int(n))) for k, packing, n in point.mixture if n >= 1]
    choices: dict[int, list[Packing]] = {}
    mean: dict[int, Floats] = {}
    open_machines: list[int] = []
    for k in range(len(point.kinds)):
        split = [(packing, n % 1) for which, packing, n in point.mixture if which == k and n % 1]
        machines_of = int(sum((part for _, part in split), start=Fraction(0)))
        choices[k] = [packing for packing, _ in split]
        open_machines += [k] * machines_of
        if split:
            parts = np.array([float(part) for _, part in split])
            mean[k] = parts @ np.array(choices[k], np.float64) / machines_of
    # Each takes the packing that brings the mean of all closest to the point: that adds no more to
    # the square of the distance than the variance of a draw would, which is the theorem's bound.
    total = _total(tuple(fixed), jobs) + sum((mean[k] for k in open_machines), start=np.zeros(jobs))
    chosen: list[Packing] = []
    for k in open_machines:
        rest = total - mean[k] - goal
        chosen.append(min(choices[k], key=lambda p: float(((rest + np.array(p)) ** 2).sum())))
        total = total - mean[k] + np.array(chosen[-1])
    machines = (*fixed, *((k, p, Fraction(1)) for k, p in zip(open_machines, chosen, strict=True)))
    merged = keep_limits(counts, point, machines)
    has = np.minimum(_total(machines, jobs), counts.tasks)
    cut = int((_total(merged, jobs) < has).sum())
    return WholeOutcome(merged, point, notes=(_distance(point, merged), _starr(point, cut)))


def _draw(point: Point, draw: np.random.Generator) -> tuple[tuple[int, Packing, Fraction], ...]:
    machines: list[tuple[int, Packing, Fraction]] = []
    for k, kind in enumerate(point.kinds):
        members = [(packing, n) for which, packing, n in point.mixture if which == k]
        if not members:
            continue
        part = np.array([float(n / kind.count) for _, n in members])
        numbers = draw.multinomial(kind.count, part / part.sum()).tolist()
        machines += [
            (k, packing, Fraction(number))
            for (packing, _), number in zip(members, numbers, strict=True)
            if number
        ]
    return tuple(machines)


Machines = tuple[tuple[int, Packing, Fraction], ...]


def keep_limits(counts: Counts, point: Point, machines: Machines) -> Machines:
    """Equal packings of a class counted together, without the tasks that a job does not have, and
    where a limit is exceeded without those of whoever has the most for what it is to have.

    The mean keeps numbers and limits. So nobody is cut below its mean by its number of tasks, and
    by limits nobody to a task below its mean: while a limit is exceeded, somebody has more.
    """
    tasks = np.minimum(_total(machines, len(point.tasks)), counts.tasks)
    goal = np.array([float(each) for each in point.tasks])
    for cap in counts.limits:
        over = total_use(cap.use, tasks) - cap.amount
        while over > 0:
            part = np.where((cap.use > 0) & (goal > 0), tasks / np.where(goal > 0, goal, 1.0), -1.0)
            j = int(part.argmax())
            tasks[j] -= 1
            over -= int(cap.use[j])
    less = trim([(k, packing, int(number)) for k, packing, number in machines], tasks.tolist())
    return tuple((k, packing, Fraction(number)) for k, packing, number in less)


def _total(machines: tuple[tuple[int, Packing, Fraction], ...], jobs: int) -> Ints:
    total = np.zeros(jobs, np.int64)
    for _, packing, number in machines:
        total += int(number) * np.array(packing, np.int64)
    return total


def _promised(counts: Counts, point: Point) -> Floats:
    """(J,) the part of its mean below which nobody is in one draw of two at least; 0 for a job with
    too few tasks for that.

    A job's tasks on machines that draw add up to m in the mean, of at most M on one machine, so
    they are t below that with a probability of exp(-t^2 / 2mM) at most (Chernoff). With t^2 =
    2mM log 2n that is 1 / 2n, and for n jobs together a half. On m' alike machines and for equal
    weights this is within the bound of Theorem 4.3: everybody has an n-th of m'M then, and it is
    (2n log 2n) / m' under the root for (12n log n) / m'.
    """
    jobs = len(point.tasks)
    drawing = [
        k for k in range(len(point.kinds)) if sum(which == k for which, _, _ in point.mixture) > 1
    ]
    mean, largest = np.zeros(jobs), np.zeros(jobs)
    for k, packing, number in point.mixture:
        if k in drawing:
            row = np.array(packing, np.float64)
            mean += float(number) * row
            largest = np.maximum(largest, row)
    off = np.sqrt(2 * mean * largest * log(2 * max(1, int((counts.usable > 0).sum()))))
    whole = np.array([float(each) for each in point.tasks])
    part = np.divide(off, whole, out=np.zeros(jobs), where=whole > 0)
    promised: Floats = np.maximum(1.0 - part, 0.0)
    return promised


def _drawn_until(counts: Counts, promised: Floats, tries: int) -> str:
    """The number of draws and the reason for the last one, in a sentence."""
    times = "once" if tries == 1 else f"{tries} times"
    some = promised[counts.usable > 0]
    sure = int((some > 0).sum())
    if not sure:
        return f"drawn {times}: on so few machines a draw promises nothing"
    slack = ", or all of it but a part of a task" if counts.limits else ""
    whom = "everybody" if sure == len(some) else f"{sure} of {len(some)} jobs"
    least = float(some[some > 0].min())
    return f"drawn {times} until {whom} had at least {least:.3g} of its mean tasks{slack}"


def _distance(point: Point, machines: tuple[tuple[int, Packing, Fraction], ...]) -> str:
    """The distance of the tasks from the point, in a sentence."""
    goal = np.array([float(each) for each in point.tasks])
    off = _total(machines, len(goal)) - goal
    some = goal > 0
    worst = float((-off[some] / goal[some]).max(initial=0.0))
    return (
        f"the mean is {float(np.linalg.norm(off)):.4g} tasks away in all, and nobody"
        f" has less than {1 - max(worst, 0.0):.4g} of its mean tasks"
    )


def _starr(point: Point, cut: int) -> str:
    """Theorem 4.5 for this point, in a sentence: the root of the sum of the squares of the n
    largest radii of what is split. Limits have `cut` so many jobs, each to less than a task below
    its mean: that adds less than 1 to the square for each."""
    radii: list[float] = []
    for k in range(len(point.kinds)):
        split = [np.array(p, np.float64) for which, p, n in point.mixture if which == k and n % 1]
        parts = [n % 1 for which, _, n in point.mixture if which == k and n % 1]
        if len(split) > 1:
            radii += [_radius(split)] * int(sum(parts, start=Fraction(0)))
    largest = sorted(radii, reverse=True)[: len(point.tasks)]
    bound = sqrt(sum(each**2 for each in largest) + cut)
    limits = f", one task counted for each of {cut} that limits cut" if cut else ""
    return f"the Shapley-Folkman-Starr bound is {bound:.4g} tasks{limits}"


def _radius(points: list[Floats]) -> float:
    """The radius of a ball that holds the points, not much larger than the smallest."""
    centre = np.mean(points, axis=0)
    for step in range(1, 200):
        far = max(points, key=lambda p: float(np.linalg.norm(p - centre)))
        centre = centre + (far - centre) / (step + 1)
    return max(float(np.linalg.norm(p - centre)) for p in points)
