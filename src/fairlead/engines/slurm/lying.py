"""On which nodes the tasks of a job lie that Slurm runs, by what it has on each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil

from fairlead.engines.slurm.reading.values import Gres, SlurmJob
from fairlead.model.names import expand_all


def nodes_of(job: SlurmJob) -> tuple[str, ...]:
    """The nodes that it has, or had."""
    text = job.node_list
    return expand_all([text]) if "[" in text or "," in text else (text,) if text else ()


def places_of_tasks(job: SlurmJob, gang: int) -> tuple[str, ...]:
    """The node of each of so many tasks that are alike; empty where Slurm does not say it, or where
    what the job has does not lie as such tasks would."""
    names = nodes_of(job)
    if len(names) == 1:
        return names * gang
    if not job.cores:
        return names if len(names) == gang else ()
    found = [
        {name: Fraction(amount * gang, total) for name, amount in each.items()}
        for each in _amounts(job)
        if (total := sum(each.values()))
    ]
    if not found or any(each != found[0] for each in found):
        return ()
    if any(count.denominator > 1 for count in found[0].values()):
        return ()
    return tuple(name for name, count in found[0].items() for _ in range(int(count)))


def by_tasks(job: SlurmJob) -> SlurmJob:
    """A job that runs, as one that asks for its tasks and not for its nodes: `-N 2 -n 4` may lie as
    three and one."""
    return replace(job, nodes=1, most_nodes=0, running_on=0, required="")


def level_nodes(job: SlurmJob) -> SlurmJob:
    """A job that runs, as one that asks on each of its nodes for as much as it has on that where it
    has most."""
    nodes, cores = job.running_on, dict(job.cores)
    most = Fraction(nodes * max(cores.values()), sum(cores.values())) if cores else Fraction(1)
    memory = Fraction(nodes, job.nodes) if job.memory_of_node else most
    job = replace(
        job,
        nodes=nodes,
        running_on=0,
        cpus=ceil(job.cpus * most),
        memory=ceil(job.memory * memory),
    )
    if not job.devices:
        return job
    per_node: dict[tuple[str, str], int] = {}
    for _, has in job.devices:
        for each in has:
            key = each.kind, each.model
            per_node[key] = max(per_node.get(key, 0), each.count)
    wanted = tuple(Gres(kind, model, count) for (kind, model), count in per_node.items())
    return replace(job, per_job=(), per_node=wanted, per_task=())


def _amounts(job: SlurmJob) -> Iterator[Mapping[str, int]]:
    """What it has of each kind, by node."""
    yield dict(job.cores)
    for kind in sorted({each.kind for _, has in job.devices for each in has}):
        yield {name: sum(e.count for e in has if e.kind == kind) for name, has in job.devices}
