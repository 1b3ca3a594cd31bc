"""The rows of the benchmark `live` on Ray: no-op functions through Fairlead, and by a bare driver
that pins each task to a node. Both on a cluster of one node with two CPUs, started here."""

from __future__ import annotations

import atexit
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from benchmarks.cases import Measured

CPUS = 2


def _nothing() -> Callable[[int], int]:
    """The function that is run: it is sent as it is, for workers do not have this file."""

    def nothing(number: int) -> int:
        return number

    return nothing


def bare(tasks: int, *, count: bool = False) -> Measured:
    """A driver that submits all tasks at once, each pinned, and waits for the results: gives their
    sum, or how many they are."""
    _begin()
    node = ray.get_runtime_context().get_node_id()
    pinned = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
    remote = ray.remote(num_cpus=1, max_retries=0, scheduling_strategy=pinned)(_nothing())
    ray.get([remote.remote(k) for k in range(50)])

    def run() -> list[float]:
        results = ray.get([remote.remote(k) for k in range(tasks)])
        return [float(len(results) if count else sum(results))]

    return run


def ours(tasks: int, together: int | None = None) -> Measured:
    """The same by `fairlead.ray`, through a service with its journal on disk: one `map`, as it
    divides its calls by itself, or with so many a task."""
    import fairlead.ray as fair

    _begin()
    folder = tempfile.TemporaryDirectory()
    state = Path(folder.name) / "state"
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "fairlead", "serve", "--engine", "ray"),
            *("--address", ray.get_runtime_context().gcs_address, "--state", str(state)),
            *("--listen", "127.0.0.1:0", "--log", "off"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None  # it was asked for
    said = server.stdout.readline()
    if " on " not in said:
        raise RuntimeError(f"the service said {said!r}")
    threading.Thread(target=server.stdout.read, daemon=True).start()
    atexit.register(_stop, server)
    fair.init(url=said.split()[-1], token=(state / "admin-token").read_text().strip())
    remote = fair.remote(num_cpus=1)(_nothing())
    list(remote.map(range(50), together=1))

    def run() -> list[float]:
        total = float(sum(remote.map(range(tasks), together=together)))
        _ = folder  # it stays until all is measured
        return [total]

    return run


def _begin() -> None:
    # A cluster of its own, though another one may run on this machine.
    ray.init(
        address="local",
        num_cpus=CPUS,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
    )


def _stop(server: subprocess.Popen[str]) -> None:
    server.send_signal(signal.SIGTERM)
    try:
        server.wait(30)
    except subprocess.TimeoutExpired:
        server.kill()
