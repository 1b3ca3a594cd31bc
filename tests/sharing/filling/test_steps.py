"""Both ways to solve the equations of an interior step satisfy them, whatever the sizes."""

from __future__ import annotations

import numpy as np
import pytest

from fairlead.sharing.filling import component
from fairlead.sharing.problem.problem import Bools, Floats
from fairlead.sharing.solvers import interior
from fairlead.sharing.solvers.by_group import GroupSystem
from fairlead.sharing.solvers.scaled import Program, System
from fairlead.sharing.solvers.step import StepProblem
from fairlead.sharing.solvers.triangle import inverse_root
from tests.sharing.build import build
from tests.sharing.filling.proof import filled


def program(seed: int, groups: int, classes: int, density: float) -> Program:
    """A step with frozen groups, resources that a class lacks, and ones that a group spares."""
    random = np.random.default_rng(seed)
    pairs: Bools = random.random((groups, classes)) < density
    pairs[np.arange(groups), random.integers(0, classes, groups)] = True
    use: Floats = random.lognormal(0, 1, (groups, 3)) * (random.random((groups, 3)) < 0.8)
    use[:, 0] += 0.1
    rate = random.choice([0.0, 1.0, 4.0], groups)
    rate[0] = 1.0
    base = np.where(rate > 0, 0.0, 0.01)
    return Program(StepProblem(use, pairs, random.lognormal(2, 1, (classes, 3)), None, base, rate))


@pytest.mark.parametrize(("groups", "classes"), [(3, 20), (15, 9), (30, 11), (60, 4)])
@pytest.mark.parametrize("density", [0.1, 1.0])
def test_both_systems_satisfy_the_equations(groups: int, classes: int, density: float) -> None:
    step = program(groups, groups, classes, density)
    random = np.random.default_rng(classes)
    theta = np.where(step.pairs, 10.0 ** random.uniform(-3, 3, step.pairs.shape), 0.0)
    ratio = np.where(step.row, 10.0 ** random.uniform(-3, 3, step.row.shape), 1.0)
    b1 = random.normal(size=groups)
    b2 = np.where(step.row, random.normal(size=step.row.shape), 0.0)
    for system in (System(step, theta, step.row, ratio), GroupSystem(step, theta, ratio)):
        assert system.regular
        level, p, y = system.solve(b1, b2, 0.7)
        total = theta.sum(axis=1)
        share = -(theta * step.cost(p)).sum(axis=1) + total * y - step.rate * level - b1
        load = step.load(theta * (y[:, None] - step.cost(p))) - ratio * p - b2
        size = max(abs(total * y).max(), abs(ratio * p).max(), 1.0)
        assert abs(share).max() < 1e-9 * size
        assert abs(load[step.row]).max() < 1e-9 * size
        assert step.rate @ y == pytest.approx(0.7, rel=1e-9)


@pytest.mark.parametrize("density", [0.2, 0.6, 1.0])
def test_few_groups_on_many_classes_agree_with_the_simplex(
    density: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(3):
        random = np.random.default_rng(seed)
        eligible = random.random((20, 15)) < density
        eligible[np.arange(20), random.integers(0, 15, 20)] = True
        problem = build(
            random.lognormal(0, 0.7, (20, 4)).tolist(),
            random.lognormal(3, 0.7, (15, 4)).tolist(),
            eligible=eligible.tolist(),
        )
        one = filled(problem)
        with monkeypatch.context() as patch:
            patch.setattr(component, "_MUCH", -1)
            patch.setattr(component, "_LITTLE", 0)
            patch.setattr(interior, "System", None)  # none of these needs it
            other = filled(problem)
        assert one.share == other.share


def test_a_matrix_that_is_not_positive_has_no_root() -> None:
    assert inverse_root(np.diag([1.0, -1.0])) is None


def test_the_root_of_a_large_matrix_is_as_good_as_that_of_a_small_one() -> None:
    random = np.random.default_rng(0)
    for size in (5, 64, 65, 300):
        half = random.normal(size=(size, size))
        matrix = half @ half.T + np.eye(size)
        root = inverse_root(matrix)
        assert root is not None
        assert root.T @ root @ matrix == pytest.approx(np.eye(size), abs=1e-8)
