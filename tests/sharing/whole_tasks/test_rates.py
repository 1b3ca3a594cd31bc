"""Effective weights: a frozen job's rate passes to its active siblings, and up the tree."""

from __future__ import annotations

import numpy as np
from flint import fmpq

from fairlead.sharing.filling.rates import Rates, rates, siblings
from fairlead.sharing.numbers.amounts import nearest, rationals
from fairlead.sharing.problem.problem import Tree


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


def exactly(shape: Tree, active: list[int]) -> list[fmpq]:
    """The rates in rationals."""
    return Rates(shape, rationals(shape.weight), np.array(active, dtype=np.bool_)).rate


def of(shape: Tree, active: list[int]) -> list[float]:
    """The rates in doubles, which are those in rationals."""
    found: list[float] = rates(shape, shape.weight, np.array(active, dtype=np.bool_)).tolist()
    assert found == list(map(nearest, exactly(shape, active)))
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


def drawn(random: np.random.Generator) -> Tree:
    parent = [-1] + [int(random.integers(-1, t)) for t in range(1, 6)]
    weight = random.choice([1.0, 2.0, 5.0, 0.1], 6).tolist()
    return tree(parent, weight, list(random.integers(0, 6, 9)))


def test_siblings_keep_their_proportion_while_both_are_active() -> None:
    random = np.random.default_rng(1)
    for _ in range(50):
        shape = drawn(random)
        family = siblings(shape)
        full = exactly(shape, [1] * 9)
        active = random.random(9) < 0.7
        now = exactly(shape, active.tolist())
        for a in np.flatnonzero(active):
            for b in np.flatnonzero(active):
                if family[a] == family[b]:
                    assert now[a] * full[b] == now[b] * full[a]


def test_rates_kept_up_to_date_are_those_made_anew() -> None:
    """Whoever freezes changes the rates of those that are told, and of nobody else."""
    random = np.random.default_rng(2)
    for _ in range(50):
        shape = drawn(random)
        active = random.random(9) < 0.8
        kept = Rates(shape, rationals(shape.weight), active)
        while active.any():
            before = list(kept.rate)
            some = np.flatnonzero(active & (random.random(9) < 0.4))
            told = kept.freeze(some.tolist())
            active[some] = False
            assert kept.rate == exactly(shape, active.tolist())
            changed = {j for j in np.flatnonzero(active) if kept.rate[j] != before[j]}
            assert changed <= told


def test_what_rises_at_the_top_adds_up_to_its_weight() -> None:
    shape = tree([-1, 0, 0], [0.1, 0.3, 0.7], [1, 1, 2])
    assert exactly(shape, [1, 1, 1]) == [fmpq(3, 200), fmpq(3, 200), fmpq(7, 100)]
