"""The rows of the benchmark `live` on Ray: no-op functions through Fairlead, and by a bare driver
that pins each task to a node. Both on a cluster of one node with two CPUs, started here."""

from __future__ import annotations

import atexit
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from benchmarks.cases import Measured
from benchmarks.serving import served

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
    address = ray.get_runtime_context().gcs_address
    # The service is there until this program ends.
    stack = ExitStack()
    atexit.register(stack.close)
    server = served(Path(folder.name) / "state", "--engine", "ray", "--address", address)
    url, token, _ = stack.enter_context(server)
    fair.init(url=url, token=token)
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
