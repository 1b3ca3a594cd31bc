"""Shares over time: bounded, the newest whole, the old ones thinner."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairlead.service.fairness.history import History, Sample


def sample(time: int, names: tuple[str, ...] = ("a", "b")) -> Sample:
    values = np.array([[time, time + 0.5, k, 2 * k] for k in range(len(names))], np.float32)
    return Sample(time, names, values)


def test_it_never_has_more_points_than_it_may() -> None:
    history = History(most=64)
    for time in range(10_000):
        history.add(sample(time))
        assert len(history) <= 64
    points = history.of("b")
    times = [point.time for point in points]
    assert times == sorted(times)
    assert times[-30:] == list(range(9970, 10_000))  # what is new is whole
    assert times[0] < 100  # and what is old is still there
    assert points[-1].share == 9999
    assert (points[-1].running, points[-1].waiting) == (1, 2)


def test_tenants_come_and_go() -> None:
    history = History()
    history.add(sample(1, ("a",)))
    history.add(sample(2, ("a", "b")))
    history.add(sample(3, ("b",)))
    assert [point.time for point in history.of("a")] == [1, 2]
    assert [point.time for point in history.of("b")] == [2, 3]
    assert history.tenants() == ("b",)
    assert history.of("nobody") == ()


def test_a_part_of_the_time_begins_with_what_stood_then() -> None:
    history = History()
    for time in (10, 20, 30):
        history.add(sample(time))
    stood = history.of("a", since=25)
    assert [point.time for point in stood] == [25, 30]
    assert stood[0].share == history.of("a")[1].share
    assert [point.time for point in history.of("a", since=40)] == [40]
    assert [point.time for point in history.of("a", since=5)] == [10, 20, 30]


def test_a_part_of_the_time_in_few_points() -> None:
    history = History()
    for time in range(100):
        history.add(sample(time))
    assert [point.time for point in history.of("a", since=10, until=12)] == [10, 11, 12]
    few = [point.time for point in history.of("a", points=5)]
    assert len(few) == 5
    assert few[-1] == 99


def test_many_tenants_leave_fewer_points() -> None:
    history = History()
    names = tuple(f"t{k}" for k in range(20_000))
    first = sample(0, names)
    for time in range(100):
        history.add(replace(first, time=time))
    assert len(history) < 60
