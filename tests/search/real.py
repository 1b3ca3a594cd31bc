"""Demands and machines of real clusters, drawn anew: Google's of 2011, Alibaba's of 2023."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random

from fairlead.model.constraint import Operator, Requirement, Selector
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from tests.search.kinds import Input, of_class, on

_ROWS = 20_000  # of the task events


def _rows(path: Path) -> Iterator[list[str]]:
    if path.suffix == ".gz":
        with gzip.open(path, "rt", newline="") as file:
            yield from csv.reader(file)
    else:
        with path.open(newline="") as file:
            yield from csv.reader(file)


@cache
def _google(data: Path) -> tuple[list[dict[str, Fraction]], list[tuple[dict[str, Fraction], int]]]:
    """Demands of tasks, and kinds of machines with their numbers."""
    demands = []
    for number, row in enumerate(
        _rows(data / "google-2011/task_events_part-00000-of-00500.csv.gz")
    ):
        if number == _ROWS:
            break
        cpu, memory = row[9:11]
        if cpu and memory and Fraction(cpu) and Fraction(memory):
            demands.append({"cpu": Fraction(cpu), "memory": Fraction(memory)})
    kinds = []
    for _, cpu, memory, count, _ in list(_rows(data / "google-2011/machine_configurations.csv"))[
        1:
    ]:
        if cpu and memory and int(count):
            kinds.append(({"cpu": Fraction(cpu), "memory": Fraction(memory)}, int(count)))
    return demands, kinds


@cache
def _alibaba(data: Path) -> tuple[list[tuple[dict[str, Fraction], list[str]]], list[Machine]]:
    """Demands of pods with the models of GPU that they take, and all nodes."""
    pods = []
    for row in list(_rows(data / "alibaba-gpu-2023/openb_pod_list_gpuspec33.csv"))[1:]:
        cores, mib, number, milli = (Fraction(each or 0) for each in row[1:5])
        demand = {"cpu": cores / 1000, "memory": mib}
        if number:
            demand["gpu"] = number * milli / 1000
        if cores and mib:
            pods.append((demand, row[5].split("|") if row[5] else []))
    nodes = []
    for name, cpu, memory, gpus, model in list(
        _rows(data / "alibaba-gpu-2023/openb_node_list_all_node.csv")
    )[1:]:
        has = {"cpu": Fraction(cpu) / 1000, "memory": Fraction(memory), "gpu": Fraction(gpus or 0)}
        nodes.append(Machine(name, has, {"model": model} if model else {}))
    return pods, nodes


def google(random: Random, size: int, data: Path) -> Input:
    """Google's tasks on its machines; constraints name some of the configurations, as most of those
    of the trace do."""
    demands, kinds = _google(data)
    machines = []
    for number, (has, count) in enumerate(kinds):
        machines += of_class(number, max(1, count * size // 12_000), has)
    jobs = []
    for j in range(size):
        own = random.sample(range(len(kinds)), random.choice((1, 2, 4, len(kinds))))
        where = on(own) if random.random() < 0.5 else Selector()
        jobs.append(Job(f"j{j}", random.choice(demands), tenant=f"j{j}", where=where))
    tenants = [Tenant(job.name, weight=random.choice((1, 1, 2, 4))) for job in jobs]
    return Cluster(machines, tenants), tuple(jobs)


def alibaba(random: Random, size: int, data: Path) -> Input:
    """Alibaba's pods on a part of its nodes; GPUs of the models that a pod names."""
    pods, nodes = _alibaba(data)
    some = random.sample(nodes, min(len(nodes), max(3, size)))
    jobs = []
    for j in range(size):
        demand, models = random.choice(pods)
        where = Selector([Requirement("model", Operator.IN, models)]) if models else Selector()
        jobs.append(Job(f"j{j}", demand, where=where, tasks=random.choice((None, None, 3, 10))))
    return Cluster(some), tuple(jobs)


REAL = {each.__name__: each for each in (google, alibaba)}
