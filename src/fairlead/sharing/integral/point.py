"""The CDRF point: the max-min mixture of whole-task allocations, in exact fractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fairlead.model.errors import InternalError
from fairlead.sharing.integral.counts import Counts
from fairlead.sharing.integral.linear import Row, solve
from fairlead.sharing.problem import Bools, Floats, Ints, Tree
from fairlead.sharing.rates import rates
from fairlead.sharing.solvers.convex import Kind, Mixture, max_min
from fairlead.sharing.solvers.packing import Packer

Packing = tuple[int, ...]
"""Whole tasks (J,) on one machine."""

CLOSE = 1e-6
"""Relative: the exact point is this close to what the program found, or something is wrong."""


@dataclass(frozen=True)
class Point:
    """The tasks of each job in expectation, and the mixture that gives them: class, packing, and
    on how many of its machines. `price` (J,), per task, proves it: no mixture is worth more."""

    tasks: tuple[Fraction, ...]
    mixture: tuple[tuple[int, Packing, Fraction], ...]
    prices: tuple[Floats, ...]
    kinds: tuple[Kind, ...]


def cdrf_point(counts: Counts) -> Point:
    """The weighted lexicographic max-min of tasks over stand-alone tasks, among all mixtures of
    whole-task allocations (Friedman, Ghodsi, Psomas 2014, Algorithm 2)."""
    problem = counts.problem
    scale = counts.usable
    kinds = tuple(
        Kind(int(problem.count[c]), Packer(counts.demand, counts.capacity[c], counts.most[:, c]))
        for c in range(len(problem.count))
    )
    weight = np.array([float(each) for each in counts.weight])
    found = max_min(
        kinds,
        scale.astype(np.float64),
        lambda active: rates(problem.tree, weight, active),
        scale > 0,
    )
    return _exact(counts, kinds, found)


def _exact(counts: Counts, kinds: tuple[Kind, ...], found: Mixture) -> Point:
    """The same in fractions: which packings are used and who freezes when says all of it."""
    tree, count, scale = counts.problem.tree, counts.problem.count, counts.usable
    used = list(found.used)
    jobs = len(scale)
    for k, kind in enumerate(kinds):  # machines that stay empty, in part
        filled = sum(amount for which, _, amount in used if which == k)
        if filled < kind.count * (1 - 1e-9):
            used.append((k, (0,) * jobs, kind.count - filled))
    active = scale > 0
    rising: list[list[Fraction]] = []
    for done in found.rounds:
        rising.append(exact_rates(tree, counts.weight, active))
        active = active.copy()
        active[done.frozen] = False
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
    right = [Fraction(0)] * jobs + [Fraction(int(each)) for each in count]
    solution = solve([*rows, *filled_rows], right, len(used) + len(rising))
    amounts = [amount for _, _, amount in used]
    if solution is None or any(
        value < 0 or abs(float(value) - amount) > CLOSE * max(1.0, amount)
        for value, amount in zip(solution, amounts, strict=False)
    ):
        raise InternalError("the max-min mixture has no exact solution where it was found")
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
    inverse = np.divide(1.0, scale, out=np.zeros(jobs), where=scale > 0)
    return Point(
        tasks,
        mixture,
        tuple(done.price * inverse for done in found.rounds),
        kinds,
    )


def exact_rates(tree: Tree, weight: Sequence[Fraction], active: Bools) -> list[Fraction]:
    """As `rates`, in fractions."""
    nodes = len(tree.parent)
    divisor = [Fraction(0)] * nodes
    own: Ints = tree.job_tenant
    for j in np.flatnonzero(active).tolist():
        divisor[own[j]] += 1
    below = [node for node in range(nodes) if tree.parent[node] >= 0]
    for node in reversed(below):
        if divisor[node]:
            divisor[tree.parent[node]] += weight[node]
    rate = [weight[node] if divisor[node] else Fraction(0) for node in range(nodes)]
    for node in below:
        if divisor[node]:
            parent = tree.parent[node]
            rate[node] = rate[parent] * weight[node] / divisor[parent]
    return [
        rate[own[j]] / divisor[own[j]] if active[j] else Fraction(0) for j in range(len(active))
    ]
