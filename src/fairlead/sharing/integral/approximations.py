"""The CDRF lottery, and allocations of whole tasks close to its mean."""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt

import numpy as np

from fairlead.model.errors import InputError, Mistake
from fairlead.sharing.integral.calm import calm
from fairlead.sharing.integral.counts import Counts, held
from fairlead.sharing.integral.lottery import generator, lottery
from fairlead.sharing.integral.outcome import WholeOutcome
from fairlead.sharing.integral.point import Packing, Point, cdrf_point
from fairlead.sharing.integral.together import capped, keeps, trimmed
from fairlead.sharing.problem import Floats, Ints

MOST_TRIES = 1000
"""Fewer than 2 are needed on average (Theorem 4.3)."""


def cdrf_lottery(counts: Counts) -> WholeOutcome:
    """A lottery over whole tasks whose mean is max-min fair (CDRF, Algorithm 2).

    The weighted lexicographic max-min of tasks over stand-alone tasks, among all lotteries
    (Friedman, Ghodsi, Psomas 2014). It is fair, Pareto-optimal and strategy-proof ex ante: before
    the draw.
    """
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
    point = calm(cdrf_point(counts))
    error = _bound(counts)
    if deterministic:
        down = tuple((k, packing, Fraction(int(n))) for k, packing, n in point.mixture if n >= 1)
        return WholeOutcome(down, point, notes=(_distance(point, down),))
    draw = generator(seed)
    expected = np.array([float(each) for each in point.tasks])
    for tries in range(1, MOST_TRIES + 1):
        machines = kept(counts, point, _drawn(point, draw))
        tasks = _total(machines, len(expected))
        if (tasks >= (1 - error) * expected - 1e-9).all():
            times = "once" if tries == 1 else f"{tries} times"
            drawn = f"drawn {times} until everybody had at least {1 - error:.3g} of its mean tasks"
            if error >= 1:
                drawn = "drawn once: for so few machines the theorem's bound is no bound"
            notes = (drawn, _distance(point, machines))
            return WholeOutcome(machines, point, notes=notes)
    raise InputError(
        Mistake(
            f"no draw of {MOST_TRIES} gave everybody {1 - error:.3g} of its mean tasks",
            "take cdrf-lottery or shapley-folkman, which need no luck",
        )
    )


def shapley_folkman(counts: Counts) -> WholeOutcome:
    """The whole tasks closest to the lottery's mean that rounding finds (CDRF Theorem 4.6).

    The Shapley-Folkman-Starr mechanism, made constructive: nearly all machines have the packing
    that the mixture says, and those that are split between packings, at most one for each job, take
    the packings that come closest to the point together (Friedman, Ghodsi, Psomas 2014).
    """
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
    merged = kept(counts, point, machines)
    return WholeOutcome(merged, point, notes=(_distance(point, merged), _starr(point)))


def _drawn(point: Point, draw: np.random.Generator) -> tuple[tuple[int, Packing, Fraction], ...]:
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


def kept(counts: Counts, point: Point, machines: Machines) -> Machines:
    """Equal packings of a class counted together, without the tasks that a job does not have, and
    where a limit is exceeded without those of whoever has the most for what it is to have."""
    tasks = np.minimum(_total(machines, len(point.tasks)), counts.tasks)
    goal = np.array([float(each) for each in point.tasks])
    for cap in counts.limits:
        over = held(cap.use, tasks) - cap.amount
        while over > 0:
            part = np.where((cap.use > 0) & (goal > 0), tasks / np.where(goal > 0, goal, 1.0), -1.0)
            j = int(part.argmax())
            tasks[j] -= 1
            over -= int(cap.use[j])
    less = trimmed([(k, packing, int(number)) for k, packing, number in machines], tasks.tolist())
    return tuple((k, packing, Fraction(number)) for k, packing, number in less)


def _total(machines: tuple[tuple[int, Packing, Fraction], ...], jobs: int) -> Ints:
    total = np.zeros(jobs, np.int64)
    for _, packing, number in machines:
        total += int(number) * np.array(packing, np.int64)
    return total


def _bound(counts: Counts) -> float:
    """The error of Theorem 4.3 and Corollary 4.4: the root of (12 + b) n log n / m, for the class
    with the fewest machines m; b is 0 for one class, and n^b is more than the classes there are."""
    jobs = max(2, int((counts.usable > 0).sum()))
    classes = len(counts.problem.count)
    extra = 0.0 if classes == 1 else log(classes + 1) / log(jobs)
    return sqrt((12 + extra) * jobs * log(jobs) / int(counts.problem.count.min()))


def _distance(point: Point, machines: tuple[tuple[int, Packing, Fraction], ...]) -> str:
    """How far the tasks are from the point, in a sentence."""
    goal = np.array([float(each) for each in point.tasks])
    off = _total(machines, len(goal)) - goal
    some = goal > 0
    worst = float((-off[some] / goal[some]).max(initial=0.0))
    return (
        f"the mean is {float(np.linalg.norm(off)):.4g} tasks away in all, and nobody"
        f" has less than {1 - max(worst, 0.0):.4g} of its mean tasks"
    )


def _starr(point: Point) -> str:
    """Theorem 4.5 for this point, in a sentence: the root of the sum of the squares of the n
    largest radii of what is split."""
    radii: list[float] = []
    for k in range(len(point.kinds)):
        split = [np.array(p, np.float64) for which, p, n in point.mixture if which == k and n % 1]
        parts = [n % 1 for which, _, n in point.mixture if which == k and n % 1]
        if len(split) > 1:
            radii += [_radius(split)] * int(sum(parts, start=Fraction(0)))
    largest = sorted(radii, reverse=True)[: len(point.tasks)]
    bound = sqrt(sum(each**2 for each in largest))
    return f"the Shapley-Folkman-Starr bound is {bound:.4g} tasks"


def _radius(points: list[Floats]) -> float:
    """The radius of a ball that holds the points, not much larger than the smallest."""
    centre = np.mean(points, axis=0)
    for step in range(1, 200):
        far = max(points, key=lambda p: float(np.linalg.norm(p - centre)))
        centre = centre + (far - centre) / (step + 1)
    return max(float(np.linalg.norm(p - centre)) for p in points)
