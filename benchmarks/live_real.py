"""The rows of the benchmark `live` with real processes: a service over HTTP, and commands on the
local engine."""

from __future__ import annotations

import atexit
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.cases import Measured
from benchmarks.live_service import LIMITS, TENANTS, batches
from benchmarks.serving import served
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.service.journal.places import open_store
from fairlead.service.loop.loop import Service
from fairlead.service.requests import Caller, Refused, SubmitJobs
from fairlead.service.settings import Settings


def submitting_http(machines: int, jobs: int, batch: int) -> Measured:
    """The same over HTTP, by one client, to a service of its own process. No machine may run these
    jobs: they are submitted, and nothing else happens."""
    from fairlead.client.client import Client

    folder = tempfile.TemporaryDirectory()
    state = Path(folder.name)
    cluster = state / "cluster.yaml"
    names = ", ".join(f"{{name: t{k}}}" for k in range(len(TENANTS)))
    cluster.write_text(
        f"machines:\n- {{name: 'm[0001-{machines:04}]', capacity: {{cpu: 1, memory: 1}}}}\n"
        f"tenants: [{names}]\n"
    )
    # The service is there until this program ends.
    stack = ExitStack()
    atexit.register(stack.close)
    url, token, server = stack.enter_context(served(state / "state", "--cluster", str(cluster)))
    client = Client(url, token=token)
    random = np.random.Generator(np.random.PCG64(1))
    count = iter(range(10**9))

    def run() -> None:
        made = [
            Job(
                f"h{next(count)}",
                {"cpu": int(random.integers(2, 9))},
                tenant=f"t{k % len(TENANTS)}",
                tasks=1,
                command=["true"],
            )
            for k in range(jobs)
        ]
        for each in batches(made, batch):
            client.submit(*each)
        if server.poll() is not None:
            raise RuntimeError("the service ended")
        _ = folder

    return run


def starting(tenants: int) -> Measured:
    """`fairlead serve` with a new state folder and so many tenants (a hundredth of them above the
    others, which have a weight, a limit and a user), until it says where it serves."""
    folder = tempfile.TemporaryDirectory()
    cluster = Path(folder.name) / "cluster.yaml"
    above = max(1, tenants // 100)
    rows = [f"- {{name: org{k}}}" for k in range(above)]
    rows += [
        f"- name: tenant{k}\n  parent: org{k % above}\n  weight: {1 + k % 7}\n  user: nobody\n"
        "  limit: {cpu: 100, memory: 400GiB}"
        for k in range(tenants - above)
    ]
    head = "machines:\n- {name: 'm[01-20]', capacity: {cpu: 32, memory: 128GiB}}\ntenants:\n"
    cluster.write_text(head + "\n".join(rows) + "\n")
    numbers = iter(range(10**9))

    def run() -> dict[str, float]:
        state = Path(folder.name) / f"state{next(numbers)}"
        with served(state, "--cluster", str(cluster)) as (_, _, server):
            used = psutil.Process(server.pid).cpu_times()
            server.kill()
        return {"cpu_s": used.user + used.system}

    run()  # what was not compiled is now
    return run


def commands(commands: int) -> Measured:
    """So many tasks that run `true`, as process groups of this machine, through the whole service,
    until the journal has all their exit codes."""
    from fairlead.engines.local.engine import LocalEngine

    folder = tempfile.TemporaryDirectory()
    state = Path(folder.name) / "state"
    state.mkdir(mode=0o700)
    cluster = Cluster([Machine(f"m{k}", {"cpu": 16, "memory": 10**9}) for k in range(4)])
    engine = LocalEngine(state, cluster, limit_memory=False)
    settings = Settings(limits=LIMITS, snapshot_every=0)
    service = Service(open_store(state), engine, settings)
    names = iter(range(10**9))

    def now() -> int:
        return time.time_ns() // 1000

    service.step(now())
    _finish(service, now, Job("warm", {"cpu": 1}, tasks=20, command=["true"]))

    def run() -> dict[str, float]:
        begun, worked = time.perf_counter(), time.process_time()
        name = f"true{next(names)}"
        _finish(service, now, Job(name, {"cpu": 1}, tasks=commands, command=["true"]))
        _ = folder
        return {
            "commands_per_second": commands / (time.perf_counter() - begun),
            "cpu_s": time.process_time() - worked,
        }

    return run


def _finish(service: Service, now: Any, job: Job) -> None:
    """Has the service run the job to its end."""
    for reply in service.step(now(), [SubmitJobs(Caller(), (job,))]):
        if isinstance(reply, Refused):
            raise RuntimeError(reply.what)
    while True:
        record = service.records.job(job.name)
        assert record is not None  # it was just submitted
        if record.over:
            if record.state.value != "finished":
                raise RuntimeError(f"{job.name} {record.state.value}")
            return
        time.sleep(0.002)
        service.step(now())
