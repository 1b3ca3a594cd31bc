"""The simplex and the interior point method lead to corners that give the same shares, exactly."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from fairlead.model.errors import SolverError
from fairlead.sharing.filling import component
from fairlead.sharing.filling.climb import Climb
from fairlead.sharing.filling.groups import coalesce
from fairlead.sharing.filling.rounds import Filling
from fairlead.sharing.numbers.amounts import rationals
from fairlead.sharing.problem.problem import Problem
from fairlead.sharing.solvers import interior, simplex
from fairlead.sharing.solvers.step import Basis, StepProblem, StepSolution, rise_at_once
from tests.sharing.draws import drawn, few_classes, ties
from tests.sharing.filling import proof as filling_proof

NEVER, ALWAYS = 10**9, -1


def highest(problem: StepProblem) -> StepSolution:
    """The highest level of a single problem, by the simplex."""
    found = simplex.Simplex().rise(problem)
    assert found is not None
    return found


def filled(problem: Problem, monkeypatch: pytest.MonkeyPatch, **switches: float) -> Filling:
    """The filling, proved, with other bounds between the ways."""
    with monkeypatch.context() as patch:
        for name, value in switches.items():
            patch.setattr(component, name, value)
        return filling_proof.filled(problem)


def watched(monkeypatch: pytest.MonkeyPatch) -> list[StepProblem]:
    """The programs that the interior point method is asked about from now on."""
    inner: list[StepProblem] = []
    as_ever = interior.likely

    def seen(asked: StepProblem) -> Iterator[interior.Likely]:
        inner.append(asked)
        return as_ever(asked)

    monkeypatch.setattr(interior, "likely", seen)
    return inner


@pytest.fixture
def no_climb(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs find every corner: rationals alone are slow."""

    def never(climb: Climb) -> None:
        raise AssertionError(f"no program ended in the highest corner: {climb}")

    monkeypatch.setattr(Climb, "highest", never)


@pytest.mark.usefixtures("no_climb")
@pytest.mark.parametrize("density", [0.1, 0.4, 1.0])
def test_the_interior_point_method_agrees_with_the_simplex(
    density: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(3):
        problem = drawn(seed, jobs=60, classes=12, resources=3, density=density)
        one = filled(problem, monkeypatch, _MUCH=NEVER, _LITTLE=NEVER)
        other = filled(problem, monkeypatch, _MUCH=ALWAYS, _LITTLE=0, _ONWARD=0)
        assert one.share == other.share


@pytest.mark.usefixtures("no_climb")
@pytest.mark.parametrize("kind", ["many groups", "many classes"])
def test_the_interior_point_method_ends_in_a_corner_where_there_are_ties(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, classes = (30, 10) if kind == "many groups" else (8, 30)
    for seed in range(6):
        problem = ties(seed, jobs=jobs, classes=classes)
        one = filled(problem, monkeypatch, _MUCH=NEVER, _LITTLE=NEVER)
        other = filled(problem, monkeypatch, _MUCH=ALWAYS, _LITTLE=0, _ONWARD=0)
        assert one.share == other.share


@pytest.mark.usefixtures("no_climb")
@pytest.mark.parametrize("jobs", [40, 120])
def test_no_resource_passes_for_used_up_that_only_other_places_take(
    jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The corner next to an interior point is found on some of the places; few of them take a
    resource that few machines have."""
    for seed in range(3):
        problem = few_classes(seed, jobs=jobs, classes=jobs // 6)
        one = filled(problem, monkeypatch, _MUCH=NEVER, _LITTLE=NEVER)
        other = filled(problem, monkeypatch, _MUCH=ALWAYS, _LITTLE=0, _ONWARD=0)
        assert one.share == other.share


def single(seed: int) -> Problem:
    return drawn(seed, jobs=40, classes=8, resources=1, density=0.3)


def rise(seed: int) -> StepProblem:
    problem = single(seed)
    jobs = len(problem.usable)
    return StepProblem(
        use=problem.demand,
        pairs=problem.usable,
        capacity=problem.capacity,
        most_on=None,
        base=np.zeros(jobs),
        rate=problem.tree.weight,
    )


def test_the_places_that_are_likely_reach_nearly_the_first_level() -> None:
    for seed in range(3):
        asked = rise(seed)
        level = highest(asked).level
        found = list(interior.likely(asked))
        assert [each.last for each in found] == [False] * (len(found) - 1) + [True]
        for each, near in zip(found[-2:], (1e-3, 1e-6)[-len(found) :], strict=True):
            assert not (each.start.columns & ~asked.pairs).any()
            few = replace(asked, pairs=each.start.columns, basis=each.start)
            assert highest(few).level == pytest.approx(level, rel=near)


@pytest.mark.usefixtures("no_climb")
def test_where_the_simplex_is_lost_among_likely_places_there_are_better_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = drawn(3, jobs=60, classes=12, resources=3, density=0.6)
    one = filled(problem, monkeypatch)
    other = filled(problem, monkeypatch, _MUCH=ALWAYS, _LITTLE=0, _LOST=0, _ONWARD=0)
    assert one.share == other.share


@pytest.mark.parametrize(("jobs", "classes"), [(9, 1), (1, 7), (1, 1)])
def test_a_single_class_or_group_needs_no_program(jobs: int, classes: int) -> None:
    for seed in range(3):
        problem = drawn(seed, jobs=jobs, classes=classes, resources=3, density=1.0)
        some = np.random.default_rng(seed).random(jobs)
        asked = StepProblem(
            problem.demand,
            problem.usable,
            problem.capacity,
            None,
            base=some * problem.alone / jobs / 2,
            rate=problem.tree.weight,
        )
        at_once = rise_at_once(asked)
        assert at_once is not None
        assert at_once.level == pytest.approx(highest(asked).level, rel=1e-12)
        # The prices prove it: no pair costs less than its share is worth, and the bound is tight.
        assert (problem.demand @ at_once.price.T >= at_once.group[:, None] * (1 - 1e-12)).all()
        bound = (at_once.price * problem.capacity).sum() - at_once.group @ asked.base
        assert bound == pytest.approx(at_once.level * float(at_once.group @ asked.rate), rel=1e-12)
        assert (at_once.share.T @ problem.demand <= problem.capacity * (1 + 1e-12)).all()


def test_several_classes_and_groups_need_a_program() -> None:
    assert rise_at_once(rise(0)) is None


def test_the_simplex_starts_with_everyone_where_there_is_room() -> None:
    """From everyone on one class, a pivot for each of sixty that has to leave it."""
    problem = drawn(0, jobs=60, classes=6, resources=2, density=1.0)
    even = StepProblem(
        problem.demand,
        problem.usable,
        np.ones((6, 2)) * 100,
        None,
        np.zeros(60),
        1.0 / problem.demand.sum(axis=1),
    )
    assert simplex.Simplex().rise(even, most_pivots=0.4) is not None


def test_too_many_pivots_end_the_simplex_and_the_next_program_is_not_the_worse_for_it() -> None:
    program = simplex.Simplex()
    assert program.rise(rise(1), most_pivots=0.01) is None
    found = program.rise(rise(1))
    assert found is not None
    assert found.level == highest(rise(1)).level


@pytest.mark.usefixtures("no_climb")
def test_many_places_are_roughly_optimal_first(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = drawn(3, jobs=30, classes=8, resources=3, density=0.5)
    one = filled(problem, monkeypatch)
    monkeypatch.setattr(simplex, "_MANY", 0)
    monkeypatch.setattr(simplex, "_ROUGH", 1e5)
    assert filled(problem, monkeypatch).share == one.share


def test_where_the_simplex_takes_too_long_the_interior_point_method_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = drawn(3, jobs=60, classes=12, resources=3, density=0.3)
    one = filled(problem, monkeypatch)
    inner = watched(monkeypatch)
    other = filled(
        problem, monkeypatch, _LITTLE=0, _LOOSE=1, _MUCH=NEVER, _FIRST_PIVOTS=0, _NEXT_PIVOTS=0
    )
    assert inner
    assert one.share == other.share


@pytest.mark.usefixtures("no_climb")
def test_the_next_round_goes_on_where_the_last_one_stood(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interior point method is asked in the first round, not in each."""
    inner = watched(monkeypatch)
    for seed in range(3):
        problem = few_classes(seed, jobs=40, classes=7)
        from_inside = filled(problem, monkeypatch, _MUCH=ALWAYS, _LITTLE=0, _ONWARD=0)
        assert len(inner) > 1
        inner.clear()
        onward = filled(problem, monkeypatch, _MUCH=ALWAYS, _LITTLE=0)
        assert onward.share == from_inside.share
        assert len(inner) == 1
        inner.clear()


def test_the_next_round_has_open_places_alone_and_one_of_each_group() -> None:
    for seed in range(3):
        asked = rise(seed)
        stood = highest(asked).basis
        assert stood is not None
        elsewhere = asked.pairs & ~stood.pairs
        group = int(elsewhere.any(axis=1).argmax())
        pairs = asked.pairs.copy()
        pairs[group] = elsewhere[group]  # where it stood is closed
        later = replace(asked, pairs=pairs)
        own = replace(stood, columns=stood.pairs)
        problem = single(seed)
        groups = coalesce(problem, rationals(problem.alone))
        found = component.Programs(groups)._onward(later, own)  # noqa: SLF001  no filling closes these
        assert found is not None
        assert found.level == pytest.approx(highest(later).level, rel=1e-9)
        assert not found.share[~pairs].any()


@pytest.mark.usefixtures("no_climb")
@pytest.mark.parametrize("onward", [0, 0.05, NEVER], ids=["never", "at times", "always"])
def test_the_next_round_goes_on_where_jobs_spread(
    onward: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among the last one's places while these suffice, else among all."""
    problem = few_classes(1, jobs=40, classes=7)
    problem = replace(problem, spread=np.random.default_rng(1).random(40) < 0.4)
    whole = filled(problem, monkeypatch, _MUCH=NEVER, _LITTLE=NEVER)
    assert any(row[0] == "spread" for row in whole.full)
    inner = watched(monkeypatch)
    found = filled(problem, monkeypatch, _MUCH=ALWAYS, _LITTLE=0, _ONWARD=onward)
    assert found.share == whole.share
    assert len(inner) == 1
    assert inner[0].most_on is not None


def test_the_simplex_starts_where_places_were_full() -> None:
    asked = rise(0)
    bound = np.where(np.arange(len(asked.places[0])) % 3, np.inf, 0.2)
    asked = replace(asked, most_on=bound)
    found = highest(asked)
    assert found.basis is not None
    assert found.basis.full is not None
    assert found.basis.full.any()
    # Fewer places than before, of which each has its own bound still.
    some = found.share > 0
    again = simplex.Simplex().rise(replace(asked.among(some, found.basis), least=found.level))
    assert again is not None
    assert again.level == pytest.approx(found.level, rel=1e-9)
    assert again.share == pytest.approx(found.share, rel=1e-9)
    assert again.pivots * (len(asked.use) + asked.capacity.size) < 3


def test_where_the_next_round_cannot_go_on_it_is_found_from_inside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = few_classes(0, jobs=40, classes=7)
    whole = filled(problem, monkeypatch)
    inner = watched(monkeypatch)

    def fails(*_: object) -> StepSolution:
        raise SolverError("no pivot is good enough")

    monkeypatch.setattr(component.Programs, "_onward", fails)
    assert filled(problem, monkeypatch, _MUCH=ALWAYS, _LITTLE=0).share == whole.share
    assert len(inner) > 1


@pytest.mark.usefixtures("no_climb")
def test_where_going_on_ends_in_a_wrong_corner_it_is_found_from_inside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To go on once more would end there, too, and rationals alone are slow."""
    inner = watched(monkeypatch)

    def too_low(
        programs: component.Programs, problem: StepProblem, basis: Basis, _: float | None = None
    ) -> StepSolution:
        """It takes up no place that is cheaper by its prices."""
        with monkeypatch.context() as patch:
            patch.setattr(programs, "_cheaper", lambda asked, _: np.zeros_like(asked.pairs))
            found = as_ever(programs, problem, basis)
        assert found is not None
        return found

    as_ever = component.Programs._onward  # noqa: SLF001
    for seed in range(3):
        problem = few_classes(seed, jobs=40, classes=7)
        whole = filled(problem, monkeypatch)
        inner.clear()
        with monkeypatch.context() as patch:
            patch.setattr(component.Programs, "_onward", too_low)
            assert filled(problem, monkeypatch, _MUCH=ALWAYS, _LITTLE=0).share == whole.share
        assert len(inner) > 1


def test_what_nobody_may_use_is_not_used_up() -> None:
    """Nobody needs the second resource: its slack is basic, in whatever program."""
    problem = drawn(0, jobs=6, classes=3, resources=2, density=1.0)
    use = problem.demand * [1, 0]
    asked = StepProblem(
        use, problem.usable, problem.capacity, None, base=np.zeros(6), rate=problem.tree.weight
    )
    basis = highest(asked).basis
    assert basis is not None
    assert basis.slack[:, 1].all()
    others = np.count_nonzero(basis.pairs) - 6
    assert np.count_nonzero(~basis.slack) == others + 1


def test_a_program_without_an_optimum_is_an_error_with_its_status_and_gap() -> None:
    problem = rise(0)
    asked = StepProblem(
        problem.use,
        problem.pairs,
        problem.capacity,
        problem.most_on,
        base=np.full(len(problem.use), 1e3),
        rate=problem.rate,
        least=1.0,
    )
    with pytest.raises(SolverError, match=r"ended as .*infeasibility .* gap"):
        highest(asked)


def test_small_problems_import_no_scipy() -> None:
    script = (
        "import sys\n"
        "from tests.sharing.build import build\n"
        "from fairlead.sharing.filling.fill import fill\n"
        "problem = build([[1], [2]], [[10], [4]])\n"
        "fill(problem, problem.alone, problem.tree.weight)\n"
        "sys.exit(any(name.split('.')[0] == 'scipy' for name in sys.modules))\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
