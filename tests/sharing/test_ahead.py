"""Filling looks ahead: tenants of many finite jobs cost few programs, and the levels stay exact."""

from __future__ import annotations

import numpy as np
import pytest

from fairlead.sharing.filling.fill import fill
from fairlead.sharing.parts import Parts
from fairlead.sharing.problem import Problem
from tests.sharing.build import build
from tests.sharing.filling_proof import errors

pytestmark = pytest.mark.usefixtures("part_by_part")


def many(seed: int, tenants: int = 6, jobs: int = 30) -> Problem:
    """Tenants of many finite jobs each on three kinds of machines; some jobs run out of tasks,
    machines stop the others, and limits stop two tenants."""
    draw = np.random.default_rng(seed)
    size = tenants * jobs
    eligible = draw.random((size, 3)) < 0.7
    eligible[~eligible.any(axis=1), 0] = True
    return build(
        draw.integers(1, 9, (size, 2)).tolist(),
        [[40, 50], [60, 30], [50, 50]],
        count=[20, 15, 10],
        eligible=eligible.astype(int).tolist(),
        tasks=np.where(draw.random(size) < 0.1, np.inf, draw.integers(1, 9, size)).tolist(),
        weight=draw.integers(1, 4, tenants).astype(float).tolist(),
        job_tenant=np.repeat(np.arange(tenants), jobs).tolist(),
        limits=[(0, 0, 40.0), (1, 1, 90.0)],
    )


@pytest.mark.parametrize("seed", range(6))
def test_looking_ahead_changes_no_level_and_spares_most_programs(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = many(seed)
    scale, weight = problem.alone, problem.tree.weight
    solved: list[int] = []
    rise = Parts._rise  # noqa: SLF001  the programs are counted where they are solved

    def counted(*given: object) -> object:
        solved.append(1)
        return rise(*given)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(Parts, "_rise", counted)
    filling = fill(problem, scale, weight)
    with_it = len(solved)
    assert errors(problem, scale, weight, filling).gap < 1e-12
    solved.clear()
    monkeypatch.setattr(Parts, "_is_sure", lambda *_: False)
    plain = fill(problem, scale, weight)
    assert [found.share for found in filling.rounds] == pytest.approx(
        [found.share for found in plain.rounds], rel=1e-9
    )
    assert [found.frozen.tolist() for found in filling.rounds] == [
        found.frozen.tolist() for found in plain.rounds
    ]
    assert filling.tasks.sum(axis=1) == pytest.approx(plain.tasks.sum(axis=1), rel=1e-9)
    assert len(filling.rounds) > 40
    assert 2 * with_it < len(solved)
