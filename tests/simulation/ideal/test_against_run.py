"""The online core beside the ideal schedulers on Choosy's own kind of workload."""

from __future__ import annotations

import pytest

from fairlead.simulation.ideal.beside import Beside, beside
from fairlead.simulation.ideal.kinds import Kind
from fairlead.simulation.workloads.registry import generate

PUBLISHED = 0.09
"""Percent: Choosy's mean RMSE against its restricted offline scheduler (section 7.1)."""

JOBS = 60


@pytest.fixture(scope="module")
def found() -> dict[tuple[Kind, int | None], Beside]:
    study = generate(f"choosy-study(machines=60, jobs={JOBS})", 2)
    ideals = ((Kind.RESTRICTED, None), (Kind.RESTRICTED, 1), (Kind.PREEMPTION, None))
    _, each = beside(study, ideals, policy="cmmf:slot", placement="first-fit")
    return {(one.kind, one.ties): one for one in each}


def test_the_core_is_as_close_to_the_restricted_ideal_as_choosy(
    found: dict[tuple[Kind, int | None], Beside],
) -> None:
    one = found[Kind.RESTRICTED, None]
    assert len(one.apart.time) > 100
    assert int(one.apart.jobs.max()) > 10
    assert one.apart.mean_sorted < PUBLISHED
    times = [each for each in one.slowdowns if each.jobs]
    assert sum(each.jobs for each in times) == JOBS
    assert all(abs(each.mean - 1.0) < 0.02 for each in times)


def test_what_may_preempt_is_further_away_than_other_ties(
    found: dict[tuple[Kind, int | None], Beside],
) -> None:
    ties, preemption = found[Kind.RESTRICTED, 1].apart, found[Kind.PREEMPTION, None].apart
    assert 0 < ties.mean < preemption.mean
