"""The mixture of packings of alike machines that loses fewest of the tasks that there should be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.sharing.problem.problem import Bools, Floats
from fairlead.sharing.solvers.linear import INFINITY, Program
from fairlead.sharing.solvers.whole.packing import Packer

FOR_ALL = 100.0
"""The weight of the least part that anybody gets, beside all tasks together."""

_BETTER = 1e-9


LOOKS = 30_000
"""Steps of the search for each packing. Where they do not suffice to know the best one, a good one
will do: what is not packed here is given out afterwards."""


@dataclass(frozen=True)
class Packed:
    """Packings and on how many machines each is; no mixture has more tasks than `most`."""

    mixture: tuple[tuple[tuple[int, ...], float], ...]
    most: float


def most_packed(packer: Packer, tasks: Floats, count: int) -> Packed:
    """Packings on `count` machines whose tasks are as large a part of `tasks` (J,) for everybody as
    can be found, no more than all of them for anybody, and then as many as can be found."""
    jobs = len(tasks)
    wanted = (tasks > 0) & (packer.most > 0)
    if not wanted.any():
        return Packed((), 0.0)
    size = np.where(wanted, tasks, 1.0)
    total = float(tasks[wanted].sum())
    weight = np.where(wanted, size / total, 0.0)  # of a job's part in all tasks
    # Rows: the part of a job is at most all, and at least what everybody has; then the machines.
    inf = np.full(jobs, INFINITY)
    none = np.full(jobs, -INFINITY)
    program = Program(
        np.concatenate([none, np.where(wanted, 0.0, none), [-INFINITY]]),
        np.concatenate([np.where(wanted, 1.0, inf), inf, [1.0]]),
    )
    at_least = jobs + np.flatnonzero(wanted)
    program.add_column(at_least, np.full(len(at_least), -1.0), cost=-FOR_ALL, upper=1.0)
    columns: dict[tuple[int, ...], int] = {}
    value = weight + np.where(wanted, FOR_ALL / len(at_least), 0.0)
    solution = None
    worth = 0.0
    while True:
        packing, _, _ = packer.good(np.where(wanted, value / size * count, 0.0), LOOKS)
        key = tuple(packing.tolist())
        part = packing / size * count
        if float(value @ part) <= worth + _BETTER or key in columns:
            break
        rows = np.flatnonzero(packing)
        columns[key] = program.add_column(
            np.concatenate([rows, jobs + rows, [2 * jobs]]),
            np.concatenate([part[rows], part[rows], [1.0]]),
            cost=-float(weight @ part),
        )
        solution = program.solve()
        dual = -solution.row_dual
        # What a job's part is worth, beyond what is taken of it and with what all wait for.
        value = np.where(wanted, np.maximum(weight - dual[:jobs] - dual[jobs : 2 * jobs], 0.0), 0.0)
        worth = float(dual[2 * jobs])
    found = () if solution is None else solution.column_value
    mixture = [
        (key, float(found[column]) * count)
        for key, column in columns.items()
        if found[column] * count > _BETTER
    ]
    return Packed(tuple(mixture), _most(packer, tasks, wanted, count))


def _most(packer: Packer, tasks: Floats, wanted: Bools, count: int) -> float:
    """No packings have more of these tasks: prices of divisible tasks bound what machines hold."""
    _, bound, _ = packer.good(np.where(wanted, 1.0, 0.0), LOOKS)
    return min(float(tasks[wanted].sum()), bound * count)
