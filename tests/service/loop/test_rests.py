"""A service that ends in the middle of a rest after a stint: the next one knows who owes, and until
when."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.kernels.memory.tables import POINTS
from fairlead.scheduling.options import Options
from fairlead.scheduling.why.rests import AfterStint
from fairlead.service.recovery.replay import replay
from fairlead.service.settings import Settings
from tests.engines.world import Fate
from tests.service.loop.stage import SECOND, Stage, job
from tests.service.recovered import recover

STINT = 20
"""For so many seconds gangs of all four CPUs run, where two are a part."""


def stage_of(snapshot_every: int) -> Stage:
    settings = Settings(
        tenants=(Tenant("a"), Tenant("b")),
        options=Options(reserve_after=4 * SECOND),
        snapshot_every=snapshot_every,
    )
    fates = {"gangs": [Fate(STINT * SECOND)], "singles": [Fate(SECOND)]}
    stage = Stage(settings=settings, fates=fates)
    stage.submit(job("gangs", 12, tenant="a", gang=4))
    stage.submit(job("singles", 400, tenant="b"))
    return stage


def core_of(stage: Stage) -> Core:
    core = stage.service.core
    assert core is not None
    return core


def owed(stage: Stage) -> float:
    """Seconds that tenant a owes."""
    core = core_of(stage)
    return int(core.state.tenant["owes"][core.ids.tenants["a"]]) / POINTS / SECOND


def launches(stage: Stage) -> list[tuple[int, dict[str, object]]]:
    return [(entry.time, dict(entry.body)) for entry in stage.entries("launch")]


@pytest.mark.parametrize("snapshot_every", [0, 5])
def test_a_rest_goes_on_where_the_service_was_killed_in_it(snapshot_every: int) -> None:
    killed, other = stage_of(snapshot_every), stage_of(snapshot_every)
    for stage in (killed, other):
        stage.settle(STINT + 5)
    assert 10 < owed(killed) == owed(other) < STINT
    if snapshot_every:
        assert killed.service.store.snapshot() is not None
    killed.restart()
    recovered, _ = recover(killed.service.store)
    assert recovered is not None
    assert recovered.digest() == core_of(other).digest()
    for stage in (killed, other):
        stage.settle(2 * STINT)
    # It rested, started its second gang, and what it owes is of that.
    assert launches(killed) == launches(other)
    assert sum(body["job"] == "gangs" for _, body in launches(killed)) == 8
    assert owed(killed) == owed(other)
    found = replay(killed.entries())
    assert found.digest == core_of(killed).digest()


def test_why_counts_the_seconds_down() -> None:
    stage = stage_of(0)
    stage.settle(STINT + 5)

    def seconds() -> Fraction:
        (rest,) = (
            each for each in core_of(stage).why("gangs").reasons if isinstance(each, AfterStint)
        )
        assert (rest.tenant, rest.holds) == ("a", False)
        return rest.seconds

    before = seconds()
    stage.settle(5)
    assert before - seconds() == 5
