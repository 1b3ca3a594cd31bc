"""Effective weights: a frozen job's rate passes to its active siblings, and up the tree."""

from __future__ import annotations

import numpy as np

from fairlead.sharing.amounts import nearest, rationals
from fairlead.sharing.filling.rates import Rates, siblings
from fairlead.sharing.problem import Tree
from fairlead.sharing.rates import rates


def tree(parent: list[int], weight: list[float], job_tenant: list[int]) -> Tree:
    size = len(parent)
    return Tree(
        names=tuple(f"t{t}" for t in range(size)),
        parent=np.array(parent),
        weight=np.array(weight),
        pool_count=np.zeros((size, 1), dtype=np.int64),
        job_tenant=np.array(job_tenant),
        limits=(),
    )


def of(shape: Tree, active: list[int]) -> list[float]:
    """In doubles, which is what the rationals say, at once and when one freezes after another."""
    found: list[float] = rates(shape, shape.weight, np.array(active, dtype=np.bool_)).tolist()
    weight = rationals(shape.weight)
    everyone = np.ones(len(active), dtype=np.bool_)
    exact, later = (
        Rates(shape, weight, np.array(active, dtype=np.bool_)),
        Rates(shape, weight, everyone),
    )
    for job, is_active in enumerate(active):
        if not is_active:
            later.freeze([job])
    assert exact.rate == later.rate
    assert [nearest(each) for each in exact.rate] == found
    return found


def test_a_tenant_of_one_job_rises_at_its_weight() -> None:
    assert of(tree([-1, -1], [1.0, 3.0], [0, 1]), [1, 1]) == [1.0, 3.0]


def test_the_jobs_of_a_tenant_split_its_weight_evenly() -> None:
    assert of(tree([-1], [3.0], [0, 0, 0]), [1, 1, 1]) == [1.0, 1.0, 1.0]


def test_the_rate_of_a_frozen_job_passes_to_its_siblings() -> None:
    assert of(tree([-1], [3.0], [0, 0, 0]), [1, 0, 1]) == [1.5, 0.0, 1.5]


def test_the_rate_of_a_tenant_without_active_jobs_passes_to_its_siblings() -> None:
    shape = tree([-1, 0, 0], [4.0, 1.0, 3.0], [1, 2, 2])
    assert of(shape, [1, 1, 1]) == [1.0, 1.5, 1.5]
    assert of(shape, [1, 0, 0]) == [4.0, 0.0, 0.0]


def test_at_the_top_nothing_passes() -> None:
    assert of(tree([-1, -1], [1.0, 3.0], [0, 1]), [1, 0]) == [1.0, 0.0]


def test_a_tenants_own_jobs_count_one_beside_its_child_tenants() -> None:
    shape = tree([-1, 0], [8.0, 3.0], [0, 1, 1])
    assert of(shape, [1, 1, 1]) == [2.0, 3.0, 3.0]


def test_a_rate_passes_up_through_levels_that_have_run_dry() -> None:
    shape = tree([-1, 0, 1, 0], [6.0, 1.0, 5.0, 2.0], [2, 3])
    assert of(shape, [1, 1]) == [2.0, 4.0]
    assert of(shape, [0, 1]) == [0.0, 6.0]


def test_siblings_keep_their_proportion_while_both_are_active() -> None:
    random = np.random.default_rng(1)
    for _ in range(50):
        parent = [-1] + [int(random.integers(-1, t)) for t in range(1, 6)]
        shape = tree(
            parent, random.choice([1.0, 2.0, 5.0], 6).tolist(), list(random.integers(0, 6, 9))
        )
        family = siblings(shape)
        full = rates(shape, shape.weight, np.ones(9, dtype=np.bool_))
        active = random.random(9) < 0.7
        now = rates(shape, shape.weight, active)
        for a in np.flatnonzero(active):
            for b in np.flatnonzero(active):
                if family[a] == family[b]:
                    assert np.isclose(now[a] * full[b], now[b] * full[a], rtol=1e-12)
