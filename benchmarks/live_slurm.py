"""The row of the benchmark `live` on Slurm: no-op jobs placed on nodes by the engine, and by hand.
Both on the cluster of twelve nodes that the tests use, started here."""

from __future__ import annotations

import atexit
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from benchmarks.cases import Measured
from fairlead.engines.interface import Assignment, Attempt, Ended, Started
from fairlead.engines.slurm.placing.controller import Commands
from fairlead.engines.slurm.placing.placer import Placer
from fairlead.engines.slurm.placing.rounds import Allowance
from fairlead.model.values import FrozenMap
from tests.engines.slurm.ground import Ground

SECOND = 1_000_000
PAUSE = 0.1


def by_hand(tasks: int) -> Measured:
    """All jobs are submitted held, each with its node; one `scontrol` releases them; they are asked
    for until all are over: gives how many ended well."""
    ground = _begin()

    def run() -> list[float]:
        words = ("sbatch", "--parsable", "--hold", "--partition=fair", "--output=/dev/null")
        more = ("--ntasks=1", "--mem=100M", "--wrap=true")
        numbers = [
            ground.run(*words, f"--nodelist={_node(ground.nodes, k)}", *more).strip()
            for k in range(tasks)
        ]
        ground.run("scontrol", given="".join(f"release {number}\n" for number in numbers))
        known = set(numbers)
        while True:
            said = ground.run("squeue", "--noheader", "--states=all", "--format=%i %T").split()
            states = [s for n, s in zip(said[::2], said[1::2], strict=True) if n in known]
            if not {"PENDING", "RUNNING", "COMPLETING"} & set(states):
                return [float(states.count("COMPLETED"))]
            time.sleep(PAUSE)

    return run


def ours(tasks: int) -> Measured:
    """The engine, which is handed all of them: no core, no journal, no service."""
    ground = _begin()
    folder = tempfile.TemporaryDirectory(prefix="fairlead-benchmark-")
    atexit.register(folder.cleanup)
    engine = Placer(
        Path(folder.name) / "state", "fair", SECOND, Commands(), lambda: Allowance(10_000)
    )
    atexit.register(engine.close)
    engine.reconcile([])
    jobs = iter(range(1, 1_000_000))

    def run() -> list[float]:
        job, news = next(jobs), threading.Event()
        engine.listen(news.set)
        engine.launch([_task(Attempt(job, k, 1), _node(ground.nodes, k)) for k in range(tasks)])
        over = well = 0
        while over < tasks:
            news.wait(PAUSE)
            news.clear()
            reports = engine.poll()
            ends = [each for each in reports if not isinstance(each, Started)]
            engine.acknowledge(reports)
            over += len(ends)
            well += sum(isinstance(each, Ended) and each.code == 0 for each in ends)
        return [float(well)]

    return run


def _task(attempt: Attempt, node: str) -> Assignment:
    demand = FrozenMap({"cpu": Fraction(1), "memory": Fraction(100 * 2**20)})
    return Assignment(attempt, node, "nothing", "tenant", demand, "true")


def _node(nodes: Sequence[str], number: int) -> str:
    return nodes[number % len(nodes)]


def _begin() -> Ground:
    ground = Ground()
    atexit.register(ground.down)
    os.environ.update(ground.environment)
    subprocess.run(("sbatch", "--wait", "-o", "/dev/null", "--wrap=true"), check=True)
    return ground
