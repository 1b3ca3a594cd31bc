"""All placements that give every job the same tasks: how much or how little can something be?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairlead.sharing.problem.problem import Bools, Floats

if TYPE_CHECKING:
    from fairlead.sharing.solvers.linear import Program

_LESS = 1e-8
"""A part of each job's tasks that may be missing: the placement that is known to exist was rounded,
and keeps the capacities to 1e-9 only."""


@dataclass(frozen=True)
class Face:
    """What every placement must keep: the tasks of each job, the capacities of each class.

    `capacity` is that of all machines of a class together; `most` the tasks of one job on a class,
    inf where its demand alone decides.
    """

    demand: Floats  # (J, R)
    usable: Bools  # (J, C)
    capacity: Floats  # (C, R)
    most: Floats  # (J, C)
    tasks: Floats  # (J,) more than 0


def extremes(face: Face, worth: Floats) -> tuple[float, float]:
    """The least and the largest worth of a placement, where a task of job j on class c is worth
    worth[j, c]: two linear programs. Raises SolverError where there is no such placement."""
    job, at = np.nonzero(face.usable)
    value = (worth * face.tasks[:, None])[job, at]
    size = float(np.abs(value).max(initial=0.0))
    if size == 0:
        return 0.0, 0.0
    found = []
    for sign in (1.0, -1.0):
        program = _program(face, sign * value / size)
        placed = np.maximum(program.solve().column_value, 0.0)
        found.append(float(placed @ value))
    return found[0], found[1]


def _program(face: Face, cost: Floats) -> Program:
    """Columns are parts of a job's tasks, rows parts of what is there: all of the order of 1."""
    from fairlead.sharing.solvers.linear import INFINITY, Program

    job, at = np.nonzero(face.usable)
    jobs = len(face.tasks)
    scarce = face.capacity > 0
    row_of = np.full(face.capacity.shape, -1)
    row_of[scarce] = jobs + np.arange(int(scarce.sum()))
    lower = np.concatenate([np.full(jobs, 1 - _LESS), np.full(int(scarce.sum()), -INFINITY)])
    upper = np.concatenate([np.ones(jobs), np.full(int(scarce.sum()), 1 + 1e-9)])
    columns, rows, values = [np.arange(len(job))], [job], [np.ones(len(job))]
    for r in range(face.demand.shape[1]):
        takes = np.flatnonzero(face.demand[job, r] > 0)
        j, c = job[takes], at[takes]
        columns.append(takes)
        rows.append(row_of[c, r])
        values.append(face.demand[j, r] * face.tasks[j] / face.capacity[c, r])
    column, row = np.concatenate(columns), np.concatenate(rows)
    order = np.lexsort((row, column))
    starts = np.searchsorted(column[order], np.arange(len(job)))
    program = Program(lower, upper)
    most = np.minimum(face.most[job, at] / face.tasks[job], INFINITY)
    program.add_columns(cost, most, starts, row[order], np.concatenate(values)[order])
    return program
