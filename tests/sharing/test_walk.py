"""All rounds on one basis: the levels that programs find, and handed over where need be."""

from __future__ import annotations

import numpy as np
import pytest

from fairlead.sharing.coalesce import Groups
from fairlead.sharing.filling import Filling
from fairlead.sharing.parts import Begun, Parts
from fairlead.sharing.problem import Problem
from fairlead.sharing.solvers import walk
from tests.sharing.build import build
from tests.sharing.filling_proof import filled


def few_classes(seed: int, jobs: int = 40, *, zeros: float = 0.0, finite: float = 0.0) -> Problem:
    """Jobs that may use one to three of a dozen classes; with `zeros` some need not every resource,
    `finite`: so many of them run out of tasks, and share tenants, one of which has a limit."""
    random = np.random.default_rng(seed)
    classes = 12
    eligible = random.random((jobs, classes)) < 0.15
    eligible[np.arange(jobs), random.integers(0, classes, jobs)] = True
    demand = random.lognormal(0, 0.7, (jobs, 3)) * (random.random((jobs, 3)) >= zeros)
    demand[:, 0] += 0.1
    tenants = jobs if finite == 0 else jobs // 3
    return build(
        demand.tolist(),
        random.lognormal(3, 0.7, (classes, 3)).tolist(),
        eligible=eligible.tolist(),
        weight=random.choice([1.0, 2.0, 4.0], tenants).tolist(),
        tasks=np.where(random.random(jobs) < finite, random.uniform(1, 9, jobs), np.inf).tolist(),
        job_tenant=(np.arange(jobs) % tenants).tolist(),
        limits=[(0, 0, 5.0)] if finite else [],
    )


def levels(filling: Filling) -> list[tuple[float, set[int]]]:
    """Each level with who froze there: rounds with a step of zero belong together."""
    found: list[tuple[float, set[int]]] = []
    for each in filling.rounds:
        if found and each.share <= found[-1][0] * (1 + 1e-11):
            found[-1][1].update(each.frozen.tolist())
        else:
            found.append((each.share, set(each.frozen.tolist())))
    return found


@pytest.fixture
def handed_over(monkeypatch: pytest.MonkeyPatch) -> list[Begun]:
    """What was begun by others and is done part by part."""
    found: list[Begun] = []

    def seen(groups: Groups, begun: Begun, *, steady: bool) -> Parts:
        found.append(begun)
        return Parts(groups, begun, steady=steady)

    monkeypatch.setattr("fairlead.sharing.filling.Parts", seen)
    return found


@pytest.mark.parametrize(("zeros", "finite"), [(0.0, 0.0), (0.3, 0.0), (0.0, 0.4), (0.2, 0.3)])
def test_a_walk_finds_the_levels_that_programs_find(
    zeros: float, finite: float, cases: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(12 * cases):
        problem = few_classes(seed, zeros=zeros, finite=finite)
        walked = filled(problem)
        with monkeypatch.context() as patch:
            patch.setattr(walk, "MOST_PAIRS", -1)
            by_programs = filled(problem)
        one, other = levels(walked), levels(by_programs)
        assert [share for share, _ in one] == pytest.approx([share for share, _ in other], rel=1e-9)
        assert [frozen for _, frozen in one] == [frozen for _, frozen in other]
        assert walked.tasks.sum(axis=1) == pytest.approx(by_programs.tasks.sum(axis=1), rel=1e-9)


@pytest.mark.parametrize("finite", [0.0, 0.4])
def test_where_all_need_all_resources_a_walk_goes_to_the_end(
    finite: float, handed_over: list[Begun]
) -> None:
    for seed in range(10):
        filled(few_classes(seed, finite=finite))
    assert not handed_over


@pytest.mark.parametrize("finite", [0.0, 0.4])
def test_what_a_unit_takes_is_the_same_kept_from_pivot_to_pivot_and_counted_anew(
    finite: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After every climb: shares in first places and others, and what is taken by them."""
    climb, basic = walk.Walk.climb, 0

    def counted(self: walk.Walk, bound: float) -> object:
        nonlocal basic
        found = climb(self, bound)
        pairs = self._basic.copy()
        kept = self._rows[: 2 + len(pairs)].copy()
        self._count()
        self._basic.clear()
        for pair in pairs:
            self._enter(pair)
        basic = max(basic, len(pairs))
        assert kept == pytest.approx(self._rows[: 2 + len(pairs)], rel=1e-12, abs=1e-13)
        return found

    monkeypatch.setattr(walk.Walk, "climb", counted)
    for seed in range(10):
        filled(few_classes(seed, finite=finite))
    assert basic > 3


def test_what_frozen_jobs_leave_to_others_is_shared_part_by_part(handed_over: list[Begun]) -> None:
    # The first needs no memory: it may use the cpu that is left on the first machine, where the
    # second fills the memory.
    problem = build(
        [[1, 0], [1, 2], [3, 1]], [[10, 2], [10, 20]], eligible=[[1, 1], [1, 0], [0, 1]]
    )
    filling = filled(problem)
    assert len(handed_over) == 1
    assert len(filling.rounds) > 1


def test_a_walk_that_is_given_up_anywhere_is_gone_on_from(
    monkeypatch: pytest.MonkeyPatch, handed_over: list[Begun]
) -> None:
    """After so many rounds, and after so many pivots of a round."""
    given_up: set[tuple[int, int]] = set()
    climb = walk.Walk.climb
    for seed in range(6):
        problem = few_classes(seed, finite=0.3 if seed % 2 else 0.0)
        right = levels(filled(problem))
        for rounds in (0, 1, 3, 7):
            for pivots in (0, 1, 2):
                handed_over.clear()
                left = [rounds]

                def tired(self: walk.Walk, bound: float, left: list[int] = left) -> object:
                    left[0] -= 1
                    if left[0] >= 0:
                        return climb(self, bound)
                    with monkeypatch.context() as patch:
                        patch.setattr(walk, "_MOST_PIVOTS", pivots)  # noqa: B023  used at once
                        end, stop = climb(self, bound)
                    return end, stop

                with monkeypatch.context() as patch:
                    patch.setattr(walk.Walk, "climb", tired)
                    found = levels(filled(problem))
                given_up.update((rounds, pivots) for _ in handed_over)
                assert [share for share, _ in found] == pytest.approx(
                    [share for share, _ in right], rel=1e-9
                )
                assert [frozen for _, frozen in found] == [frozen for _, frozen in right]
    assert {rounds for rounds, _ in given_up} == {0, 1, 3, 7}
    assert {pivots for _, pivots in given_up} == {0, 1, 2}


def test_prices_of_late_rounds_hold_for_places_that_earlier_ones_ruled_out() -> None:
    # The last may use all machines, and stops on its own one, which by then costs more than the
    # others did.
    problem = build(
        [[1], [1], [1], [1]],
        [[2], [3], [90]],
        eligible=[[1, 0, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1]],
    )
    filling = filled(problem)
    last = filling.rounds[-1]
    assert len(filling.rounds) == 3
    assert (last.price > 0).all()
