"""A Ray cluster of several nodes on this machine, and a bed of the engines' contract on it."""

from __future__ import annotations

import os
import signal
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import ray
from ray._private.authentication_test_utils import reset_auth_token_state
from ray.cluster_utils import Cluster

from fairlead.engines.interface import Assignment, Attempt
from fairlead.engines.local.processes import started_with
from fairlead.engines.ray.engine import LAUNCHER, RayEngine
from fairlead.engines.ray.launcher.leases import KEPT
from fairlead.model.command import Command
from fairlead.model.values import FrozenMap
from tests.engines.contract import Doing

STORE = 80 * 1024 * 1024
"""Bytes of each node's object store; Ray takes no less than 75 MB."""

SYSTEM = {
    "worker_niceness": 0,
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 5000,
    "health_check_failure_threshold": 3,
    "idle_worker_killing_time_threshold_ms": 600_000,
}
"""A node that is dead is noticed after 1.5 s, not after 14.5 s. One that is frozen, after 15 s: a
node that only waits for a processor answers late, and must not be taken for dead. And workers do
not wait until everything else on the machine has had its turn, as Ray has it; nor do they end after
a second without a task, for the next test needs them again."""

PATIENCE = 300.0
"""Seconds that an engine waits for Ray's answers. Two cores are little for nodes that start
workers beside all else: how long it waits is not what is tested."""

KEPT_FOR_LONG = 1000.0
"""Seconds for which workers are kept, where how busy the machine is is to make no difference."""

SECRET = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "of-the-tests-" + "x" * 32}
"""All tests run with Ray's own authentication."""

COUNT = 'echo x >> "$STARTS"; '

SCRIPTS: Mapping[Doing, str] = {
    Doing.WELL: COUNT,
    Doing.BADLY: COUNT + "exit 3",
    Doing.PRINTING: COUNT + "echo out; echo err >&2",
    Doing.LASTING: COUNT + "sleep 1000 & sleep 1000; wait",
    Doing.SLOW: COUNT + "sleep 0.5",
}


class Ground:
    """A head and some nodes, each with a CPU of its own, called n0, n1, ... `service`: one that
    tests may share, once there is one."""

    def __init__(self, nodes: int) -> None:
        os.environ.update(SECRET)
        reset_auth_token_state()  # Ray may have been imported already, without it
        self.cluster = Cluster(
            initialize_head=True,
            # Nothing here asks for more nodes.
            head_node_args={"_system_config": SYSTEM, "no_monitor": True, **_node("head", 1)},
        )
        self.handles: dict[str, Any] = {}
        self.service: RayService | None = None
        for index in range(nodes):
            self.join(f"n{index}")
        self.address: str = self.cluster.address
        ray.init(address=self.address, log_to_driver=False, configure_logging=False)
        self.cluster.wait_for_nodes()

    def join(self, name: str, **more: Any) -> None:
        """A node joins."""
        self.handles[name] = self.cluster.add_node(**_node(name, 1), **more)

    def kill(self, name: str) -> None:
        """Kills a node with all that runs on it, and reaps it."""
        self.cluster.remove_node(self.handles.pop(name), allow_graceful=False)

    def raylet(self, name: str) -> int:
        """The process that a node is."""
        node = self.cluster.head_node if name == "head" else self.handles[name]
        return int(node.all_processes["raylet"][0].process.pid)

    def down(self) -> None:
        """Ends all of it."""
        ray.shutdown()
        self.cluster.shutdown()
        for name in SECRET:
            del os.environ[name]
        reset_auth_token_state()


def _node(name: str, cpus: int) -> dict[str, Any]:
    return {
        "num_cpus": cpus,
        "object_store_memory": STORE,
        "include_dashboard": False,
        "include_log_monitor": False,
        "labels": {"called": name},
        "resources": {f"only-{name}": 1000},
        "node_name": name,
    }


@dataclass(frozen=True)
class RayService:
    """A service as Ray knows it: its launcher is there from its first engine on. `kept`: as the
    engine has it."""

    state: Path
    namespace: str = field(default_factory=lambda: f"test-{uuid.uuid4().hex[:12]}")
    kept: float = KEPT

    def launcher(self) -> Any:
        """The actor that owns the tasks."""
        return ray.get_actor(LAUNCHER, namespace=self.namespace)

    def end(self) -> None:
        """Nothing of it goes on."""
        with suppress(ValueError):
            ray.kill(self.launcher())


class RayBed:
    """A test's folder on the ground, and the service whose launcher has its tasks."""

    def __init__(self, folder: Path, service: RayService) -> None:
        self.folder, self.service = folder, service

    def engine(self) -> RayEngine:
        return RayEngine(
            self.service.state,
            namespace=self.service.namespace,
            patience=PATIENCE,
            kept=self.service.kept,
        )

    def leave(self) -> None:
        """Nothing that the test started goes on."""
        engine = self.engine()
        engine.reconcile([])
        engine.close()

    def assignment(self, attempt: Attempt, doing: Doing, machine: str = "head") -> Assignment:
        if doing is Doing.MISSING:
            return assign(attempt, machine, ("no-such-program-at-all",))
        return assign(attempt, machine, SCRIPTS[doing], {"STARTS": str(self._path(attempt))})

    def starts(self, attempt: Attempt) -> int:
        path = self._path(attempt)
        return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0

    def runs(self, attempt: Attempt) -> bool:
        # By what they were started with, not by what they write: that comes some time later.
        mine = str(self._path(attempt))
        return any(its == mine for _, its in started_with("STARTS"))

    def settle(self) -> None:
        time.sleep(0.02)

    def _path(self, attempt: Attempt) -> Path:
        return self.folder / str(attempt)


def assign(
    attempt: Attempt,
    machine: str,
    command: Command | None = None,
    env: Mapping[str, str] | None = None,
    call: str | None = None,
    cpu: str = "0.1",
    limit: Fraction | None = None,
) -> Assignment:
    """An assignment of a small task."""
    demand = FrozenMap({"cpu": Fraction(cpu)})
    variables = FrozenMap(dict(env or {}))
    return Assignment(
        attempt, machine, "job", "tenant", demand, command, call, variables, None, limit
    )


def frozen(pid: int) -> None:
    """Stops a process without ending it."""
    os.kill(pid, signal.SIGSTOP)


def thawed(pid: int) -> None:
    """Lets it go on."""
    os.kill(pid, signal.SIGCONT)
