"""The tree of tenants as the checker sees it: effective weights, and limits on what is below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq

from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.sharing.certificate.arithmetic import NONE, rational
from fairlead.sharing.certificate.arrays import Floats, Ints, Seen


@dataclass(frozen=True)
class Cap:
    """A limit: the jobs below a tenant, the amount of the resource that each of their tasks takes
    (0 for the others), and what they may have together."""

    tenant: str
    resource: str
    need: Floats  # (J,)
    most: float
    takes: dict[int, int]  # by job, exactly, in parts
    amount: fmpq  # in parts


@dataclass(frozen=True)
class Tree:
    """Tenants; a job without one is a node of its own."""

    names: tuple[str, ...]
    node: dict[str, int]
    parent: Ints
    of_job: Ints  # (J,)
    below: dict[str, list[int]]  # the jobs below each tenant
    caps: tuple[Cap, ...]
    top: tuple[int, ...]  # of each node
    under: dict[int, list[int]]  # the jobs below each node at the top
    nodes: dict[int, list[int]]  # and the nodes, parents first

    def rates(self, weight: Sequence[fmpq], active: set[int], top: int) -> dict[int, fmpq]:
        """The speed at which each active job's share rises below this node at the top: every weight
        is split among the active children in proportion to their weights, jobs counting 1."""
        jobs = [job for job in self.under[top] if job in active]
        whole: dict[int, fmpq] = {}
        for job in jobs:
            own = int(self.of_job[job])
            whole[own] = whole.get(own, NONE) + 1
        nodes = self.nodes[top]
        for node in reversed(nodes):
            if node in whole:
                above = int(self.parent[node])
                whole[above] = whole.get(above, NONE) + weight[node]
        rate = {top: weight[top]}
        for node in nodes:
            if node in whole:
                above = int(self.parent[node])
                rate[node] = rate[above] * weight[node] / whole[above]
        return {job: rate[own] / whole[own] for job in jobs for own in [int(self.of_job[job])]}


def tree(cluster: Cluster, jobs: Sequence[Job], seen: Seen) -> Tree:
    """The tree of the tenants that there are and of the jobs that have none."""
    parents = {tenant.name: tenant.parent for tenant in cluster.tenants}
    for job in jobs:  # a tenant that nobody describes is one at the top of weight 1
        parents.setdefault(job.tenant or job.name, None)
    names = tuple(parents)
    node = {name: index for index, name in enumerate(names)}
    depth: dict[str, int] = {}
    below: dict[str, list[int]] = {name: [] for name in names}
    for name in names:
        chain = [name]
        while (above := parents[chain[-1]]) is not None:
            chain.append(above)
        depth[name] = len(chain) - 1
    for index, job in enumerate(jobs):
        holder: str | None = job.tenant or job.name
        while holder is not None:
            below[holder].append(index)
            holder = parents[holder]
    caps = []
    for tenant in cluster.tenants:
        inside = np.zeros(len(jobs))
        inside[below[tenant.name]] = 1.0
        for resource, most in tenant.limit.items():
            if resource in seen.resource:
                r = seen.resource[resource]
                need = inside * seen.demand[:, r]
                takes = {j: int(seen.need[j, r]) for j in below[tenant.name] if seen.need[j, r]}
                amount = rational(most) * seen.parts[r]
                caps.append(Cap(tenant.name, resource, need, float(most), takes, amount))
    top = []
    for name in names:
        at = name
        while (above := parents[at]) is not None:
            at = above
        top.append(node[at])
    nodes: dict[int, list[int]] = {each: [] for each in top}
    for name in sorted(names, key=depth.__getitem__):
        if depth[name]:
            nodes[top[node[name]]].append(node[name])
    return Tree(
        names=names,
        node=node,
        parent=np.array(
            [-1 if (above := parents[name]) is None else node[above] for name in names],
            dtype=np.int64,
        ),
        of_job=np.array([node[job.tenant or job.name] for job in jobs], dtype=np.int64),
        below=below,
        caps=tuple(caps),
        top=tuple(top),
        under={node[name]: below[name] for name in names if not depth[name]},
        nodes=nodes,
    )
