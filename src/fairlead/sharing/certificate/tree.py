"""The tree of tenants as the checker sees it: effective weights, and limits on what is below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.sharing.certificate.seen import Bools, Floats, Ints, Seen


@dataclass(frozen=True)
class Cap:
    """A limit: the jobs below a tenant, the amount of the resource that each of their tasks takes
    (0 for the others), and what they may have together."""

    tenant: str
    resource: str
    need: Floats  # (J,)
    most: float


@dataclass(frozen=True)
class Tree:
    """Tenants; a job without one is a node of its own. Nodes of equal depth are listed together."""

    names: tuple[str, ...]
    node: dict[str, int]
    parent: Ints
    by_depth: tuple[Ints, ...]
    of_job: Ints  # (J,)
    below: dict[str, list[int]]  # the jobs below each tenant
    caps: tuple[Cap, ...]

    def rates(self, weight: Floats, active: Bools) -> Floats:
        """(J,) how fast each active job's share rises: every weight is split among the active
        children in proportion to their weights, jobs counting 1."""
        size = len(self.names)
        whole = np.bincount(self.of_job[active], minlength=size).astype(float)
        for nodes in reversed(self.by_depth[1:]):
            awake = nodes[whole[nodes] > 0]
            whole += np.bincount(self.parent[awake], weights=weight[awake], minlength=size)
        rate = np.zeros(size)
        rate[self.by_depth[0]] = weight[self.by_depth[0]]
        for nodes in self.by_depth[1:]:
            awake = nodes[whole[nodes] > 0]
            above = self.parent[awake]
            rate[awake] = rate[above] * weight[awake] / whole[above]
        found = np.zeros(len(active))
        own = self.of_job[active]
        found[active] = rate[own] / whole[own]
        return found


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
    levels = [
        np.array([node[name] for name in names if depth[name] == d], dtype=np.int64)
        for d in range(max(depth.values(), default=0) + 1)
    ]
    caps = []
    for tenant in cluster.tenants:
        inside = np.zeros(len(jobs))
        inside[below[tenant.name]] = 1.0
        for resource, most in tenant.limit.items():
            if resource in seen.resource:
                need = inside * seen.demand[:, seen.resource[resource]]
                caps.append(Cap(tenant.name, resource, need, float(most)))
    return Tree(
        names=names,
        node=node,
        parent=np.array(
            [-1 if (above := parents[name]) is None else node[above] for name in names],
            dtype=np.int64,
        ),
        by_depth=tuple(levels),
        of_job=np.array([node[job.tenant or job.name] for job in jobs], dtype=np.int64),
        below=below,
        caps=tuple(caps),
    )
