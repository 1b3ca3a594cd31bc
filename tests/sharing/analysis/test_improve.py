"""Can jobs run more while nobody runs less: the program against what can be seen by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fairlead.sharing.analysis.improve import Cap, Room, best
from fairlead.sharing.problem.problem import Floats


def room(
    demand: list[list[float]],
    capacity: list[list[float]],
    floor: list[float],
    **others: object,
) -> Room:
    """Everybody may use everything, wants any number of tasks, and counts alike."""
    jobs, classes = len(demand), len(capacity)
    given = {
        "usable": np.ones((jobs, classes), dtype=bool),
        "most": np.full((jobs, classes), np.inf),
        "ceiling": np.full(jobs, np.inf),
        "unit": np.ones(jobs),
        "worth": np.ones((jobs, classes)),
    }
    return Room(
        demand=np.array(demand, dtype=float),
        capacity=np.array(capacity, dtype=float),
        floor=np.array(floor, dtype=float),
        **(given | others),  # type: ignore[arg-type]  # fields of a room, named by the tests
    )


def total(found: Floats | None) -> Floats:
    assert found is not None
    tasks: Floats = found.sum(axis=1)
    return tasks


def test_what_is_left_is_given_away() -> None:
    assert total(best(room([[1], [2]], [[10]], [2, 1]))) == pytest.approx([8, 1])


def test_floors_that_do_not_fit_give_nothing() -> None:
    assert best(room([[1], [2]], [[10]], [5, 3])) is None
    assert best(room([[1], [2]], [[11]], [5, 3])) is not None


def test_nobody_gets_more_than_its_ceiling() -> None:
    found = best(room([[1], [2]], [[10]], [2, 1], ceiling=np.array([3.0, 4.0])))
    assert total(found) == pytest.approx([3, 3.5])


def test_a_cap_holds_over_all_classes() -> None:
    cap = Cap(np.array([1.0, 0.0]), 3.0)
    found = best(room([[1], [2]], [[4], [6]], [1, 1], caps=(cap,)))
    assert total(found) == pytest.approx([3, 3.5])


def test_what_may_be_on_one_class_holds() -> None:
    most = np.array([[1.0, 2.0], [np.inf, np.inf]])
    found = best(room([[1], [4]], [[4], [6]], [0, 0], most=most))
    assert found is not None
    assert found[0] == pytest.approx([1, 2])
    assert found[1].sum() == pytest.approx(7 / 4)


def test_places_that_are_of_use_are_found_though_nobody_starts_there() -> None:
    # Everybody is on the first class; the second and third are free.
    start = np.zeros((3, 3), dtype=bool)
    start[:, 0] = True
    found = best(room([[1], [1], [1]], [[3], [3], [3]], [1, 1, 1]), start)
    assert total(found).sum() == pytest.approx(9)


@pytest.mark.parametrize("seed", range(20))
def test_it_does_not_matter_where_one_starts(seed: int) -> None:
    draw = np.random.Generator(np.random.PCG64(seed))
    jobs, classes = 6, 4
    demand = draw.integers(0, 4, size=(jobs, 2)).astype(float)
    demand[demand.sum(axis=1) == 0, 0] = 1.0
    capacity = draw.integers(4, 12, size=(classes, 2)).astype(float)
    usable = draw.random((jobs, classes)) < 0.6
    usable[:, 0] = True
    # Everybody has a part of the first class, so that this is an allocation.
    each = (
        np.min(
            np.divide(capacity[0], demand, out=np.full(demand.shape, np.inf), where=demand > 0),
            axis=1,
        )
        / jobs
    )
    start = np.zeros_like(usable)
    start[:, 0] = True
    given = room(
        demand.tolist(), capacity.tolist(), each.tolist(), usable=usable, unit=np.maximum(each, 0.1)
    )
    one, other = best(given), best(given, start)
    assert total(one).sum() == pytest.approx(total(other).sum())
    for found in (one, other):
        assert found is not None
        assert (found.T @ demand <= capacity * (1 + 1e-7)).all()
        assert (total(found) >= each * (1 - 1e-7)).all()
        assert not found[~usable].any()
