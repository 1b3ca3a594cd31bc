"""Can some jobs run more whole tasks, and nobody less? In expectation, or in one allocation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fairlead.sharing.analysis.improve import Cap
from fairlead.sharing.problem.problem import Floats, Ints

if TYPE_CHECKING:
    from fairlead.sharing.solvers.linear import Program

Row = tuple[int, ...]
"""Whole tasks (J,) in one room."""

MOST_ROWS = 3000
"""So many packings that nothing can be added to are listed; where there are more of them, only
those that prices point at are tried."""

_LOOKS = 60_000
"""Steps of that listing, a fraction of a second."""

_EFFORT = 90_000
"""Steps by branch and cut, where packings are hard to find: then good ones must do, and nothing is
proved any more."""

_LOSS = 1e-9
"""A reduced cost below this is none: gains and rows are of the order of 1."""

_SURE = 1e-6
"""Gains of whole tasks are whole: what is less than one by this is none."""


@dataclass(frozen=True)
class Rooms:
    """The rooms that whole tasks are packed into, and what each job must get at least and may get
    at most.

    A room of kind k holds the tasks that fit into `capacity[k]` together, of job j `most[j, k]` at
    most; there are `count[k]` of them. A task of job j more than its floor is worth `worth[j]`.
    Amounts are whole numbers.
    """

    demand: Ints  # (J, R)
    capacity: Ints  # (K, R)
    count: Floats  # (K,)
    most: Ints  # (J, K)
    floor: Floats  # (J,)
    ceiling: Floats  # (J,)
    worth: Floats  # (J,)
    caps: Sequence[Cap] = ()


@dataclass(frozen=True)
class Better:
    """The tasks (J,) that were found, None where none were; and whether that is proved: none are
    worth more, or there are none."""

    tasks: Floats | None
    proved: bool


def best_mean(
    rooms: Rooms, start: Sequence[tuple[int, Row]] = (), drawn: Sequence[Floats] = ()
) -> Better:
    """The expected tasks of the largest worth that a lottery over whole tasks gives, nobody below
    its floor, to the solver's tolerance: no point of the convex hull is worth more.

    By column generation over packings, `start` being some to begin with. Where jobs can run out of
    tasks or caps bind, every allocation must keep that and not the mean alone: then over whole
    allocations, of which `drawn` (J,) have a mean that reaches the floors. Without these what is
    found there is not sure.
    """
    hull = _Hull(rooms, start)
    mean = hull.solve()
    ends = bool(rooms.caps) or bool((rooms.ceiling < rooms.most @ rooms.count).any())
    if mean is None or not ends or float(rooms.worth @ (mean - rooms.floor)) <= _LOSS:
        return Better(mean, hull.sure)
    if not len(drawn):
        return Better(mean, proved=False)
    every, rows = _some(rooms, hull)
    return replace(_over_allocations(rooms, rows, drawn), proved=every)


def _over_allocations(
    rooms: Rooms, rows: Sequence[tuple[int, Row]], drawn: Sequence[Floats]
) -> Better:
    """The same over mixtures of whole allocations that keep caps and numbers of tasks."""
    from fairlead.sharing.solvers.linear import INFINITY, Program

    jobs = len(rooms.floor)
    unit = np.maximum(rooms.floor, 1.0)
    worth = rooms.worth * unit
    program = Program(
        np.append(rooms.floor / unit * (1 - _LOSS), -INFINITY),
        np.append(np.full(jobs, INFINITY), 1),
    )
    none = np.full(jobs, INFINITY)
    _add(program, -worth / (worth.max() or 1.0), none, [{j: -1.0} for j in range(jobs)])
    entering = list(drawn)
    known = {tasks.tobytes() for tasks in entering}
    while True:
        entries = [
            {j: float(tasks[j] / unit[j]) for j in range(jobs) if tasks[j]} | {jobs: 1.0}
            for tasks in entering
        ]
        _add(program, np.zeros(len(entering)), np.ones(len(entering)), entries)
        solution = program.solve()
        price = np.maximum(solution.row_dual[:jobs], 0.0) / unit
        found = _integer(replace(rooms, floor=np.zeros(jobs), worth=price), rows).tasks
        pays = found is not None and float(price @ found + solution.row_dual[jobs]) > _LOSS
        if found is None or not pays or found.tobytes() in known:
            gain = np.maximum(solution.column_value[:jobs], 0.0)
            return Better(rooms.floor + gain * unit, proved=True)
        known.add(found.tobytes())
        entering = [found]


def best_whole(rooms: Rooms, start: Sequence[tuple[int, Row]] = ()) -> Better:
    """Whole tasks of the largest worth, nobody below its floor. Worths are 0 or 1, and the floors
    whole numbers; where there are packings to begin with, these reach the floors."""
    hull = _Hull(rooms, start)
    mean = hull.solve()
    if mean is None:
        return Better(None, hull.sure)
    if start and float(rooms.worth @ (mean - rooms.floor)) < 1 - _SURE:
        return Better(rooms.floor, hull.sure)  # also in whole tasks there is nothing to gain
    every, rows = _some(rooms, hull)
    found = _integer(rooms, rows)
    return replace(found, proved=found.proved and every)


def _some(rooms: Rooms, hull: _Hull) -> tuple[bool, list[tuple[int, Row]]]:
    """Every packing to which nothing can be added; where they are too many those that prices asked
    for. And which of the two it is."""
    listed = [_list_packings(rooms, k) for k in range(len(rooms.count))]
    rows = [(k, row) for k, each in enumerate(listed) for row in each or ()]
    if all(each is not None for each in listed) and len(rows) <= MOST_ROWS:
        return True, rows
    return False, hull.rows


def _integer(rooms: Rooms, rows: Sequence[tuple[int, Row]]) -> Better:
    """The rooms of each packing, by branch and cut; the numbers are then whole ones, and are
    counted again."""
    from fairlead.sharing.solvers.whole.program import whole_program

    jobs, kinds = len(rooms.floor), len(rooms.count)
    of = np.array([k for k, _ in rows], np.int64)
    packing = np.array([row for _, row in rows], np.int64).reshape(-1, jobs)
    # Rows: what a job gets less what is counted for it; rooms of a kind; caps. Columns: rooms of
    # each packing, and what each job gains.
    matrix = np.zeros((jobs + kinds + len(rooms.caps), len(rows) + jobs))
    matrix[:jobs, : len(rows)] = packing.T
    matrix[:jobs, len(rows) :] = -np.eye(jobs)
    matrix[jobs + of, np.arange(len(rows))] = 1.0
    for i, cap in enumerate(rooms.caps):
        matrix[jobs + kinds + i, len(rows) :] = cap.need
    lower = np.concatenate([rooms.floor, np.full(kinds + len(rooms.caps), -np.inf)])
    room = [cap.amount - float(cap.need @ rooms.floor) for cap in rooms.caps]
    upper = np.concatenate([np.full(jobs, np.inf), np.floor(rooms.count + _SURE), room])
    found = whole_program(
        cost=np.concatenate([np.zeros(len(rows)), -rooms.worth]),
        upper=np.concatenate(
            [np.floor(rooms.count + _SURE)[of], np.maximum(rooms.ceiling - rooms.floor, 0.0)]
        ),
        matrix=matrix,
        row_lower=lower,
        row_upper=upper,
    )
    if found.value is None:
        return Better(None, found.proved)
    number, gain = found.value[: len(rows)], found.value[len(rows) :]
    tasks = rooms.floor + gain
    used = np.bincount(of, number, minlength=kinds)
    kept = (used <= rooms.count + _SURE).all() and (number @ packing >= tasks).all()
    return Better(tasks, found.proved) if kept else Better(None, proved=False)


def _list_packings(rooms: Rooms, kind: int) -> list[Row] | None:
    """Every packing of a room to which no task can be added; None if they are too many."""
    order = [int(j) for j in np.flatnonzero(rooms.most[:, kind])]
    found: list[Row] = []
    looks = 0
    stack: list[tuple[int, Row, tuple[int, ...]]] = [
        (0, (), tuple(int(amount) for amount in rooms.capacity[kind]))
    ]
    need = {j: [(r, int(d)) for r, d in enumerate(rooms.demand[j]) if d] for j in order}
    while stack:
        looks += 1
        if looks > _LOOKS or len(found) > MOST_ROWS:
            return None
        depth, chosen, left = stack.pop()
        if depth == len(order):
            if not _more_fits(rooms, kind, order, need, chosen, left):
                row = [0] * len(rooms.floor)
                for j, number in zip(order, chosen, strict=True):
                    row[j] = number
                found.append(tuple(row))
            continue
        j = order[depth]
        fit = min([int(rooms.most[j, kind]), *(left[r] // d for r, d in need[j])])
        last = depth == len(order) - 1
        for number in (fit,) if last else range(fit + 1):
            after = list(left)
            for r, d in need[j]:
                after[r] -= number * d
            stack.append((depth + 1, (*chosen, number), tuple(after)))
    return found


def _more_fits(
    rooms: Rooms,
    kind: int,
    order: Sequence[int],
    need: dict[int, list[tuple[int, int]]],
    chosen: Row,
    left: Sequence[int],
) -> bool:
    return any(
        number < rooms.most[j, kind] and all(left[r] >= d for r, d in need[j])
        for j, number in zip(order, chosen, strict=True)
    )


class _Hull:
    """Expected tasks: mixtures of packings on each kind of room, found as prices ask for them."""

    def __init__(self, rooms: Rooms, start: Sequence[tuple[int, Row]]) -> None:
        from fairlead.sharing.solvers.whole.packing import Packer, Work

        self.rooms = rooms
        self.unit = np.maximum(rooms.floor, 1.0)
        self.rows = list(dict.fromkeys((k, row) for k, row in start if any(row)))
        self.work = Work(_EFFORT)
        self.sure = True  # was the best packing found each time?
        self.packers = [
            Packer(rooms.demand, rooms.capacity[k], rooms.most[:, k], self.work)
            for k in range(len(rooms.count))
        ]

    def solve(self) -> Floats | None:
        """(J,) the tasks worth most; None where the floors are out of reach."""
        lacking = self._program([{j: 1.0} for j in range(len(self.unit))], np.ones(len(self.unit)))
        if float(self._columns(lacking).max(initial=0.0)) > _SURE:
            return None
        rooms, unit = self.rooms, self.unit
        worth = rooms.worth * unit
        caps = len(unit) + len(rooms.count)
        gains = [
            {j: -1.0}
            | {caps + i: float(cap.need[j] * unit[j]) / self._size(cap) for i, cap in self._caps(j)}
            for j in range(len(unit))
        ]
        most = np.maximum(rooms.ceiling - rooms.floor, 0.0) / unit
        gain = self._columns(self._program(gains, -worth / (worth.max() or 1.0), most))
        tasks: Floats = rooms.floor + gain * unit
        return tasks

    def _caps(self, job: int) -> list[tuple[int, Cap]]:
        return [(i, cap) for i, cap in enumerate(self.rooms.caps) if cap.need[job]]

    def _size(self, cap: Cap) -> float:
        return float((cap.need * self.unit).max())

    def _program(
        self, entries: Sequence[dict[int, float]], cost: Floats, upper: Floats | None = None
    ) -> Program:
        """A column for each job and none yet for packings. Rows: a job's tasks against its floor,
        the rooms of each kind, the caps on what is gained; all of the order of 1."""
        from fairlead.sharing.solvers.linear import INFINITY, Program

        rooms, jobs, kinds = self.rooms, len(self.unit), len(self.rooms.count)
        left = [
            max(cap.amount - float(cap.need @ rooms.floor), 0.0) / self._size(cap)
            for cap in rooms.caps
        ]
        # Where floors are reached exactly, rounding may still have taken a trifle.
        floor = rooms.floor / self.unit * (1 - _LOSS)
        program = Program(
            np.concatenate([floor, np.full(kinds + len(left), -INFINITY)]),
            np.concatenate([np.full(jobs, INFINITY), np.ones(kinds), left]),
        )
        most = np.full(jobs, INFINITY) if upper is None else np.minimum(upper, INFINITY)
        _add(program, cost, most, entries)
        return program

    def _columns(self, program: Program) -> Floats:
        """(J,) the columns of the jobs at the optimum over all packings."""
        jobs = len(self.unit)
        entering = list(self.rows)
        known = set(entering)
        while True:
            _add(
                program,
                np.zeros(len(entering)),
                np.ones(len(entering)),
                [self._entries(k, row) for k, row in entering],
            )
            solution = program.solve()
            entering = [
                each for each in self._price_packings(solution.row_dual) if each not in known
            ]
            if not entering:
                return np.maximum(solution.column_value[:jobs], 0.0)
            known.update(entering)
            self.rows += entering

    def _entries(self, kind: int, row: Row) -> dict[int, float]:
        """All rooms of the kind with this packing."""
        count = float(self.rooms.count[kind])
        found = {j: number * count / float(self.unit[j]) for j, number in enumerate(row) if number}
        return found | {len(self.unit) + kind: 1.0}

    def _price_packings(self, dual: Floats) -> Iterator[tuple[int, Row]]:
        """The packing of each kind that is worth most by these multipliers, if it is worth it."""
        from fairlead.sharing.solvers.whole.packing import LOOKS

        jobs = len(self.unit)
        price = np.maximum(dual[:jobs], 0.0) / self.unit
        for k, packer in enumerate(self.packers):
            value = price * float(self.rooms.count[k])
            if not value.any() or not self.rooms.most[:, k].any():
                continue
            found, _, proved = packer.good(value, LOOKS)
            if not proved:
                cut = packer.cut(value)
                self.sure = self.sure and cut is not None
                found = found if cut is None else cut
            if float(value @ found) + float(dual[jobs + k]) > _LOSS:
                yield k, tuple(int(number) for number in found)


def _add(
    program: Program, cost: Floats, upper: Floats, columns: Sequence[dict[int, float]]
) -> None:
    ends = np.cumsum([0, *(len(column) for column in columns)])
    rows = [row for column in columns for row in sorted(column)]
    values = [column[row] for column in columns for row in sorted(column)]
    program.add_columns(
        cost, upper, ends[:-1].astype(np.int64), np.array(rows, np.int64), np.array(values, float)
    )
