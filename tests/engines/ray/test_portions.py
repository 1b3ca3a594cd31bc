"""How a `map` that was told nothing divides its calls into tasks, without service and cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import RLock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ray import cloudpickle, exceptions

from fairlead.ray.future import Future
from fairlead.ray.options import Options
from fairlead.ray.portions import (
    LONG,
    MEASURED,
    MOST,
    TASKS,
    Portions,
    Submitter,
    choose_size,
    worthwhile,
)

CALLS = MEASURED + 10 * TASKS

GOOD = b"v" + cloudpickle.dumps(None)


@dataclass
class Submitted:
    """What was submitted: calls, futures, and how many are a task. What was stopped."""

    jobs: list[tuple[list[bytes], list[Future], int]] = field(default_factory=list)
    stopped: list[Future] = field(default_factory=list)

    def put(
        self, items: Sequence[bytes], futures: list[Future], together: int, of: Portions | None
    ) -> None:
        assert of is not None
        tasks = [cloudpickle.loads(item) for item in items]
        assert all(len(calls) == together for calls in tasks[:-1])
        assert 1 <= len(tasks[-1]) <= together
        self.jobs.append(([call for calls in tasks for call in calls], futures, together))

    def stop(self, future: Future) -> bool:
        self.stopped.append(future)
        return True


def begun(calls: int = CALLS) -> tuple[Submitted, Portions]:
    seen = Submitted()
    data = [str(number).encode() for number in range(calls)]
    return seen, Portions("f()", data, Submitter(seen.put, seen.stop, RLock()))


def all_end(portions: Portions, futures: list[Future], seconds: float) -> None:
    for future in futures:
        portions.add_seconds(seconds)
        future.settle(GOOD)


def test_short_calls_are_measured_and_then_several_a_task() -> None:
    seen, portions = begun()
    assert [(len(calls), together) for calls, _, together in seen.jobs] == [(MEASURED, 1)]
    all_end(portions, portions.futures[:MEASURED], LONG / 5)
    assert [(len(calls), together) for calls, _, together in seen.jobs[1:]] == [(10 * TASKS, 5)]
    assert [call for calls, _, _ in seen.jobs for call in calls] == [
        str(number).encode() for number in range(CALLS)
    ]
    assert [future for _, futures, _ in seen.jobs for future in futures] == portions.futures


def test_where_one_takes_long_the_others_are_submitted_at_once() -> None:
    seen, portions = begun()
    portions.mark_started()
    assert [together for _, _, together in seen.jobs] == [1, 1]
    portions.mark_started()
    all_end(portions, portions.futures, 0.0)
    assert len(seen.jobs) == 2


def test_nobody_waits_for_more_measures_than_one_that_took_long() -> None:
    seen, portions = begun()
    portions.add_seconds(0.0)
    portions.add_seconds(LONG)
    assert [together for _, _, together in seen.jobs] == [1, 2]


def test_calls_that_fail_before_they_are_measured_hold_up_nobody() -> None:
    seen, portions = begun()
    for future in portions.futures[:MEASURED]:
        future.settle(error=ValueError("lost"))
    assert [together for _, _, together in seen.jobs] == [1, 1]


def test_what_waits_is_submitted_when_the_script_ends() -> None:
    seen, portions = begun()
    portions.submit_rest()
    portions.submit_rest()
    assert [len(calls) for calls, _, _ in seen.jobs] == [MEASURED, 10 * TASKS]


def test_all_are_cancelled_together_submitted_or_not() -> None:
    seen, portions = begun()
    assert portions.futures[-1].cancel()
    assert seen.stopped == portions.futures[:1]
    with pytest.raises(exceptions.TaskCancelledError):
        portions.futures[-1].result(0)
    all_end(portions, portions.futures[:MEASURED], 0.0)
    assert len(seen.jobs) == 1
    assert not portions.apart(portions.futures[MEASURED : MEASURED + 2], "lost")


def test_calls_whose_task_was_lost_are_made_again_each_by_itself() -> None:
    seen, portions = begun()
    all_end(portions, portions.futures[:MEASURED], 0.0)
    several = portions.futures[MEASURED : MEASURED + 3]
    assert portions.apart(several, "lost")
    assert seen.jobs[-1][1:] == (several, 1)
    assert not portions.apart(several[:1], "lost")
    assert not portions.apart(several, "rejected")


@given(st.integers(1, 10**6), st.lists(st.floats(0, 100), max_size=MEASURED))
def test_a_task_is_neither_long_nor_are_there_few(calls: int, seconds: list[float]) -> None:
    together = choose_size(calls, seconds)
    assert 1 <= together <= MOST
    if together > 1:
        assert together * sum(seconds) / len(seconds) <= LONG * 1.001
        assert -(-calls // together) >= TASKS


@pytest.mark.parametrize(
    "said",
    [
        {"retries": 0},
        {"retries": 3},
        {"rerunnable": False},
        {"time_limit": 5},
        {"duration": 1},
        {"gang": 2},
        {"spread": True},
    ],
)
def test_a_task_each_where_something_is_said_of_each_task(said: dict[str, int]) -> None:
    calls = [b"x"] * CALLS
    assert worthwhile(Options(), b"f", calls)
    assert not worthwhile(Options(**said), b"f", calls)  # type: ignore[arg-type]  # drawn by name
    assert not worthwhile(Options(), b"f", calls[: MEASURED + TASKS])
    assert not worthwhile(Options(), b"f" * 2_000_000, calls)
