"""The rows of the benchmark `live` on the Ray engine alone: no-op functions through driver and
launcher to their acknowledged ends, as many at a time as there is room for, as a service does."""

from __future__ import annotations

import base64
import json
import tempfile
import threading
from fractions import Fraction
from itertools import islice
from typing import Any

import ray
from ray import cloudpickle

from benchmarks.cases import Measured
from fairlead.engines.interface import Assignment, Attempt, Ended, Started
from fairlead.engines.registry import ENGINES
from fairlead.engines.supervised.remote import RemoteEngine
from fairlead.model.values import FrozenMap

CPUS = 2

WARM_UP = 50

PAUSE = 1.0
"""Seconds between two looks at an engine that says nothing."""


def ours(tasks: int) -> Measured:
    """The engine: no core, no journal, no service."""
    ray.init(
        address="local",
        num_cpus=CPUS,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
    )
    address = ray.get_runtime_context().gcs_address
    engine = RemoteEngine(ENGINES["ray"].opener, {"state": tempfile.mkdtemp(), "address": address})
    engine.reconcile([])
    (node,) = engine.nodes()
    _through(engine, _batch(1, WARM_UP, node.machine.name))
    batch = _batch(2, tasks, node.machine.name)

    def run() -> list[float]:
        return [float(_through(engine, batch))]

    return run


def _batch(job: int, tasks: int, machine: str) -> list[Assignment]:
    items = [_text(((number,), {})) for number in range(tasks)]
    call = {"fairlead.ray": 1, "name": "nothing", "function": _text(lambda n: n), "items": items}
    text = json.dumps(call)
    demand = FrozenMap({"cpu": Fraction(1)})
    return [
        Assignment(Attempt(job, task, 1), machine, "nothing", "tenant", demand, call=text)
        for task in range(tasks)
    ]


def _text(value: Any) -> str:
    return base64.b64encode(cloudpickle.dumps(value)).decode("ascii")


def _through(engine: RemoteEngine, batch: list[Assignment]) -> int:
    """The number that ended well."""
    news = threading.Event()
    engine.listen(news.set)
    waiting = iter(batch)
    engine.launch(list(islice(waiting, CPUS)))
    over = well = 0
    while over < len(batch):
        news.wait(PAUSE)
        news.clear()
        reports = engine.poll()
        ends = [one for one in reports if not isinstance(one, Started)]
        engine.acknowledge(reports)
        if ends:
            engine.launch(list(islice(waiting, len(ends))))
        over += len(ends)
        well += sum(isinstance(one, Ended) and not one.code for one in ends)
    return well
