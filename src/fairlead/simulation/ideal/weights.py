"""The weights of present jobs: each tenant's is split among its jobs, and pools have their own."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fairlead.sharing.present import Tenants
from fairlead.simulation.ideal.instance import Instance
from fairlead.simulation.workload import Bools, Floats


class Weights:
    """The tenants' weights, which follow pools, and the rates of jobs."""

    def __init__(self, instance: Instance) -> None:
        workload = instance.workload
        tenants = workload.tenants
        self._instance = instance
        self.parent, self.limit = workload.parents, workload.limits
        self.weight: Floats = np.array([float(t.weight or 1) for t in tenants])
        names = workload.machines.names
        self._pool: dict[int, Bools] = {
            place: np.isin(
                instance.machine, [names.index(name) for name in t.pool if name in names]
            )
            for place, t in enumerate(tenants)
            if t.pool is not None
        }

    @property
    def tenants(self) -> Tenants:
        """The tenants as the exact allocation takes them."""
        limit = self.limit if (self.limit >= 0).any() else None
        return Tenants(self.parent, self.weight.copy(), limit)

    def above(self, tenant: int) -> list[int]:
        """The tenant and all above it."""
        found = []
        while tenant >= 0:
            found.append(tenant)
            tenant = int(self.parent[tenant])
        return found

    def follow_pools(self, jobs: Iterable[int], present: Bools, scale: Floats) -> None:
        """A tenant with a pool weighs the largest share that one of its jobs that are there, or of
        those below it, could reach in the pool alone, in whole tasks; 1 where none could run
        anything there."""
        if not self._pool:
            return
        g = self._instance
        there = np.array(sorted(jobs), np.int64)
        for tenant, pool in self._pool.items():
            below = [j for j in there.tolist() if tenant in self.above(int(g.tenant[j]))]
            mine = np.array([j for j in below if scale[j] > 0], np.int64)
            classes = g.classes.of_machine[pool & present]
            tasks = np.minimum(g.holds[mine][:, classes].sum(axis=1), g.tasks[mine])
            most = float((tasks / scale[mine]).max(initial=0.0))
            self.weight[tenant] = most if most > 0 else 1.0

    def rates(self, jobs: Iterable[int]) -> dict[int, float]:
        """The effective weight of each job that is there: a tenant's weight is split among the
        tenants and jobs below it that are there, in proportion to their weights; a job weighs 1."""
        owner = {job: int(self._instance.tenant[job]) for job in jobs}
        active: dict[int, None] = {}
        for tenant in owner.values():
            active.update(dict.fromkeys(self.above(tenant)))
        total = np.zeros(len(self.parent))
        for tenant in active:
            if self.parent[tenant] >= 0:
                total[self.parent[tenant]] += self.weight[tenant]
        for tenant in owner.values():
            if tenant >= 0:
                total[tenant] += 1.0
        rate: dict[int, float] = {-1: 1.0}
        for tenant in sorted(active):  # a parent comes before its children
            above = int(self.parent[tenant])
            split = 1.0 if above < 0 else rate[above] / total[above]
            rate[tenant] = split * float(self.weight[tenant])
        return {
            job: rate[tenant] / (total[tenant] if tenant >= 0 else 1.0)
            for job, tenant in owner.items()
        }
