"""Whole tasks measured: how long the lottery and its approximations take.

python benchmarks/whole_tasks.py                      the times
python benchmarks/whole_tasks.py NODES.csv            Alibaba's GPU nodes as well
python benchmarks/whole_tasks.py --hard               where the lottery stops being practical
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction

import numpy as np

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.sharing.allocate import allocate

JOBS, CLASSES, MACHINES, SEED = 50, 20, 10_000, 1


def large() -> tuple[Cluster, tuple[Job, ...]]:
    """50 jobs, 20 kinds of 10,000 machines with tens of tasks each, constraints on kinds."""
    draw = np.random.default_rng(SEED)
    machines = []
    for c in range(CLASSES):
        capacity = {
            "cpu": int(draw.integers(16, 96)),
            "memory": int(draw.integers(64, 512)),
            "gpu": int(draw.integers(0, 9)),
        }
        machines += [Machine(f"m{c}-{i}", capacity, {"kind": str(c)}) for i in range(MACHINES)]
    jobs = []
    for j in range(JOBS):
        kinds = [str(c) for c in range(CLASSES) if c == 0 or draw.random() < 0.6]
        demand = {
            "cpu": int(draw.integers(1, 9)),
            "memory": int(draw.integers(1, 64)),
            "gpu": int(draw.choice([0, 0, 1])),
        }
        jobs.append(Job(f"j{j}", demand, where=f"kind in ({', '.join(kinds)})"))
    return Cluster(machines, [], []), tuple(jobs)


def times() -> None:
    """The time that each mechanism takes on the large input; the first call compiles."""
    cluster, jobs = large()
    allocate(Cluster(cluster.machines[:2], [], []), (Job("a", {"cpu": 1}),), "cdrf-lottery")
    print(f"{JOBS} jobs, {CLASSES} kinds of {MACHINES} machines, seed {SEED}")
    for spec, tasks in (
        ("cdrf-lottery", "divisible"),
        ("gim-cdrf", "divisible"),
        ("shapley-folkman", "divisible"),
        ("tsf", "divisible"),
        ("tsf", "whole"),
    ):
        start, before = time.perf_counter(), time.process_time()
        answer = allocate(cluster, jobs, spec, tasks)
        took, busy = time.perf_counter() - start, time.process_time() - before
        lots = 0 if answer.whole is None else len(answer.whole.lottery)
        print(f"  {spec:<16} {tasks:<10} {took:6.2f} s, {busy:5.2f} s of it computing", end="")
        print(f"  {lots} allocations" if lots else "")


HARD = ((2, 30, 10), (2, 30, 50), (3, 30, 50), (5, 10, 50), (5, 30, 10), (5, 30, 50))
"""Resources, jobs, and so many tasks of middle size on a machine at least."""

FINE = 1000
"""Units of a task of middle size: so fine that no two demands are alike."""


def random_demands(resources: int, jobs: int, tasks: int) -> tuple[Cluster, tuple[Job, ...]]:
    """5 kinds of 10 machines; nobody's demand is a multiple of another's."""
    draw = np.random.default_rng(3)
    names = [f"r{r}" for r in range(resources)]
    sizes = draw.integers(tasks * FINE, 2 * tasks * FINE, (5, resources)).tolist()
    machines = [
        Machine(f"m{c}-{i}", dict(zip(names, size, strict=True)))
        for c, size in enumerate(sizes)
        for i in range(10)
    ]
    needs = draw.integers(FINE // 2, 2 * FINE, (jobs, resources)).tolist()
    return Cluster(machines, [], []), tuple(
        Job(f"j{j}", dict(zip(names, need, strict=True))) for j, need in enumerate(needs)
    )


def hard() -> None:
    """The time until the lottery ends, or refuses, where demands are all different."""
    print("resources  jobs  tasks a machine  processor time")
    for resources, jobs, tasks in HARD:
        cluster, wanted = random_demands(resources, jobs, tasks)
        before = time.process_time()
        try:
            allocate(cluster, wanted, "cdrf-lottery")
            came = "answered"
        except InputError:
            came = "refused"
        took = time.process_time() - before
        machine = f"{tasks} to {2 * tasks}"
        print(f"{resources:>9}  {jobs:>4}  {machine:>15}  {took:6.1f} s  {came}", flush=True)


def gpu_nodes(file: str) -> None:
    """Whole GPUs on Alibaba's nodes: the exact shares, rounded, and by lot."""
    cluster = Cluster(tuple(nodes(file)), [], [])
    jobs = (
        Job("one", {"cpu": 8, "memory": 32, "gpu": 1}),
        Job("two", {"cpu": 16, "memory": 64, "gpu": 2}),
        Job("eight", {"cpu": 64, "memory": 256, "gpu": 8}),
        Job("v100", {"cpu": 8, "memory": 32, "gpu": 1}, where="model in (V100M16, V100M32)"),
        Job("cpu", {"cpu": 32, "memory": 128}),
    )
    print(f"{len(cluster.machines)} nodes; tasks of {', '.join(job.name for job in jobs)}")
    for spec, tasks in (("cdrf", "divisible"), ("cdrf", "whole"), ("cdrf-lottery", "whole")):
        start = time.perf_counter()
        answer = allocate(cluster, jobs, spec, tasks)
        took = time.perf_counter() - start
        shown = "  ".join(f"{answer.job(job.name).tasks:.5g}" for job in jobs)
        print(f"  {spec:<13} {tasks:<10} {shown}   ({took:.2f} s)")
        if answer.whole is not None and answer.whole.lottery:
            for chance in answer.whole.lottery:
                tasks_of = dict(chance.jobs)
                print(f"    {_percent(chance.probability)}  {[tasks_of[job.name] for job in jobs]}")


def _percent(part: Fraction) -> str:
    return f"{100 * float(part):6.2f}%"


def nodes(file: str) -> list[Machine]:
    """The machines of a list of nodes in the form of Alibaba's GPU trace of 2023."""
    import csv
    from pathlib import Path

    with Path(file).open(encoding="utf-8", newline="") as lines:
        return [
            Machine(
                row["sn"],
                {
                    "cpu": Fraction(int(row["cpu_milli"]), 1000),
                    "memory": Fraction(int(row["memory_mib"]), 1024),
                    "gpu": int(row["gpu"]),
                },
                {"model": row["model"] or "none"},
            )
            for row in csv.DictReader(lines)
        ]


if __name__ == "__main__":
    if sys.argv[1:] == ["--hard"]:
        hard()
    else:
        times()
        for name in sys.argv[1:]:
            gpu_nodes(name)
