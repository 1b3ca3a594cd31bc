"""The CDRF point: the max-min mixture of whole-task allocations, in exact fractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from fairlead.model.errors import InternalError
from fairlead.sharing.filling.rates import Rates, rates
from fairlead.sharing.numbers.amounts import fraction, rationals
from fairlead.sharing.problem.problem import Floats
from fairlead.sharing.solvers.whole.convex import Kind, Mixture, max_min
from fairlead.sharing.solvers.whole.packing import Packer, Work
from fairlead.sharing.whole_tasks.counts import Cap, Counts
from fairlead.sharing.whole_tasks.exact_linear import Row, solve

Packing = tuple[int, ...]
"""Whole tasks (J,) on one machine."""

CLOSE = 1e-6
"""Relative: the exact point is this close to what the program found, or something is wrong."""


@dataclass(frozen=True)
class Point:
    """The tasks of each job in expectation, and the mixture that gives them: class, packing, and
    on how many of its machines. The rounds' prices prove it: no mixture is worth more."""

    tasks: tuple[Fraction, ...]
    mixture: tuple[tuple[int, Packing, Fraction], ...]
    prices: tuple[Price, ...]
    kinds: tuple[Kind, ...]

    @property
    def value(self) -> Floats:
        """(J,) what a task is worth by all rounds together, less what the caps charge for it."""
        value = np.zeros(len(self.tasks))
        for price in self.prices:
            value += price.net
        return value


@dataclass(frozen=True)
class Price:
    """A round's prices: of a task (J,); the same less what the caps charge for it (J,); and what
    all caps together are charged at most."""

    task: Floats
    net: Floats
    caps: float


def cdrf_point(counts: Counts) -> Point:
    """The weighted lexicographic max-min of tasks over stand-alone tasks, among all mixtures of
    whole-task allocations (Friedman, Ghodsi, Psomas 2014, Algorithm 2). With caps: among all whose
    mean keeps them."""
    work = Work()
    kinds = tuple(
        Kind(
            int(counts.count[c]),
            Packer(counts.demand, counts.capacity[c], counts.most[:, c], work),
        )
        for c in range(len(counts.count))
    )
    return point_of(counts, kinds, counts.caps)


def point_of(counts: Counts, kinds: tuple[Kind, ...], caps: Sequence[Cap]) -> Point:
    """The same, among the mixtures of these kinds' packings whose mean keeps the caps."""
    scale = counts.usable
    weight = np.array([float(each) for each in counts.weight])
    use = np.array([cap.use for cap in caps], np.float64).reshape(len(caps), len(scale))
    found = max_min(
        kinds,
        scale.astype(np.float64),
        lambda active: rates(counts.problem.tree, weight, active),
        scale > 0,
        use,
        np.array([float(cap.amount) for cap in caps]),
    )
    # Caps that are reached, which the numbers say but for rounding; or else those with a price.
    tasks = np.zeros(len(scale))
    for _, packing, amount in found.used:
        tasks += amount * np.array(packing)
    full = [float(cap.use @ tasks) >= cap.amount * (1 - CLOSE) for cap in caps]
    priced = np.sum([done.charge > 0 for done in found.rounds], axis=0) if found.rounds else full
    for reached in (full, priced):
        point = _exact(
            counts, kinds, found, [cap for cap, is_so in zip(caps, reached, strict=True) if is_so]
        )
        if point is not None and all(
            sum(int(u) * each for u, each in zip(cap.use, point.tasks, strict=True)) <= cap.amount
            for cap in caps
        ):
            break
    else:
        raise InternalError("the max-min mixture has no exact solution where it was found")
    inverse = np.divide(1.0, scale, out=np.zeros(len(scale)), where=scale > 0)
    amounts = np.array([float(cap.amount) for cap in caps])
    prices = tuple(
        Price(
            done.price * inverse,
            done.price * inverse - done.charge @ use,
            float(done.charge @ amounts),
        )
        for done in found.rounds
    )
    return replace(point, prices=prices)


def _exact(
    counts: Counts, kinds: tuple[Kind, ...], found: Mixture, caps: Sequence[Cap]
) -> Point | None:
    """The same in fractions: which packings are used, which caps are reached, and who freezes when
    says all of it. None where these do not say one point."""
    tree, scale = counts.problem.tree, counts.usable
    used = list(found.used)
    jobs = len(scale)
    for k, kind in enumerate(kinds):  # machines that stay empty, in part
        filled = sum(amount for which, _, amount in used if which == k)
        if filled < kind.count * (1 - 1e-9):
            used.append((k, (0,) * jobs, kind.count - filled))
    now = Rates(tree, rationals(counts.weight), scale > 0)
    rising: list[list[Fraction]] = []
    for done in found.rounds:
        rising.append(list(map(fraction, now.rate)))
        now.freeze(done.frozen.tolist())
    rows: list[Row] = [{} for _ in range(jobs)]
    filled_rows: list[Row] = [{} for _ in kinds]
    for at, (k, packing, _) in enumerate(used):
        filled_rows[k][at] = Fraction(1)
        for j in np.flatnonzero(packing).tolist():
            rows[j][at] = Fraction(int(packing[j]))
    for step, rate in enumerate(rising):
        for j, each in enumerate(rate):
            if each:
                rows[j][len(used) + step] = -each * int(scale[j])
    capped_rows: list[Row] = [
        {
            at: Fraction(int(cap.use @ np.array(packing, np.int64)))
            for at, (_, packing, _) in enumerate(used)
            if (cap.use * packing).any()
        }
        for cap in caps
    ]
    right = [
        *[Fraction(0)] * jobs,
        *(Fraction(kind.count) for kind in kinds),
        *(Fraction(cap.amount) for cap in caps),
    ]
    solution = solve([*rows, *filled_rows, *capped_rows], right, len(used) + len(rising))
    amounts = [amount for _, _, amount in used]
    if solution is None or any(
        value < 0 or abs(float(value) - amount) > CLOSE * max(1.0, amount)
        for value, amount in zip(solution, amounts, strict=False)
    ):
        return None
    mixture = tuple(
        (k, packing, value) for (k, packing, _), value in zip(used, solution, strict=False) if value
    )
    steps = solution[len(used) :]
    tasks = tuple(
        sum(
            (rate[j] * int(scale[j]) * step for rate, step in zip(rising, steps, strict=True)),
            start=Fraction(0),
        )
        for j in range(jobs)
    )
    return Point(tasks, mixture, (), kinds)
