"""How far each job has come at every level: the filling as a story, from the answer alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairlead.model.allocation import Allocation
from fairlead.model.shares import Level


@dataclass(frozen=True)
class Rising:
    """`part[job][k]`: the part of the job's final tasks that it has when the shares have risen to
    level k of `levels`, indices into the allocation's. Scaled so, everybody's final places are an
    answer of that level too, in which what stops somebody there is full."""

    levels: tuple[int, ...]
    part: dict[str, tuple[float, ...]]


def rising(allocation: Allocation, most: int) -> Rising:
    """The story in at most so many levels: of more, those at which most tenants stop, then those at
    which machines are full. Nothing where the answer has no common levels: a mechanism's, or
    classes that are filled each by itself."""
    levels = allocation.levels
    if not levels or any(level.machine_class is not None for level in levels):
        return Rising((), {})
    shown = _choose_levels([_weight(level) for level in levels], most)
    part = {}
    for name, shares in _shares(allocation, shown).items():
        final = shares[-1]
        part[name] = tuple(each / final if final else 0.0 for each in shares)
    return Rising(tuple(shown), part)


def _weight(level: Level) -> tuple[int, int]:
    """How much is to be seen at a level: who stops, and what is full."""
    full = sum(stop.machine_class is not None for stop in level.stopped_by)
    return len(level.frozen), full


def _choose_levels(weights: Sequence[tuple[int, int]], most: int) -> list[int]:
    """The indices of the levels to show, the last among them."""
    last = len(weights) - 1
    ranked = sorted(range(last), key=lambda k: weights[k], reverse=True)[: most - 1]
    return sorted({*ranked, last})


def _shares(allocation: Allocation, shown: Sequence[int]) -> dict[str, list[float]]:
    """Every job's share at each of these levels. Whoever freezes changes the rates of those below
    the same tenant at the top, and of nobody else."""
    tree = _Tree(allocation)
    below: dict[str, dict[str, float]] = {}  # the active jobs below each top, with their rates
    for job in allocation.jobs:
        if job.level is not None:
            below.setdefault(tree.top[job.tenant], {})[job.name] = 0.0
    for top, jobs in below.items():
        below[top] = tree.rates(jobs)
    start = {name: (0.0, 0.0) for jobs in below.values() for name in jobs}
    found: dict[str, list[float]] = {name: [] for name in start}
    done: dict[str, float] = {}
    wanted = set(shown)
    for k, level in enumerate(allocation.levels):
        if k in wanted:
            for active in below.values():
                for name, rate in active.items():
                    share, since = start[name]
                    found[name].append(share + rate * (level.share - since))
            for name, share in done.items():
                found[name].append(share)
        for top in {tree.top[tree.own[name]] for name in level.jobs}:
            for name, rate in below[top].items():
                share, since = start[name]
                start[name] = (share + rate * (level.share - since), level.share)
            gone = below[top].keys() & set(level.jobs)
            done |= {name: start[name][0] for name in gone}
            below[top] = tree.rates(name for name in below[top] if name not in gone)
    return found


class _Tree:
    """The tree of tenants, and how fast jobs rise: a tenant at the top by its weight; below, a
    tenant's rise is split among its active children by their weights, jobs counting 1."""

    def __init__(self, allocation: Allocation) -> None:
        self.own = {job.name: job.tenant for job in allocation.jobs}
        self.top: dict[str, str] = {}
        self._tenants = {tenant.name: tenant for tenant in allocation.tenants}
        for tenant in allocation.tenants:
            above = tenant
            while above.parent is not None:
                above = self._tenants[above.parent]
            self.top[tenant.name] = above.name

    def rates(self, active: Iterable[str]) -> dict[str, float]:
        """The rate of each of the jobs, which are all that is active below one top."""
        jobs = list(active)
        divisor: dict[str, float] = {}
        for job in jobs:
            node: str | None = self.own[job]
            weight = 1.0
            while node is not None:
                known = node in divisor
                divisor[node] = divisor.get(node, 0.0) + weight
                weight = self._tenants[node].weight
                node = None if known else self._tenants[node].parent  # counted there already
        rates = {}
        for job in jobs:
            node, rate = self.own[job], 1.0
            while node is not None:
                rate *= self._tenants[node].weight / divisor[node]
                node = self._tenants[node].parent
            rates[job] = rate
        return rates
