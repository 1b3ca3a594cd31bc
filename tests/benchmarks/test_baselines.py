"""The programs that Fairlead is compared with give the same shares as each other and as it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import fairlead
from benchmarks.baselines.algorithm1 import algorithm1
from benchmarks.baselines.max_flow import max_flow
from benchmarks.baselines.warm_lp import warm_lp, warm_lp_closing
from benchmarks.baselines.water_filling import water_filling, water_filling_lean
from benchmarks.instances import Kind, Spec, model, problem
from fairlead.sharing.filling.fill import fill
from fairlead.sharing.problem.problem import Floats, Problem

SAME = 1e-6
Baseline = Callable[[Problem, Floats, Floats], Floats]
SIMPLE = [kind for kind in Kind if kind not in (Kind.LABELS, Kind.SPREAD)]
"""Kinds whose jobs neither end nor spread, of which most baselines do not know."""


@pytest.mark.parametrize(
    "baseline", [algorithm1, water_filling, water_filling_lean, warm_lp_closing]
)
@pytest.mark.parametrize("kind", SIMPLE)
def test_baselines_agree_with_the_warm_program(kind: Kind, baseline: Baseline) -> None:
    tiny = problem(Spec(kind, tenants=12, classes=5, machines=30, seed=2))
    expected = warm_lp(tiny, tiny.alone, tiny.tree.weight)
    found = baseline(tiny, tiny.alone, tiny.tree.weight)
    np.testing.assert_allclose(found, expected, rtol=SAME)


@pytest.mark.parametrize("resources", [1, 4])
@pytest.mark.parametrize("kind", list(Kind))
def test_the_filling_agrees_with_the_warm_program(kind: Kind, resources: int, cases: int) -> None:
    for seed in range(cases):
        spec = Spec(kind, tenants=40, classes=10, resources=resources, machines=80, seed=seed)
        medium = problem(spec)
        weight = medium.tree.weight
        tasks = fill(medium, medium.alone, weight).tasks.sum(axis=1)
        expected = warm_lp(medium, medium.alone, weight)
        np.testing.assert_allclose(tasks / medium.alone / weight, expected, rtol=1e-8)


@pytest.mark.parametrize("kind", SIMPLE)
def test_the_whole_path_agrees_with_algorithm_1(kind: Kind) -> None:
    spec = Spec(kind, tenants=10, classes=5, machines=25)
    tiny = problem(spec)
    found = fairlead.allocate(*model(spec), policy="tsf")
    expected = algorithm1(tiny, tiny.alone, tiny.tree.weight)
    assert [tenant.name for tenant in found.tenants] == list(tiny.tree.names)
    np.testing.assert_allclose([t.share for t in found.tenants], expected, rtol=SAME)


@pytest.mark.parametrize("kind", SIMPLE)
def test_maximum_flows_agree_with_the_warm_program_on_one_resource(kind: Kind) -> None:
    for seed in (1, 2, 3):
        tiny = problem(Spec(kind, tenants=30, classes=8, resources=1, machines=60, seed=seed))
        scale = tiny.total[0] / tiny.demand[:, 0]
        expected = warm_lp(tiny, scale, tiny.tree.weight)
        found = max_flow(tiny, scale, tiny.tree.weight)
        np.testing.assert_allclose(found, expected, rtol=SAME)


def test_a_flow_of_two_resources_is_refused() -> None:
    two = problem(Spec(Kind.LOCAL, tenants=4, classes=3, resources=2, machines=5))
    with pytest.raises(ValueError, match="one resource only"):
        max_flow(two, two.alone, two.tree.weight)


def test_finite_jobs_are_refused() -> None:
    tiny = problem(Spec(Kind.LOCAL, tenants=4, classes=3, machines=5))
    finite = replace(tiny, tasks=np.full(4, 3.0))
    with pytest.raises(ValueError, match="without a last task"):
        algorithm1(finite, finite.alone, finite.tree.weight)


def test_jobs_that_spread_are_refused() -> None:
    tiny = problem(Spec(Kind.LOCAL, tenants=4, classes=3, machines=5))
    spread = replace(tiny, spread=np.ones(4, dtype=np.bool_))
    with pytest.raises(ValueError, match="no job that spreads"):
        algorithm1(spread, spread.alone, spread.tree.weight)
