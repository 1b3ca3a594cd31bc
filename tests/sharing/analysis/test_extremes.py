"""The least and the most over all placements with the same tasks, against a plain program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from fairlead.sharing.analysis.improve import Room, extremes


def face(draw: np.random.Generator) -> Room:
    """All placements with the same tasks: there are some, for the tasks are those of one."""
    jobs, classes, resources = (int(draw.integers(1, most)) for most in (5, 5, 4))
    demand = draw.integers(0, 4, (jobs, resources)).astype(float)
    demand[:, 0] += demand.sum(axis=1) == 0
    usable = draw.random((jobs, classes)) < 0.7
    usable[np.arange(jobs), draw.integers(classes, size=jobs)] = True
    placed = np.where(usable, draw.random((jobs, classes)), 0.0)
    used = placed.T @ demand
    capacity = used * draw.choice([1.0, 1.5], size=used.shape)
    most = np.where(draw.random(jobs) < 0.3, placed.max(axis=1), np.inf)[:, None]
    most = np.broadcast_to(most, usable.shape)
    worth = np.where(usable, draw.integers(0, 3, usable.shape), 0).astype(float)
    tasks = placed.sum(axis=1)
    return Room(demand, usable, capacity, most, floor=tasks, ceiling=tasks, unit=tasks, worth=worth)


def by_linprog(given: Room) -> tuple[float, float]:
    job, at = np.nonzero(given.usable)
    equal = (np.arange(len(given.floor))[:, None] == job[None, :]).astype(float)
    rows = [
        np.where(at == c, given.demand[job, r], 0.0)
        for c in range(given.capacity.shape[0])
        for r in range(given.capacity.shape[1])
    ]
    bounds = [(0, most if np.isfinite(most) else None) for most in given.most[job, at]]
    found = []
    for sign in (1, -1):
        solved = linprog(
            sign * given.worth[job, at],
            A_ub=np.array(rows),
            b_ub=given.capacity.ravel(),
            A_eq=equal,
            b_eq=given.floor,
            bounds=bounds,
        )
        assert solved.status == 0
        found.append(sign * float(solved.fun))
    return found[0], found[1]


def test_the_extremes_are_those_of_a_plain_program(cases: int) -> None:
    draw = np.random.Generator(np.random.PCG64(4))
    apart = 0
    for _ in range(24 * cases):
        given = face(draw)
        least, most = extremes(given)
        assert (least, most) == pytest.approx(by_linprog(given), rel=1e-6, abs=1e-6)
        apart += most - least > 1e-3
    assert apart > 4 * cases  # many faces leave something open


def test_what_is_worth_nothing_is_nothing() -> None:
    given = face(np.random.Generator(np.random.PCG64(1)))
    assert extremes(replace(given, worth=given.worth * 0)) == (0.0, 0.0)
