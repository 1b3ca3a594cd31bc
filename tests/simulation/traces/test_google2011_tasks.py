"""Task events brought down to tasks agree with a slow reading, however the events are cut."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.errors import InputError
from fairlead.simulation.traces.public.google2011_tasks import (
    FINISH,
    KILL,
    SCHEDULE,
    START,
    SUBMIT,
    reduce_events,
)
from fairlead.simulation.traces.tables import MISSING, Part

NAMES = ("time", "job", "index", "event", "user", "cpu", "memory", "different")

Row = tuple[int, ...]


def part(rows: Sequence[Row]) -> Part:
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(NAMES))
    return {name: table[:, place].copy() for place, name in enumerate(NAMES)}


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[Row], list[int]]:
    """Events of a few tasks in order of time, and where to cut them."""
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from([0, START, START + 5, START + 5, START + 9, START + 40]),
                st.integers(1, 2),  # job
                st.integers(0, 1),  # index
                st.sampled_from([0, 1, 1, 4, 4, 5, 2, 8]),  # event
                st.integers(-1, 2),  # user
                st.integers(-1, 3),  # cpu
                st.integers(-1, 3),  # memory
                st.integers(-1, 1),
            ),
            max_size=40,
        )
    )
    rows.sort(key=lambda row: row[0])
    return rows, sorted(draw(st.lists(st.integers(0, len(rows)), max_size=12)))


def slowly(rows: list[Row], ends: tuple[int, ...]) -> dict[tuple[int, int], list[int]]:
    """What each task comes to: submission, user, demands, flag, begin and end of the last run."""
    tasks: dict[tuple[int, int], list[int]] = {}
    running: dict[tuple[int, int], int] = {}
    for time, job, index, event, *rest in rows:
        key = (job, index)
        time = max(0, time - START)
        task = tasks.setdefault(key, [MISSING] * 7)
        user, cpu, memory, different = rest
        if event == SUBMIT and task[0] == MISSING:
            task[0] = time
        if task[1] == MISSING:
            task[1] = user
        if task[2] == MISSING and cpu != MISSING and memory != MISSING:
            task[2:5] = [cpu, memory, different]
        if event == SCHEDULE:
            running[key] = time
        if event in ends and key in running:
            task[5:] = [running[key], time]
    return tasks


@given(streams(), st.sampled_from([(FINISH,), (FINISH, KILL)]), st.sampled_from([1, 3, 1000]))
def test_tasks_are_those_of_a_slow_reading(
    stream: tuple[list[Row], list[int]], ends: tuple[int, ...], at_once: int
) -> None:
    rows, cuts = stream
    edges = [0, *cuts, len(rows)]
    pieces = [rows[a:b] for a, b in itertools.pairwise(edges) if b > a]
    tasks, counts = reduce_events([part(piece) for piece in pieces], ends, at_once)
    found = {
        (int(key) >> 24, int(key) & 0xFFFFFF): [
            int(getattr(tasks, name)[row])
            for name in ("submit", "user", "cpu", "memory", "different", "began", "ended")
        ]
        for row, key in enumerate(tasks.key)
    }
    assert found == slowly(rows, ends)
    assert [counts[event] for event in range(9)] == [
        sum(row[3] == event for row in rows) for event in range(9)
    ]


def test_events_out_of_order_are_refused() -> None:
    early, late = (START, 1, 0, 0, 0, 1, 1, 0), (START + 1, 1, 0, 1, 0, 1, 1, 0)
    for pieces in ([[late, early]], [[late], [early]]):
        with pytest.raises(InputError, match="not in the order of their times"):
            reduce_events([part(piece) for piece in pieces], (FINISH,))
