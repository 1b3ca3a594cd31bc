"""The part of a bare Ray driver's speed that is left through Fairlead: a table by sizes of the
cluster and lengths of the tasks.

`python -m benchmarks.live_ray_table [--cpus 2,8,32] [--seconds 0,0.01,0.1] [--calls 400]
[--rounds 3]`. Both run by turns on the same nodes, of one cluster for each size, which are started
here: the bare driver submits all calls at once, each pinned to a node; Fairlead gets them as one
`map`, through a service with its journal on disk: as `map` divides them into tasks by itself, and a
task each (`together=1`). `--processes` adds whose the processor time was, and what the service says
of its steps. Needs nothing but two cores, and patience where they are busy.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from urllib.request import Request, urlopen

import psutil
import ray
from ray.cluster_utils import Cluster
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import fairlead.ray as fair
from benchmarks.serving import served

NODES = {2: (2,), 8: (2, 2, 2, 2), 32: (8, 8, 8, 8)}
"""CPUs of the nodes, by their sum; other sums are one node."""

MOST, LEAST = 400, 60
"""Calls of one measurement, if nothing else is said."""

STORE = 80 * 1024 * 1024


def work() -> Callable[[int, float], int]:
    """The function that is run: it is sent as it is, for workers do not have this file."""

    def nap(number: int, seconds: float) -> int:
        import time

        if seconds:
            time.sleep(seconds)
        return number

    return nap


@contextmanager
def cluster(cpus: int) -> Iterator[list[str]]:
    """The ids of the nodes of a cluster with so many CPUs."""
    sizes = NODES.get(cpus, (cpus,))
    common = {"object_store_memory": STORE, "include_dashboard": False}
    # A worker is of one driver: those of one turn are to be there still in the next but one.
    kept = {"num_workers_soft_limit": 4 * max(sizes)}
    first = {"num_cpus": sizes[0], "node_name": "n0", "_system_config": kept}
    made = Cluster(initialize_head=True, head_node_args={**first, **common})
    for number, size in enumerate(sizes[1:], 1):
        made.add_node(num_cpus=size, node_name=f"n{number}", **common)
    ray.init(address=made.address, log_to_driver=False, configure_logging=False)
    made.wait_for_nodes()
    try:
        yield [node["NodeID"] for node in ray.nodes() if node["Alive"]]
    finally:
        ray.shutdown()
        made.shutdown()


@contextmanager
def service(folder: Path) -> Iterator[Callable[[], Steps]]:
    """A service in front of the cluster, and this program as its client; asks for its steps."""
    address = ray.get_runtime_context().gcs_address
    with served(folder / "state", "--engine", "ray", "--address", address) as (url, token, _):
        fair.init(url=url, token=token)
        try:
            yield lambda: steps(url, token)
        finally:
            fair.shutdown()


@dataclass(frozen=True)
class Steps:
    """The work that a service has done: steps that wrote into its journal, the seconds that all
    steps took, and of these the synced writing."""

    count: float
    seconds: float
    journal: float

    def since(self, before: Steps, calls: int) -> str:
        """The work per call, for so many calls."""
        count, journal = self.count - before.count, self.journal - before.journal
        seconds = self.seconds - before.seconds
        return (
            f"{calls / count:.1f} calls a step of {1000 * seconds / count:.2f} ms, of which the"
            f" journal takes {1000 * journal / count:.2f} ms"
        )


def steps(url: str, token: str) -> Steps:
    """As the service's metrics say it."""
    request = Request(f"{url}/metrics", headers={"Authorization": f"Bearer {token}"})
    with urlopen(request) as answer:
        lines = answer.read().decode().splitlines()
    wanted = ("fairlead_journal_seconds_", "fairlead_step_seconds_")
    words = (line.rpartition(" ") for line in lines if line.startswith(wanted))
    found = {name: float(value) for name, _, value in words}
    return Steps(
        found["fairlead_journal_seconds_count"],
        found["fairlead_step_seconds_sum"],
        found["fairlead_journal_seconds_sum"],
    )


@dataclass
class Speed:
    """Of some rounds: calls a second, and the milliseconds of processors that each call took in all
    processes here: Ray's, the workers', the service's, this one; and by their kinds."""

    wall: list[float] = field(default_factory=list)
    work: list[float] = field(default_factory=list)
    by_kind: dict[str, float] = field(default_factory=dict)  # of the last round
    said: str = ""  # by the service, of its steps in the last round


KINDS = {
    "service": "fairlead serve",
    "driver of the engine": "fairlead.engines.supervised.driver",
    "launcher": "ray::Launcher",
    "worker": "ray::",
    "raylet": "raylet/raylet",
    "control store": "gcs_server",
}
"""Kinds of processes, by what their command lines have in them: the first that fits."""


def busy() -> dict[int, tuple[str, float]]:
    """The kind and the processor time, in seconds, of this process and all below it."""
    here = psutil.Process()
    found = {}
    for process in (here, *here.children(recursive=True)):
        with suppress(psutil.Error):
            times, command = process.cpu_times(), " ".join(process.cmdline())
            kind = next((kind for kind, part in KINDS.items() if part in command), "others")
            kind = "script" if process is here else kind
            found[process.pid] = kind, times.user + times.system
    return found


def spent(before: dict[int, tuple[str, float]]) -> dict[str, float]:
    """The processor time since then by kinds, the most first."""
    found: dict[str, float] = {}
    for pid, (kind, seconds) in busy().items():
        found[kind] = found.get(kind, 0.0) + seconds - before.get(pid, (kind, 0.0))[1]
    return dict(sorted(found.items(), key=lambda each: -each[1]))


def measured(
    nodes: list[str],
    now: Callable[[], Steps],
    cpus: int,
    seconds: float,
    rounds: int,
    most: int,
) -> tuple[int, int, dict[str, Speed]]:
    """The number of calls, the tasks that they were by themselves, and their speed."""
    function = work()
    calls = int(min(most, max(LEAST, 2 * cpus / (seconds or 0.0001))))
    pinned = [
        ray.remote(
            num_cpus=1,
            max_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node, soft=False),
        )(function)
        for node in nodes
    ]
    ours = fair.remote(num_cpus=1)(function)

    made: list[int] = []

    def bare() -> list[int]:
        done = [pinned[k % len(pinned)].remote(k, seconds) for k in range(calls)]
        found: list[int] = ray.get(done)
        return found

    def by_itself() -> list[int]:
        batch = ours.map(range(calls), [seconds] * calls)
        found = batch.results()
        made[:] = [len({(future.job, future.task) for future in batch.futures})]
        return found

    def each() -> list[int]:
        return ours.map(range(calls), [seconds] * calls, together=1).results()

    ways = {"bare": bare, "by itself": by_itself, "each": each}
    speeds = {name: Speed() for name in ways}
    for turn in range(rounds + 1):
        for name, run in ways.items():
            steps_before, before, begin = now(), busy(), time.perf_counter()
            if sum(run()) != calls * (calls - 1) // 2:
                raise RuntimeError(f"wrong results ({name})")
            if turn:  # the first one starts the workers
                speeds[name].wall.append(calls / (time.perf_counter() - begin))
                taken = {kind: 1000 * sec / calls for kind, sec in spent(before).items()}
                speeds[name].work.append(sum(taken.values()))
                speeds[name].by_kind = taken
                if name != "bare":
                    speeds[name].said = now().since(steps_before, calls)
    return calls, made[0], speeds


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpus", default="2,8,32")
    parser.add_argument("--seconds", default="0,0.01,0.1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=MOST)
    parser.add_argument("--processes", action="store_true")
    args = parser.parse_args()
    say = sys.stdout.write
    say("| CPUs | call | calls | bare, calls/s | `map` | tasks | a task each")
    say(f" | ms of processor a call: bare | `map` | each | load |\n|{11 * '---|'}\n")
    for cpus in map(int, args.cpus.split(",")):
        with (
            tempfile.TemporaryDirectory() as folder,
            cluster(cpus) as nodes,
            service(Path(folder)) as now,
        ):
            for seconds in map(float, args.seconds.split(",")):
                calls, tasks, speeds = measured(nodes, now, cpus, seconds, args.rounds, args.calls)
                bare, by_itself, each = (median(speed.wall) for speed in speeds.values())
                work = " | ".join(f"{median(speed.work):.2f}" for speed in speeds.values())
                say(
                    f"| {cpus} on {len(nodes)} | {1000 * seconds:g} ms | {calls} | {bare:.0f}"
                    f" | {by_itself:.0f} ({by_itself / bare:.0%}) | {tasks}"
                    f" | {each:.0f} ({each / bare:.0%}) | {work} | {os.getloadavg()[0]:.1f} |\n"
                )
                for name, speed in speeds.items() if args.processes else ():
                    kinds = (f"{kind} {ms:.2f}" for kind, ms in speed.by_kind.items())
                    say(f"{name}: {', '.join(kinds)}{speed.said and '; '}{speed.said}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
