"""Two services in front of one Ray cluster: what runs there runs on, whoever leads."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import ray

from fairlead.engines.ray.engine import LAUNCHER, NAMESPACE
from tests.cli.live.place import environment
from tests.engines.ray.ground import Ground
from tests.service import conftest
from tests.service.conftest import Databases

pytestmark = pytest.mark.slow

postgres = conftest.postgres

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def database(postgres: Databases) -> Iterator[str]:
    """An empty database."""
    url = postgres()
    yield url
    postgres.leave(url)


def end_launcher() -> None:
    """The launcher of services that are gone, for which the next one would wait for a while."""
    with suppress(ValueError):
        ray.kill(ray.get_actor(LAUNCHER, namespace=NAMESPACE))


@pytest.mark.deep
def test_tasks_run_through_the_loss_of_the_service_that_began_them(
    ground: Ground, database: str, tmp_path: Path
) -> None:
    """What the page for operators shows, with Ray: of each of three tasks that must run once the
    leader is killed, freezes, or is stopped, and it began once and ended well."""
    bash = shutil.which("bash")
    assert bash is not None
    end_launcher()
    words = [database, "--engine", "ray", "--address", ground.address]
    try:
        done = subprocess.run(
            [bash, str(ROOT / "packaging" / "try-failover"), *words],
            env=environment(tmp_path) | {"FAIRLEAD": f"{sys.executable} -m fairlead"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        end_launcher()
    assert (done.returncode, done.stderr) == (0, "")
    for how in ("killed", "frozen", "stopped"):
        assert f"   job {how} ran through it: its task began 1 time\n" in done.stdout
    assert done.stdout.count(" finished ") == 7
