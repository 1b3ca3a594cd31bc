"""One resource: the levels by minimum cuts are those of the linear programs, and are proved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairlead
from benchmarks.instances import Kind, Spec, model, problem
from fairlead.sharing import filling, flowing
from fairlead.sharing.problem import Problem


def one_resource(seed: int) -> Problem:
    """A small random instance; every other one has finite tasks."""
    random = np.random.default_rng(seed)
    kind = list(Kind)[seed % 4]
    jobs, classes = int(random.integers(1, 30)), int(random.integers(1, 10))
    drawn = problem(Spec(kind, jobs, classes, 1, machines=3 * classes, seed=seed))
    if seed % 8 < 4:
        return drawn
    tasks = np.ceil(drawn.alone / jobs * random.uniform(0.1, 3.0, jobs))
    return replace(drawn, tasks=np.where(random.random(jobs) < 0.5, tasks, np.inf))


def test_cuts_and_linear_programs_give_the_same(
    monkeypatch: pytest.MonkeyPatch, cases: int
) -> None:
    for seed in range(80 * cases):
        drawn = one_resource(seed)
        weight = drawn.tree.weight
        expected = filling.fill(drawn, drawn.alone, weight)
        with monkeypatch.context() as patch:
            patch.setattr(flowing, "_MANY_PAIRS", 0)
            found = filling.fill(drawn, drawn.alone, weight)
        np.testing.assert_allclose(found.tasks.sum(axis=1), expected.tasks.sum(axis=1), rtol=1e-10)
        assert not found.tasks[~drawn.usable].any()


@pytest.mark.parametrize("kind", list(Kind))
def test_what_cuts_give_passes_its_certificate(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flowing, "_MANY_PAIRS", 0)
    for seed in (1, 2, 3):
        spec = Spec(kind, tenants=40, classes=8, resources=1, machines=30, seed=seed)
        found = fairlead.allocate(*model(spec), policy="cmmf(resource=cpu)")
        assert found.certificate is not None
        assert found.certificate.feasibility <= 1e-9
        assert found.certificate.gap is not None
        assert found.certificate.gap <= 1e-6


def test_a_large_instance_is_a_flow() -> None:
    drawn = problem(Spec(Kind.LOCAL, tenants=3000, classes=50, resources=1, machines=500))
    found = filling.fill(drawn, drawn.alone, drawn.tree.weight)
    assert sum(len(one.frozen) for one in found.rounds) == 3000
    used = found.tasks.T @ drawn.demand[:, 0]
    assert (used <= drawn.count * drawn.capacity[:, 0] * (1 + 1e-9)).all()
