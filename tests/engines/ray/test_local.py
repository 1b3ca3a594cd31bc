"""Without an address, the engine starts a Ray of its own on this machine, and finds it again."""

from __future__ import annotations

import json
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from fairlead.engines.interface import Attempt, Ended, EngineError
from fairlead.engines.registry import ENGINES
from fairlead.engines.supervised.remote import RemoteEngine
from tests.engines.contract import end_of, wait
from tests.engines.ray.ground import RayBed, RayService, assign

pytestmark = pytest.mark.slow

A = Attempt(1, 0, 1)


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RayBed]:
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    yield RayBed(tmp_path, RayService(tmp_path / "state"))
    address = json.loads((tmp_path / "state" / "ray-local.json").read_text())["address"]
    port = address.rpartition(":")[2]
    for process in psutil.process_iter(["cmdline"]):
        words = " ".join(process.info["cmdline"] or ())
        if f"gcs_server_port={port} " in f"{words} " or f":{port} " in f"{words} ":
            process.kill()


@pytest.mark.deep
def test_a_local_ray_outlives_its_driver(bed: RayBed) -> None:
    settings = {"state": str(bed.service.state), "address": None}
    engine = RemoteEngine(ENGINES["ray"].opener, settings)
    engine.reconcile([])
    (node,) = engine.nodes()
    task = assign(A, node.machine.name, "sleep 1000")
    engine.launch([task])
    wait(bed, lambda: len(engine.poll()) == 1)
    token = bed.service.state / "ray-token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert engine.pid is not None
    os.kill(engine.pid, signal.SIGKILL)
    wait(bed, lambda: engine.pid is None)
    second = RemoteEngine(ENGINES["ray"].opener, settings)
    assert list(second.reconcile([task])) == []
    wait(bed, lambda: len(second.poll()) == 1)
    second.cancel([A])
    assert isinstance(end_of(bed, second, A), Ended)
    second.close()
    with pytest.raises(EngineError):
        engine.poll()
    engine.close()
