"""Groups with nowhere else to go: their bounds, the guesses made from them, and wrong guesses."""

from __future__ import annotations

import numpy as np
import pytest

from fairlead.sharing import captive, parts
from fairlead.sharing.allocate import allocate
from fairlead.sharing.captive import Plan, first_stop, guess, stop_by_plan
from fairlead.sharing.problem import Problem
from fairlead.sharing.rise import Rise, Risen
from fairlead.sharing.solvers import table
from tests.reference.filling import exact_shares
from tests.reference.policies import POLICIES
from tests.sharing.build import build
from tests.sharing.filling_proof import filled
from tests.sharing.test_agreement import compare, drawn

pytestmark = pytest.mark.usefixtures("part_by_part")


def rise(pairs: list[list[int]], use: list[list[float]], capacity: list[list[float]]) -> Rise:
    size = len(use)
    return Rise(
        np.array(use, dtype=float),
        np.array(pairs, dtype=bool),
        np.array(capacity, dtype=float),
        None,
        np.zeros(size),
        np.ones(size),
    )


def test_a_group_stops_where_its_few_machines_are_full() -> None:
    problem = rise([[1, 1, 0], [0, 1, 1]], [[1, 2], [1, 1]], [[4, 9], [6, 8], [50, 50]])
    stop = first_stop(problem)
    assert stop is not None
    assert stop.level == 8  # 4 on the first, where cpu is scarce, 4 on the second, where memory is
    assert stop.members.tolist() == [True, False]
    assert stop.share[0].tolist() == [4, 4, 0]
    assert (stop.price > 0).tolist() == [[True, False], [False, True], [False, False]]
    # What it costs the group is what it is worth, on both.
    assert (problem.use @ stop.price.T)[0, :2].tolist() == [1, 1]


def test_groups_of_one_class_stop_where_it_is_full_if_they_need_what_is_scarce() -> None:
    problem = rise(
        [[1, 0], [1, 0], [1, 0], [1, 1]],
        [[1, 0], [2, 1], [0, 1], [1, 1]],
        [[30, 40], [99, 99]],
    )
    stop = first_stop(problem)
    assert stop is not None
    assert stop.level == 10
    assert stop.members.tolist() == [True, True, False, False]
    assert stop.group.tolist() == [1, 2, 0, 0]


def test_a_guess_goes_on_with_what_those_who_stop_leave_to_the_others() -> None:
    problem = rise(
        [[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1]],
        [[1, 0], [1, 1], [0, 1], [1, 1]],
        [[5, 40], [9, 99], [60, 60]],
    )
    found = guess(problem, 10)
    assert found is not None
    assert [stop.level for _, stop in found.stops] == [5, 9]
    assert found.others.tolist() == [2, 3]
    # The third needs no cpu: it may still use the memory that is left on the first two.
    assert found.rest.pairs.tolist() == [[True, True, True], [False, False, True]]
    assert found.rest.capacity.tolist() == [[0, 40], [0, 90], [60, 60]]


def test_nobody_is_taken_to_stop_where_somebody_spreads() -> None:
    problem = rise([[1]], [[1.0]], [[1.0]])
    spreading = Rise(
        problem.use, problem.pairs, problem.capacity, np.ones((1, 1)), problem.base, problem.rate
    )
    assert first_stop(problem) is not None
    assert first_stop(spreading) is None


@pytest.mark.parametrize(("held", "told"), [(0.5, True), (1 - 2**-43, False)])
def test_a_bound_that_is_next_to_nothing_beside_what_others_hold_is_not_told_by_a_plan(
    held: float, told: bool
) -> None:
    """What is left for the second is rounding, where the first is frozen with nearly all."""
    left = 1 - held
    problem = Rise(
        np.ones((2, 1)),
        np.ones((2, 1), dtype=np.bool_),
        np.ones((1, 1)),
        None,
        np.array([held, 0.0]),
        np.array([0.0, 1.0]),
    )
    share = np.array([[held], [left]])
    both, only = np.arange(2), np.arange(1)
    last = Risen(2 * left, share, np.zeros((1, 1)), np.zeros(2))
    made = Plan(both, only, share, share.sum(axis=1), (), last)
    found = stop_by_plan(problem, made, both, only)
    assert (found is not None) is told
    if found is not None:
        assert found.level == left


def uneven(seed: int, jobs: int = 40, classes: int = 12) -> Problem:
    """Some jobs may use few classes, others most."""
    random = np.random.default_rng(seed)
    density = np.exp(random.uniform(np.log(0.05), np.log(0.6), (jobs, 1)))
    eligible = random.random((jobs, classes)) < density
    eligible[np.arange(jobs), random.integers(0, classes, jobs)] = True
    demand = random.lognormal(0, 0.7, (jobs, 3)) * (random.random((jobs, 3)) < 0.9)
    demand[:, 0] += 0.1
    return build(
        demand.tolist(),
        random.lognormal(3, 0.7, (classes, 3)).tolist(),
        eligible=eligible.tolist(),
        weight=random.choice([1.0, 2.0, 4.0], jobs).tolist(),
        tasks=np.where(random.random(jobs) < 0.2, random.uniform(1, 9, jobs), np.inf).tolist(),
    )


@pytest.mark.parametrize("likely", [0.9, np.inf])
def test_guesses_right_or_wrong_change_no_level(
    likely: float, cases: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no limit to what is likely most guesses go too far."""
    monkeypatch.setattr(captive, "_LIKELY", likely)
    for seed in range(12 * cases):
        problem = uneven(seed)
        monkeypatch.setattr(parts, "_SEVERAL", 10**9)
        plain = filled(problem)
        monkeypatch.setattr(parts, "_SEVERAL", 0)
        guessed = filled(problem)
        assert [found.share for found in guessed.rounds] == pytest.approx(
            [found.share for found in plain.rounds], rel=1e-11
        )
        assert [found.frozen.tolist() for found in guessed.rounds] == [
            found.frozen.tolist() for found in plain.rounds
        ]
        assert guessed.tasks.sum(axis=1) == pytest.approx(plain.tasks.sum(axis=1), rel=1e-9)


@pytest.mark.parametrize("policy", ["tsf", "cdrf", "drfh"])
def test_guessed_small_instances_agree_with_the_reference(
    policy: str, cases: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "_SEVERAL", 0)
    monkeypatch.setattr(captive, "_LIKELY", np.inf)
    known = POLICIES[policy]
    for seed, (cluster, jobs) in drawn(policy, known, 60 * cases):
        right = exact_shares(cluster, jobs, known.scale, known.looks)
        compare(allocate(cluster, jobs, policy), right, known, seed)


def test_one_program_settles_all_rounds_in_which_few_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[int] = []
    solve = table.rise

    def counted(problem: Rise) -> object:
        solved.append(1)
        return solve(problem)

    monkeypatch.setattr(table, "rise", counted)
    # Each of the first five has a class of its own that it cannot leave; the rest shares another.
    eligible = np.eye(6, dtype=bool)[[0, 1, 2, 3, 4, 5, 5, 5]]
    eligible[5:, :5] = True
    demand = [[1.0, 1.0]] * 5 + [[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]]
    problem = build(demand, [[n, n] for n in (1, 2, 3, 4, 5, 300)], eligible=eligible.tolist())
    monkeypatch.setattr(parts, "_SEVERAL", 0)
    guessed = filled(problem)
    assert len(guessed.rounds) == 6
    with_guesses = len(solved)
    monkeypatch.setattr(parts, "_SEVERAL", 10**9)
    solved.clear()
    filled(problem)
    assert with_guesses == 1 < len(solved)
