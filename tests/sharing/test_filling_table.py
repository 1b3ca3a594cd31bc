"""The simplex on one small table: it agrees with HiGHS, goes on from a basis, and says no."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fairlead.sharing.filling.fill import fill
from fairlead.sharing.problem import Floats, Problem
from fairlead.sharing.rise import Basis, Rise, Risen
from fairlead.sharing.solvers import crash, simplex, table
from tests.sharing.build import build
from tests.sharing.filling_proof import errors

pytestmark = pytest.mark.usefixtures("part_by_part")


def asked(seed: int, groups: int = 9, classes: int = 5, resources: int = 3) -> Rise:
    """Some of the demands are 0; several seeds have groups that are alike."""
    random = np.random.default_rng(seed)
    pairs = random.random((groups, classes)) < random.choice([0.3, 0.6, 1.0])
    pairs[np.arange(groups), random.integers(0, classes, groups)] = True
    whole = random.random() < 0.5
    use = random.integers(1, 4, (groups, resources)).astype(np.float64)
    if not whole:
        use = random.lognormal(0, 0.7, (groups, resources))
    use[:, 1:] *= random.random((groups, resources - 1)) < 0.8
    capacity = random.integers(5, 40, (classes, resources)).astype(np.float64)
    weight = random.integers(1, 3, groups).astype(np.float64)
    return Rise(use, pairs, capacity, None, np.zeros(groups), weight)


def local(seed: int, tasks: float = 0.0, tenants: int = 30) -> Problem:
    """Thirty jobs that may use few classes each; a part of them has so many tasks only."""
    random = np.random.default_rng(seed)
    jobs, classes = 30, 10
    eligible = random.random((jobs, classes)) < 0.2
    eligible[np.arange(jobs), random.integers(0, classes, jobs)] = True
    few = random.random(jobs) < tasks
    owner = np.sort(random.integers(0, tenants, jobs)) if tenants < jobs else np.arange(jobs)
    return build(
        random.lognormal(0, 0.7, (jobs, 3)).tolist(),
        random.lognormal(3, 0.7, (classes, 3)).tolist(),
        eligible=eligible.tolist(),
        tasks=np.where(few, random.uniform(1, 9, jobs), np.inf).tolist(),
        job_tenant=owner.tolist(),
    )


def proves(problem: Rise, risen: Risen) -> None:
    """The shares fit and reach the level, and the prices say that it is the highest."""
    wanted = problem.base + problem.rate * risen.level
    assert risen.share.sum(axis=1) == pytest.approx(wanted, rel=1e-12)
    assert (risen.share >= 0).all()
    assert not risen.share[~problem.pairs].any()
    assert (risen.share.T @ problem.use <= problem.capacity * (1 + 1e-12)).all()
    cost = problem.use @ risen.price.T
    assert (cost >= risen.group[:, None] * (1 - 1e-12))[problem.pairs].all()
    bound = (risen.price * problem.capacity).sum() - risen.group @ problem.base
    assert bound == pytest.approx(risen.level * float(risen.group @ problem.rate), rel=1e-12)


def test_a_table_finds_the_level_that_highs_finds(cases: int) -> None:
    for seed in range(60 * cases):
        problem = asked(seed)
        risen = table.rise(problem)
        assert risen is not None, seed
        proves(problem, risen)
        assert risen.level == pytest.approx(simplex.rise(problem).level, rel=1e-12)


def test_a_table_goes_on_from_the_basis_that_the_last_round_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A filling starts once, and goes on from there; where that is a long way, HiGHS does it."""
    started: list[int] = []
    told: list[bool] = []
    start, rise = crash.crash, table.rise

    def starting(problem: Rise, unit: Floats, turns: int) -> Basis:
        started.append(1)
        return start(problem, unit, turns)

    def telling(problem: Rise) -> Risen | None:
        risen = rise(problem)
        told.append(risen is not None)
        return risen

    monkeypatch.setattr(table, "crash", starting)
    monkeypatch.setattr(table, "rise", telling)
    for seed in range(16):
        problem = local(seed)
        fill(problem, problem.alone, problem.tree.weight)
    assert len(started) <= 16 < len(told)
    assert sum(told) > 0.7 * len(told)


def test_a_table_says_no_where_it_cannot_know_a_place_for_all() -> None:
    problem = asked(3)
    risen = table.rise(problem)
    assert risen is not None
    assert risen.basis is not None
    frozen = replace(problem, base=problem.rate * risen.level, rate=problem.rate * 0.0)
    frozen.rate[0] = 1.0
    assert table.rise(frozen) is None  # without a basis
    nowhere = Basis(risen.basis.pairs & False, risen.basis.slack)
    assert table.rise(replace(frozen, least=risen.level, basis=nowhere)) is None
    singular = Basis(problem.pairs, risen.basis.slack & False)
    assert table.rise(replace(frozen, least=risen.level, basis=singular)) is None
    assert table.rise(replace(problem, most_on=np.ones(problem.pairs.shape))) is None


def test_what_is_too_large_or_too_long_for_a_table_is_left_to_highs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = asked(1)
    with monkeypatch.context() as patch:
        patch.setattr(table, "MOST_NUMBERS", 10)
        assert table.rise(problem) is None
    monkeypatch.setattr(table, "_MOST_PIVOTS", 0)
    assert table.rise(problem) is None


def test_filling_is_the_same_with_and_without_tables(
    cases: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(12 * cases):
        problem = local(seed, tasks=0.3, tenants=12)
        found = []
        for numbers in (table.MOST_NUMBERS, 0):
            with monkeypatch.context() as patch:
                patch.setattr(table, "MOST_NUMBERS", numbers)
                filling = fill(problem, problem.alone, problem.tree.weight)
            off = errors(problem, problem.alone, problem.tree.weight, filling)
            assert max(off.level, off.price, off.gap) < 1e-9
            assert off.fit < 1e-12
            found.append(filling.tasks.sum(axis=1))
        assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_a_basis_that_is_none_but_for_rounding_is_not_gone_on_from() -> None:
    # After the first level the third resource is used up on both machines, and the last job alone
    # rises: what was the basis is singular. Its prices came out as 3e15, and what they proved was
    # lost in subtracting.
    problem = build(
        [[0, 1, 2], [1, 0, 3], [2, 1, 0]],
        [[1, 3, 6], [3, 1, 2]],
    )
    filling = fill(problem, problem.alone, np.ones(3))
    assert [part.share for part in filling.rounds] == pytest.approx([8 / 13, 103 / 117], rel=1e-12)
    assert errors(problem, problem.alone, np.ones(3), filling).gap < 1e-12
