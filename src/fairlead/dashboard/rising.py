"""How far each job has come at every level: the filling as a story, from the answer alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.model.allocation import Allocation


@dataclass(frozen=True)
class Rising:
    """`part[job][k]`: the part of the job's final tasks that it has when the shares have risen to
    level k of `levels`, indices into the allocation's. Scaled so, everybody's final places are an
    answer of that level too, in which what stops somebody there is full."""

    levels: tuple[int, ...]
    part: dict[str, tuple[float, ...]]


def rising(allocation: Allocation, most: int) -> Rising:
    """The story in at most so many levels: of more, those at which most tenants stop. Nothing
    where the answer has no common levels: a mechanism's, or classes that are filled each by
    itself."""
    levels = allocation.levels
    if not levels or any(level.machine_class is not None for level in levels):
        return Rising((), {})
    risen = _shares(allocation)
    shown = _chosen([len(level.frozen) for level in levels], most)
    part = {}
    for name, shares in risen.items():
        final = shares[-1]
        part[name] = tuple(shares[k] / final if final else 0.0 for k in shown)
    return Rising(tuple(shown), part)


def _chosen(stopped: Sequence[int], most: int) -> list[int]:
    """The indices of the levels to show, the last among them."""
    ranked = sorted(range(len(stopped) - 1), key=lambda k: (-stopped[k], k))[: most - 1]
    return sorted({*ranked, len(stopped) - 1})


def _shares(allocation: Allocation) -> dict[str, list[float]]:
    """Every job's share at every level. Shares at the top rise by weight; below, a tenant's rise is
    split among its active children by their weights, jobs counting 1."""
    tenants = {tenant.name: tenant for tenant in allocation.tenants}
    ends = {job.name: job.level for job in allocation.jobs if job.level is not None}
    own = {job.name: job.tenant for job in allocation.jobs}
    share = {name: [0.0] * len(allocation.levels) for name in ends}
    below = 0.0
    for k, level in enumerate(allocation.levels):
        divisor: dict[str, float] = {}
        active = [name for name, end in ends.items() if end >= k]
        for name in active:
            node, weight = own[name], 1.0
            while node is not None:
                known = node in divisor
                divisor[node] = divisor.get(node, 0.0) + weight
                if known or tenants[node].parent is None:
                    break  # whoever is above has counted this tenant
                weight, node = tenants[node].weight, tenants[node].parent or ""
        for name in ends:
            before = share[name][k - 1] if k else 0.0
            share[name][k] = before
        for name in active:
            node, rate = own[name], 1.0
            while True:
                tenant = tenants[node]
                rate *= tenant.weight / divisor[node]
                if tenant.parent is None:
                    break
                node = tenant.parent
            share[name][k] += rate * (level.share - below)
        below = level.share
    return share
