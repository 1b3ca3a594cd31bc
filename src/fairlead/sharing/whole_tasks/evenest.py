"""Of all mixtures that make up a point, the one in which machines differ least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fairlead.sharing.problem.problem import Floats, Ints
from fairlead.sharing.solvers.linear import INFINITY, Program
from fairlead.sharing.whole_tasks.exact_linear import Row, solve
from fairlead.sharing.whole_tasks.point import Packing, Point

TIES = 1e-9
"""Relative: packings closer than this in value are on the same face."""

_USED = 1e-9


def calm(point: Point) -> Point:
    """The point by the mixture that varies least; by the one it has where its face has too many
    packings, or where that mixture is no single one."""
    if not point.prices:  # nobody runs anything
        return point
    value = point.value
    used: dict[int, set[Packing]] = {}
    for k, packing, _ in point.mixture:
        used.setdefault(k, set()).add(packing)
    columns: list[tuple[int, Packing]] = []
    for k, kind in enumerate(point.kinds):
        ties = kind.packer.ties(value, TIES)
        packings = used.get(k, set())
        if ties is not None:
            packings = packings | {tuple(packing) for packing in ties.tolist()}
        columns += [(k, packing) for packing in sorted(packings, reverse=True)]
    chosen = _least_varied(point, columns)
    exact = _solve_exactly(point, chosen)
    return point if exact is None else replace(point, mixture=tuple(exact))


def _least_varied(
    point: Point, columns: Sequence[tuple[int, Packing]]
) -> list[tuple[int, Packing]]:
    tasks = np.array([float(each) for each in point.tasks])
    size = np.where(tasks > 0, tasks, 1.0)
    count = np.array([kind.count for kind in point.kinds], np.float64)
    packing = np.array([each for _, each in columns], np.float64).reshape(len(columns), len(tasks))
    kind = np.array([k for k, _ in columns], np.int64)
    part = packing / size * count[kind, None]  # of a job's tasks, were all machines of it like this
    right = np.concatenate([tasks / size, np.ones(len(count))])
    program = Program(right, right)
    cost = (part**2).sum(axis=1) / count[kind]
    rows: list[Ints] = []
    values: list[Floats] = []
    starts = [0]
    for at in range(len(columns)):
        jobs = np.flatnonzero(packing[at])
        starts.append(starts[-1] + len(jobs) + 1)
        rows.append(np.append(jobs, len(tasks) + kind[at]))
        values.append(np.append(part[at, jobs], 1.0))
    program.add_columns(
        cost / (cost.max() or 1.0),
        np.full(len(columns), INFINITY),
        np.array(starts[:-1]),
        np.concatenate(rows),
        np.concatenate(values),
    )
    solution = program.solve()
    return [
        column
        for column, amount in zip(columns, solution.column_value, strict=True)
        if amount * count[column[0]] > _USED
    ]


def _solve_exactly(
    point: Point, columns: Sequence[tuple[int, Packing]]
) -> list[tuple[int, Packing, Fraction]] | None:
    """The exact amounts of these packings that make up the point; None where there are none."""
    jobs = len(point.tasks)
    rows: list[Row] = [{} for _ in range(jobs + len(point.kinds))]
    for at, (k, packing) in enumerate(columns):
        rows[jobs + k][at] = Fraction(1)
        for j in np.flatnonzero(np.array(packing)).tolist():
            rows[j][at] = Fraction(packing[j])
    right = [*point.tasks, *(Fraction(kind.count) for kind in point.kinds)]
    solution = solve(rows, right, len(columns))
    if solution is None or min(solution, default=Fraction(0)) < 0:
        return None
    return [
        (k, packing, amount)
        for (k, packing), amount in zip(columns, solution, strict=True)
        if amount
    ]
