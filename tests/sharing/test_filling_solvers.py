"""The three ways to a level: the simplex, the interior point method and the minimum cuts agree."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from fairlead.model.errors import SolverError
from fairlead.sharing.filling import component
from fairlead.sharing.filling.fill import fill
from fairlead.sharing.filling.rounds import Filling
from fairlead.sharing.problem import Problem
from fairlead.sharing.solvers import interior, simplex
from fairlead.sharing.solvers.rise import Rise, rise_at_once
from tests.sharing.build import build
from tests.sharing.filling_proof import proved

NEVER, ALWAYS = 10**9, -1


def drawn(seed: int, *, jobs: int, classes: int, resources: int, density: float) -> Problem:
    random = np.random.default_rng(seed)
    eligible = random.random((jobs, classes)) < density
    eligible[np.arange(jobs), random.integers(0, classes, jobs)] = True
    return build(
        random.lognormal(0, 0.7, (jobs, resources)).tolist(),
        random.lognormal(3, 0.7, (classes, resources)).tolist(),
        eligible=eligible.tolist(),
        weight=random.choice([1.0, 2.0, 4.0], jobs).tolist(),
    )


def filled(problem: Problem, monkeypatch: pytest.MonkeyPatch, **switches: int) -> Filling:
    for name, value in switches.items():
        monkeypatch.setattr(component, name, value)
    weight = problem.tree.weight
    return proved(problem, problem.alone, weight, fill(problem, problem.alone, weight))


@pytest.mark.parametrize("density", [0.1, 0.4, 1.0])
def test_the_interior_point_method_agrees_with_the_simplex(
    density: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(5):
        problem = drawn(seed, jobs=60, classes=12, resources=3, density=density)
        one = filled(problem, monkeypatch, _MUCH=NEVER, _LITTLE=NEVER)
        other = filled(problem, monkeypatch, _MUCH=ALWAYS)
        assert one.tasks.sum(axis=1) == pytest.approx(other.tasks.sum(axis=1), rel=1e-9)


def rise(seed: int) -> Rise:
    problem = drawn(seed, jobs=40, classes=8, resources=2, density=0.3)
    return Rise(
        use=problem.demand,
        pairs=problem.usable,
        capacity=problem.capacity,
        most_on=None,
        base=np.zeros(len(problem.demand)),
        rate=problem.tree.weight,
    )


def test_the_interior_point_method_ends_next_to_a_corner_of_the_highest_level() -> None:
    for seed in range(5):
        asked = rise(seed)
        ended = interior.rise(asked)
        assert ended is not None
        assert ended.risen.level == pytest.approx(simplex.rise(asked).level, rel=1e-3)
        basis = ended.risen.basis
        assert basis is not None
        assert basis.pairs.any(axis=1).all()
        assert (ended.risen.share[~basis.pairs] == 0).all()


@pytest.mark.parametrize(("jobs", "classes"), [(9, 1), (1, 7), (1, 1)])
def test_a_single_class_or_group_needs_no_program(jobs: int, classes: int) -> None:
    for seed in range(5):
        problem = drawn(seed, jobs=jobs, classes=classes, resources=3, density=1.0)
        some = np.random.default_rng(seed).random(jobs)
        asked = Rise(
            problem.demand,
            problem.usable,
            problem.capacity,
            None,
            base=some * problem.alone / jobs / 2,
            rate=problem.tree.weight,
        )
        at_once = rise_at_once(asked)
        assert at_once is not None
        assert at_once.level == pytest.approx(simplex.rise(asked).level, rel=1e-12)
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
    even = Rise(
        problem.demand,
        problem.usable,
        np.ones((6, 2)) * 100,
        None,
        np.zeros(60),
        1.0 / problem.demand.sum(axis=1),
    )
    assert simplex.Simplex().rise(even, most_pivots=30) is not None


def test_too_many_pivots_end_the_simplex_and_the_next_program_is_not_the_worse_for_it() -> None:
    program = simplex.Simplex()
    assert program.rise(rise(1), most_pivots=1) is None
    found = program.rise(rise(1))
    assert found is not None
    assert found.level == simplex.rise(rise(1)).level


def test_where_the_simplex_takes_too_long_the_interior_point_method_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = drawn(3, jobs=60, classes=12, resources=3, density=0.3)
    one = filled(problem, monkeypatch)
    inner: list[Rise] = []
    as_ever = interior.rise

    def seen(asked: Rise) -> interior.Ended | None:
        inner.append(asked)
        return as_ever(asked)

    monkeypatch.setattr(interior, "rise", seen)
    other = filled(
        problem, monkeypatch, _LITTLE=0, _LOOSE=1, _MUCH=NEVER, _FIRST_PIVOTS=0, _NEXT_PIVOTS=0
    )
    assert inner
    assert one.tasks.sum(axis=1) == pytest.approx(other.tasks.sum(axis=1), rel=1e-9)


def test_a_program_without_an_optimum_is_an_error_with_its_status_and_gap() -> None:
    problem = rise(0)
    asked = Rise(
        problem.use,
        problem.pairs,
        problem.capacity,
        problem.most_on,
        base=np.full(len(problem.use), 1e3),
        rate=problem.rate,
        least=1.0,
    )
    with pytest.raises(SolverError, match=r"ended as .*infeasibility .* gap"):
        simplex.rise(asked)


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
