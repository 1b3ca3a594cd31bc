"""Can some jobs run more, and nobody less? One linear program over the places that are allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fairlead.sharing.problem.problem import Bools, Floats, Ints

if TYPE_CHECKING:
    from fairlead.sharing.solvers.linear import Program

_LOSS = 1e-9
"""A reduced cost below this is none: worths are of the order of 1, and so are the rows."""

_LESS = 1e-8
"""A part of each job's tasks that may be missing of an allocation that was rounded."""


@dataclass(frozen=True)
class Cap:
    """`need @ tasks <= amount`, over all classes: a tenant's limit."""

    need: Floats  # (J,)
    amount: float


@dataclass(frozen=True)
class Room:
    """The capacities, and what each job must get at least and may get at most.

    `capacity` is that of all machines of a class together; `most` the tasks of one job on a class,
    inf where its demand alone decides. `unit` is a number of tasks of the order of what the job
    gets; a task of job j on class c is worth `worth[j, c]`.
    """

    demand: Floats  # (J, R)
    usable: Bools  # (J, C)
    capacity: Floats  # (C, R)
    most: Floats  # (J, C)
    floor: Floats  # (J,)
    ceiling: Floats  # (J,)
    unit: Floats  # (J,)
    worth: Floats  # (J, C)
    caps: Sequence[Cap] = ()


def best(room: Room, start: Bools | None = None) -> Floats | None:
    """(J, C) tasks of the largest worth that give every job its floor; None where nothing does.

    `start` are places among which some allocation gives every job its floor, where one is known:
    the others then enter only where they are of use, which is what makes large inputs fast.
    """
    from fairlead.sharing.solvers.linear import INFINITY

    program, rows = _program(room, room.floor / room.unit)
    if start is None:
        if not _reaches(room):
            return None
        start = room.usable
    chosen = np.zeros(room.usable.shape, dtype=bool)
    entering = start & room.usable
    columns: list[tuple[Ints, Ints]] = []
    while True:
        job, at = np.nonzero(entering)
        columns.append((job, at))
        chosen |= entering
        upper = np.minimum(room.most[job, at] / room.unit[job], INFINITY)
        program.add_entries(-room.worth[job, at] * room.unit[job], upper, *rows.entries(job, at))
        solution = program.solve()
        entering = room.usable & ~chosen & (rows.reduced(solution.row_dual) < -_LOSS)
        if not entering.any():
            break
    tasks = np.zeros(room.usable.shape)
    jobs = np.concatenate([job for job, _ in columns])
    classes = np.concatenate([at for _, at in columns])
    tasks[jobs, classes] = np.maximum(solution.column_value, 0.0) * room.unit[jobs]
    return tasks


def extremes(room: Room) -> tuple[float, float]:
    """The least and the largest worth of an allocation that gives every job its floor, where one is
    known. It was rounded: a hundred millionth of each floor may be missing. Raises SolverError
    where there is no such allocation."""
    size = float(np.abs(room.worth * room.unit[:, None])[room.usable].max(initial=0.0))
    if size == 0:
        return 0.0, 0.0
    loose = replace(room, floor=room.floor * (1 - _LESS), capacity=room.capacity * (1 + _LOSS))
    found = []
    for sign in (-1.0, 1.0):
        tasks = best(replace(loose, worth=sign / size * room.worth), room.usable)
        assert tasks is not None  # where it starts, that there are some is not asked
        found.append(float((tasks * room.worth).sum()))
    return found[0], found[1]


def _reaches(room: Room) -> bool:
    """Is there an allocation that gives every job its floor? The largest part, up to 1, of all
    floors at once."""
    from fairlead.sharing.solvers.linear import INFINITY

    program, rows = _program(room, np.zeros(len(room.floor)))
    job, at = np.nonzero(room.usable)
    upper = np.minimum(room.most[job, at] / room.unit[job], INFINITY)
    program.add_entries(np.zeros(len(job)), upper, *rows.entries(job, at))
    wanted = np.flatnonzero(room.floor > 0)
    program.add_column(
        rows.job_row[wanted], -(room.floor / room.unit)[wanted], cost=-1.0, upper=1.0
    )
    return bool(program.solve().column_value[-1] > 1 - _LOSS)


@dataclass(frozen=True)
class _Rows:
    """The row of each thing that is scarce, -1 where it has none."""

    room: Room
    job_row: Ints  # (J,)
    capacity_row: Ints  # (C, R)
    capacity_scale: Floats  # (C, R) what a row's coefficients are divided by
    cap_row: Ints  # (K,)
    cap_scale: Floats  # (K,)

    def entries(self, job: Ints, at: Ints) -> tuple[Ints, Ints, Floats]:
        """The entries of the columns of these pairs: columns, rows, values."""
        room = self.room
        column = [np.arange(len(job))]
        row = [self.job_row[job]]
        value = [np.ones(len(job))]
        for r in range(room.demand.shape[1]):
            takes = np.flatnonzero(room.demand[job, r] > 0)
            j, c = job[takes], at[takes]
            column.append(takes)
            row.append(self.capacity_row[c, r])
            value.append(room.demand[j, r] * room.unit[j] / self.capacity_scale[c, r])
        for k, cap in enumerate(room.caps):
            takes = np.flatnonzero(cap.need[job] > 0)
            column.append(takes)
            row.append(np.full(len(takes), self.cap_row[k]))
            value.append(cap.need[job[takes]] * room.unit[job[takes]] / self.cap_scale[k])
        return np.concatenate(column), np.concatenate(row), np.concatenate(value)

    def reduced(self, dual: Floats) -> Floats:
        """(J, C) the reduced costs by these multipliers."""
        room = self.room
        price = np.where(self.capacity_row >= 0, dual[self.capacity_row], 0.0) / self.capacity_scale
        cost = -(room.demand @ price.T)
        per_job = np.zeros(len(room.floor))
        for k, cap in enumerate(room.caps):
            per_job += cap.need * dual[self.cap_row[k]] / self.cap_scale[k]
        cost -= room.worth + per_job[:, None]
        found: Floats = cost * room.unit[:, None] - dual[self.job_row][:, None]
        return found


def _program(room: Room, floor: Floats) -> tuple[Program, _Rows]:
    """The program without columns. A row of a capacity is divided by its largest coefficient, so
    that the solver's tolerance is a part of what one job gets and not of what all get."""
    from fairlead.sharing.solvers.linear import INFINITY, Program

    jobs, (classes, resources) = len(room.floor), room.capacity.shape
    per_unit = room.demand * room.unit[:, None]
    largest = np.zeros((classes, resources))
    for r in range(resources):
        largest[:, r] = np.where(room.usable, per_unit[:, r, None], 0.0).max(axis=0, initial=0.0)
    scarce = largest > 0
    capacity_row = np.full((classes, resources), -1)
    capacity_row[scarce] = jobs + np.arange(int(scarce.sum()))
    scale = np.where(scarce, largest, 1.0)
    cap_scale = np.array([float((cap.need * room.unit).max(initial=0.0)) for cap in room.caps])
    cap_scale[cap_scale == 0] = 1.0
    cap_row = jobs + int(scarce.sum()) + np.arange(len(room.caps))
    upper = np.concatenate(
        [
            np.minimum(room.ceiling / room.unit, INFINITY),
            (room.capacity / scale)[scarce],
            np.array([cap.amount for cap in room.caps]) / cap_scale,
        ]
    )
    lower = np.concatenate([floor, np.full(len(upper) - jobs, -INFINITY)])
    rows = _Rows(room, np.arange(jobs), capacity_row, scale, cap_row, cap_scale)
    return Program(lower, upper), rows
