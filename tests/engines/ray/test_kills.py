"""The service on Ray and the driver of its engine are killed at random moments: every accepted task
has one result, the one it had, and none ran twice."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
import ray

from fairlead.engines.ray.engine import LAUNCHER, NAMESPACE
from tests.engines.ray.ground import Ground
from tests.engines.ray.kills import run

pytestmark = pytest.mark.slow


@pytest.mark.deep
def test_kills_of_the_service_and_its_driver_on_ray(
    ground: Ground, tmp_path: Path, cases: int
) -> None:
    kills = 5 * cases  # a start takes seconds: `tests.engines.ray.kills` makes more of them
    try:
        seen = run(tmp_path, 3, kills, ground.address)
    finally:
        with suppress(ValueError):
            ray.kill(ray.get_actor(LAUNCHER, namespace=NAMESPACE))
    assert seen["wrong"] == []
    assert seen["ran again"] == 0
    assert seen["results"] == seen["tasks"] >= kills
    assert seen["exit code of the service"] == 0
    # Nothing was tested where nothing of it happened.
    assert seen["kills"] >= kills
    assert seen["of"].get("the process that starts tasks", 0) + seen["of"].get("both", 0) >= 1
    assert seen["of"].get("the service", 0) + seen["of"].get("both", 0) >= 1
