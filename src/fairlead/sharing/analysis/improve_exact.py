"""Some jobs' best, each having at least its floor: a linear program in rationals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from flint import fmpq

from fairlead.sharing.numbers.amounts import fraction, rational

Pair = tuple[int, int]
"""A job and a class of machines."""

NONE = fmpq(0)


@dataclass(frozen=True)
class Space:
    """The capacities, and what each job must get at least and may get at most.

    `capacity` is that of all machines of a class together, and `most` the tasks of one job on a
    class, where its demand alone does not decide. A task of a job is worth `worth` there. `caps`
    are limits: what a task of each job takes of it, and how much there is.
    """

    demand: Sequence[Sequence[Fraction]]  # (J, R)
    capacity: Sequence[Sequence[Fraction]]  # (C, R)
    floor: Sequence[Fraction]  # (J,)
    ceiling: Sequence[Fraction | None]  # (J,)
    worth: Mapping[Pair, Fraction]  # by the places that are allowed
    most: Mapping[Pair, Fraction] = field(default_factory=dict)
    caps: Sequence[tuple[Sequence[Fraction], Fraction]] = ()


def most_of(space: Space) -> dict[Pair, Fraction] | None:
    """The tasks of the largest worth that give every job its floor; None where nothing does.

    Each place is two columns: tasks up to the floor, of which a job's are worth more by far, and
    those beyond. That floors can be reached is asked first; then tasks up to them are worth so much
    more that all are reached, which is the case from some number on.
    """
    if any(floor > 0 for floor in space.floor):
        reached = _solve(space, fmpq(1), beyond=False)
        if _short(space, reached):
            return None
    else:
        return _solve(space, fmpq(1), beyond=True)
    dearer = fmpq(2**10)
    while True:
        found = _solve(space, dearer, beyond=True)
        if not _short(space, found):
            return found
        dearer *= dearer


def _short(space: Space, found: Mapping[Pair, Fraction]) -> bool:
    total = [Fraction(0)] * len(space.floor)
    for (job, _), tasks in found.items():
        total[job] += tasks
    return any(has < floor for has, floor in zip(total, space.floor, strict=True))


def _solve(space: Space, dearer: fmpq, *, beyond: bool) -> dict[Pair, Fraction]:
    from fairlead.sharing.solvers.exact_program import maximise

    bound: list[fmpq] = []
    number: dict[tuple[str, int, int], int] = {}

    def row(kind: str, first: int, second: int, there: Fraction) -> int:
        key = kind, first, second
        if key not in number:
            number[key] = len(bound)
            bound.append(rational(there))
        return number[key]

    # A unit of a job is its floor, or what it is worth: then floors weigh the same.
    highest: dict[int, fmpq] = {}
    for (job, _), worth in space.worth.items():
        highest[job] = max(highest.get(job, fmpq(0)), abs(rational(worth)))
    pairs: list[Pair] = []
    columns: list[dict[int, fmpq]] = []
    gain: list[fmpq] = []
    for (job, at), worth in space.worth.items():
        takes = {
            row("on", at, r, space.capacity[at][r]): rational(need)
            for r, need in enumerate(space.demand[job])
            if need
        }
        ceiling, most = space.ceiling[job], space.most.get((job, at))
        if ceiling is not None:
            takes[row("tasks", job, 0, ceiling)] = fmpq(1)
        if most is not None:
            takes[row("most", job, at, most)] = fmpq(1)
        for k, (needs, amount) in enumerate(space.caps):
            if needs[job]:
                takes[row("cap", k, 0, amount)] = rational(needs[job])
        if space.floor[job]:
            pairs.append((job, at))
            columns.append({**takes, row("floor", job, 0, space.floor[job]): fmpq(1)})
            own = rational(worth) if beyond else NONE
            gain.append((highest[job] or fmpq(1)) * dearer + own)
        if beyond and space.floor[job] != ceiling:
            pairs.append((job, at))
            columns.append(takes)
            gain.append(rational(worth))
    # Nothing of the one thing is had where there is none of another that it needs.
    fit = [
        index
        for index, takes in enumerate(columns)
        if all(bound[each] > 0 for each in takes) and gain[index] > 0
    ]
    if not fit:
        return {}
    best = maximise([columns[i] for i in fit], bound, [gain[i] for i in fit])
    found: dict[Pair, Fraction] = {}
    for index, much in best.amount.items():
        if much:
            pair = pairs[fit[index]]
            found[pair] = found.get(pair, Fraction(0)) + fraction(much)
    return found
