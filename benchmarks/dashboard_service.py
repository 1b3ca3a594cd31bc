"""A service to look at: machines, tenants and jobs in memory, served over HTTP by a process of its
own. `python -m benchmarks.dashboard_service FOLDER --machines 1000 --tenants 200 --jobs 10000`, or
those of a trace: `FOLDER --trace google-2011/ --set hours=1`. What is launched lasts for ever, and
nothing runs."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from fairlead.cli.commands.trace import assignments
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.service.fairness.interface import Adviser
from fairlead.service.fairness.process import WorkerAdviser
from fairlead.service.journal.memory import MemoryStore, Place
from fairlead.service.loop.loop import Service
from fairlead.service.process.server import Serving, serve
from fairlead.service.requests import Caller, Refused, SubmitJobs
from fairlead.service.settings import Limits, Settings
from fairlead.simulation.traces.backlog import as_input
from fairlead.simulation.traces.registry import load
from tests.engines.fake import FakeEngine
from tests.engines.world import World, lasting

MANY = 10**8
LIMITS = Limits(
    jobs_per_tenant=MANY, tasks_per_tenant=MANY, jobs_per_request=MANY, jobs=MANY, tasks=MANY
)
THREADS = "threads"
"""The file with the numbers of the process's threads by their names."""

KINDS = (
    ({"cpu": 64, "memory": 256, "gpu": 8}, {"model": "h100"}),
    ({"cpu": 48, "memory": 192, "gpu": 8}, {"model": "a100"}),
    ({"cpu": 32, "memory": 128, "gpu": 4}, {"model": "v100"}),
    ({"cpu": 64, "memory": 512}, {"model": "none"}),
)
"""Kinds of machines: what they have, and their labels."""


def machines(count: int) -> list[Machine]:
    """So many machines of four kinds, a tenth of them the newest."""
    kinds = [KINDS[min(k % 10, 3)] for k in range(count)]
    return [
        Machine(f"{labels['model'][0]}{k:04}", capacity, labels)
        for k, (capacity, labels) in enumerate(kinds)
    ]


def jobs(count: int, tenants: int, seed: int = 1) -> list[Job]:
    """So many jobs of up to eight tasks; a third are bound to a model of GPU, others to none."""
    random = np.random.Generator(np.random.PCG64(seed))
    found = []
    for number in range(count):
        demand = {"cpu": int(random.integers(1, 9)), "memory": int(random.integers(1, 33))}
        where = ""
        if random.random() < 0.5:
            demand["gpu"] = int(random.choice([1, 1, 2, 4]))
            where = f"model = {random.choice(['h100', 'a100', 'v100'])}" * (random.random() < 0.7)
        # Some tenants ask for much more than others.
        tenant = int(tenants * random.random() ** 2)
        found.append(
            Job(
                f"job-{number:05}",
                demand,
                tenant=f"team-{tenant:03}",
                tasks=int(random.integers(1, 9)),
                where=where,
                command=["true"],
            )
        )
    return found


def tenants(count: int) -> list[Tenant]:
    """So many tenants of three weights."""
    return [Tenant(f"team-{k:03}", weight=1 + k % 3) for k in range(count)]


def begin(
    there: Sequence[Machine],
    tenants: Sequence[Tenant],
    adviser: Adviser,
    units: Mapping[str, Fraction] | None = None,
) -> Service:
    """A service on these machines, with nothing to do yet."""
    world = World(there, lambda: time.time_ns() // 1000, lasting(None))
    settings = Settings(
        tenants=tuple(tenants), units=FrozenMap(units), limits=LIMITS, snapshot_every=0
    )
    service = Service(MemoryStore(Place()), FakeEngine(world), settings, adviser)
    service.step(time.time_ns() // 1000)
    return service


def submit(service: Service, work: Sequence[Job]) -> None:
    """These jobs come."""
    for first in range(0, len(work), 1000):
        (reply,) = service.step(
            time.time_ns() // 1000, [SubmitJobs(Caller(), tuple(work[first : first + 1000]))]
        )
        if isinstance(reply, Refused):
            raise RuntimeError(reply.what)


def begin_trace(files: Sequence[str], options: Mapping[str, str]) -> Service:
    """A service on the machines of a trace, with all its jobs at once, those of a tenant that are
    alike as one; in the units in which the trace is read."""
    workload = load(files, None, options)
    cluster, work, _ = as_input(workload)
    units = {each.name: each.unit for each in workload.resources if not each.device}
    service = begin(cluster.machines, cluster.tenants, WorkerAdviser(), units)
    submit(service, [replace(job, command=("true",)) for job in work])
    return service


def start(folder: Path, service: Service, port: int = 0) -> int:
    """Serves until a signal; the address and the administrator's token are in the folder."""

    def ready(url: str, _: bool) -> None:
        named = [f"{thread.name} {thread.native_id}" for thread in threading.enumerate()]
        (folder / THREADS).write_text("\n".join(named), encoding="ascii")
        print(url, flush=True)

    # Asked once a second, as an engine is that tells when it has news: the loop is quiet otherwise.
    return serve(Serving(service, folder, port=port, poll=1.0), ready)


def main() -> int:
    """Serves what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=0)
    for name, number in (("machines", 1000), ("tenants", 200), ("jobs", 10_000)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--trace", nargs="+", metavar="FILE", default=[])
    parser.add_argument("--set", action="append", metavar="NAME=VALUE", default=[])
    options = parser.parse_args()
    if options.trace:
        service = begin_trace(options.trace, assignments(options.set))
    else:
        there = machines(options.machines)
        service = begin(there, tenants(options.tenants), WorkerAdviser())
        submit(service, jobs(options.jobs, options.tenants))
    return start(options.folder, service, options.port)


if __name__ == "__main__":
    sys.exit(main())
