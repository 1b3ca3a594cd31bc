"""The whole service while the Ray cluster below it changes: nodes and GPUs that come and go, and a
head that is lost with all there is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.cluster_utils import Cluster

from fairlead.engines.ray.engine import LAUNCHER
from fairlead.engines.registry import ENGINES
from fairlead.engines.supervised.remote import RemoteEngine
from fairlead.model.job import Job
from fairlead.service.journal.places import open_store
from fairlead.service.loop.loop import Service
from fairlead.service.requests import Caller, Done, SubmitJobs
from fairlead.service.settings import Settings
from tests.engines.ray.ground import STORE, SYSTEM, Ground
from tests.ports import kept_port

pytestmark = pytest.mark.slow

PATIENCE = 300.0


class Driven:
    """A service whose steps the test makes, in front of a cluster."""

    def __init__(self, folder: Path, address: str, namespace: str) -> None:
        self.folder = folder
        settings = {"state": str(folder), "address": address, "namespace": namespace}
        self.engine = RemoteEngine(ENGINES["ray"].opener, settings)
        self.service = Service(open_store(folder), self.engine, Settings())
        self.step()

    def step(self, *jobs: Job) -> None:
        """A step, in which these jobs are accepted."""
        requests = [SubmitJobs(Caller(), jobs)] if jobs else []
        for reply in self.service.step(time.time_ns() // 1000, requests):
            assert isinstance(reply, Done), reply

    def until(self, condition: Callable[[], Any]) -> None:
        """Steps until it holds."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "it never came to be"
            self.step()
            time.sleep(0.02)

    def ends(self, name: str) -> list[str]:
        """Why each task of a job that is over ended."""
        record = self.service.records.job(name)
        assert record is not None
        if not record.over:
            return []
        tasks = [self.service.records.task(record, task) for task in range(record.tasks)]
        return [f"{task.outcome.name.lower()} {task.code}" for task in tasks]

    def runs(self, *names: str) -> bool:
        """Whether a task of each is known to run."""
        return all((self.folder / f"{name}.began").exists() for name in names)

    def machines(self) -> list[str]:
        """Those that are there, as the core sees it."""
        machines = self.service.records.machines.values()
        return sorted(each.name for each in machines if each.machine is not None)


def job(driven: Driven, name: str, script: str, **more: Any) -> Job:
    """A job of commands that say when they begin."""
    text = f'touch "{driven.folder}/{name}.began"; {script}'
    return Job(name, more.pop("demand", {"cpu": "0.5"}), command=text, **{"tasks": 1, **more})


def seen(driven: Driven, pattern: str) -> list[str]:
    """The lines that tasks have written to such files, those that are written whole."""
    texts = [path.read_text(encoding="utf-8") for path in driven.folder.glob(pattern)]
    return sorted(text.strip() for text in texts if text.endswith("\n"))


@pytest.fixture
def driven(ground: Ground, tmp_path: Path) -> Iterator[Driven]:
    namespace = f"test-{tmp_path.name}"
    made = Driven(tmp_path, ground.address, namespace)
    yield made
    made.service.close()
    ray.kill(ray.get_actor(LAUNCHER, namespace=namespace))


@pytest.mark.deep
def test_gpus_come_with_their_node_and_go_with_it(ground: Ground, driven: Driven) -> None:
    """Ray hands out the devices; each of two tasks has one of its own."""
    says = f'echo "$CUDA_VISIBLE_DEVICES" > {driven.folder}/gpu.$FAIRLEAD_TASK; '
    wait = f"while [ ! -e {driven.folder}/go ]; do sleep 0.1; done"
    demand = {"cpu": "0.1", "gpu": 1}
    driven.step(job(driven, "gpus", says + wait, tasks=2, demand=demand))
    driven.until(lambda: driven.machines() == ["head", "n0"])
    assert not driven.runs("gpus")
    ground.join("g0", num_gpus=2)
    try:
        driven.until(lambda: len(seen(driven, "gpu.*")) == 2)
        assert seen(driven, "gpu.*") == ["0", "1"]
    finally:
        ground.kill("g0")
    driven.until(lambda: driven.machines() == ["head", "n0"])
    record = driven.service.records.job("gpus")
    assert record is not None
    assert not record.over  # its tasks were lost, and wait for the next such node
    (driven.folder / "go").touch()
    ground.join("g1", num_gpus=1)
    try:
        driven.until(lambda: driven.ends("gpus") == ["exited 0", "exited 0"])
    finally:
        ground.kill("g1")
    driven.until(lambda: driven.machines() == ["head", "n0"])


@pytest.fixture
def port() -> Iterator[int]:
    with kept_port() as kept:
        yield kept


@pytest.mark.deep
@pytest.mark.usefixtures("ground")
def test_a_cluster_that_is_lost_is_waited_for(port: int, tmp_path: Path) -> None:
    cluster = head(port)
    driven = Driven(tmp_path, cluster.address, "test")
    try:
        again = f"sleep 0.1; [ -e {tmp_path}/go ] || sleep 1000"
        driven.step(job(driven, "again", again))
        driven.step(job(driven, "once", "sleep 1000", rerunnable=False))
        driven.until(lambda: driven.runs("again", "once"))
        cluster.shutdown()
        driven.until(lambda: not driven.service.ready)
        assert driven.service.trouble
        (tmp_path / "go").touch()
        driven.step(job(driven, "meanwhile", "exit 7"))  # accepted all the same
        for _ in range(50):
            driven.step()
        assert driven.ends("again") == driven.ends("once") == []  # nobody knows
        cluster = head(port)
        names = ("again", "once", "meanwhile")
        driven.until(lambda: all(driven.ends(name) for name in names))
        assert driven.service.ready
        assert driven.ends("again") == ["exited 0"]
        assert driven.ends("once") == ["lost 0"]
        assert driven.ends("meanwhile") == ["exited 7"]
    finally:
        driven.service.close()
        cluster.shutdown()


def head(port: int) -> Cluster:
    """A cluster of one node at that port."""
    assert os.environ["RAY_AUTH_TOKEN"]
    node = {"num_cpus": 2, "gcs_server_port": port, "node_name": "only"}
    store = {"object_store_memory": STORE, "include_dashboard": False}
    return Cluster(initialize_head=True, head_node_args={"_system_config": SYSTEM, **node, **store})
