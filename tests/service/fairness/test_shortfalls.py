"""Who is short by how much, where doubles cannot tell whether anybody is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from fairlead.service.fairness.shortfalls import Measured


def measured(
    whole: Sequence[int], running: Sequence[int], scale: Sequence[float], weight: float = 1.0
) -> Measured:
    """One tenant below another with these jobs."""
    jobs, has = np.arange(len(whole)), np.array(running)
    scales, due = np.array(scale), np.array(whole)
    share, owed = np.cumsum(has / scales)[-1] / weight, np.cumsum(due / scales)[-1] / weight
    none = np.zeros(2, np.int64)
    return Measured(
        exact=None,
        slot=jobs,
        running=has,
        waiting=np.zeros_like(jobs),
        whole=due,
        scale=scales,
        owner=np.ones_like(jobs),
        tenants=("above", "below"),
        parent=np.array([-1, 0]),
        weight=np.array([weight, weight]),
        share=np.array([share, share]),
        fair=np.array([owed, owed]),
        owed=np.array([owed, owed]),
        asked=np.array([share, share]),
        never=np.zeros(len(jobs), np.bool_),
        due=due / scales,
        tenant_running=none,
        tenant_waiting=none,
        unjudged=np.zeros(len(jobs), np.bool_),
        outdated="",
    )


def test_who_has_what_it_is_guaranteed_in_other_jobs_is_not_short() -> None:
    # 1 / (10/3) + 6 / 10 is 9 / 10; in doubles the sums differ.
    found = measured([1, 6, 0], [0, 0, 9], [10 / 3, 10.0, 10.0])
    assert found.owed[1] != found.share[1]
    assert found.shortfall.tolist() == [0, 0]


def test_a_task_of_a_trillion_is_short_beside_a_large_share() -> None:
    found = measured([5, 1], [5, 0], [1.0, 1e12], weight=2.0)
    assert found.shortfall.tolist() == pytest.approx([5e-13, 5e-13], rel=1e-12)


def test_the_gap_is_the_part_of_what_is_due_that_tenants_do_not_hold() -> None:
    # Which of its jobs run is the tenant's own business.
    assert measured([5, 3], [2, 2], [10.0, 10.0]).gap == pytest.approx(0.5)
    assert measured([5, 3], [0, 9], [10.0, 10.0]).gap == 0
    assert measured([0, 0], [0, 9], [10.0, 10.0]).gap is None
    lone = replace(measured([5, 3], [0, 9], [10.0, 10.0]), owner=np.array([-1, 1]))
    assert lone.gap == pytest.approx(5 / 8)
    older = replace(lone, due=np.array([np.nan, 0.3]))
    assert older.gap == 0


def test_who_runs_more_than_it_is_guaranteed_is_not_short() -> None:
    assert measured([5, 0], [5, 1], [1.0, 1e12]).shortfall.tolist() == [0, 0]
    assert measured([5, 0], [4, 2], [1.0, 1.0]).shortfall.tolist() == [0, 0]
    assert measured([5, 0], [4, 0], [1.0, 1.0]).shortfall.tolist() == [1, 1]
