"""The tree of tenants: who is below whom, and whether weights and pools fit together in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fairlead.model.eligibility import Eligibility, eligibility
from fairlead.model.errors import Mistakes
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.names import compress
from fairlead.model.never import never_run
from fairlead.model.tenant import Tenant


@dataclass
class Tree:
    """The tenants below each tenant and the jobs that belong to it; None stands for the top.

    Only what hangs together with the top is in it. `span` numbers the tenants so that those below
    a tenant, and only they, have numbers within its span.
    """

    tenants: dict[str, Tenant]
    children: dict[str | None, list[Tenant]] = field(default_factory=dict)
    jobs: dict[str | None, list[int]] = field(default_factory=dict)
    span: dict[str, tuple[int, int]] = field(default_factory=dict)

    def related(self, one: str, other: str) -> bool:
        """Is one of the two tenants an ancestor of the other?"""
        (a, b), (c, d) = self.span[one], self.span[other]
        return a <= c < b or c <= a < d

    def above(self, tenant: Tenant) -> Iterator[Tenant]:
        """The ancestors of a tenant, the nearest first."""
        while tenant.parent is not None:
            tenant = self.tenants[tenant.parent]
            yield tenant

    def below(self, tenant: str) -> Iterator[int]:
        """The jobs of a tenant and of all the tenants below it."""
        waiting = [tenant]
        while waiting:
            name = waiting.pop()
            yield from self.jobs.get(name, ())
            waiting += [child.name for child in self.children.get(name, ())]


def grow(tenants: Mapping[str, Tenant], jobs: Sequence[Job]) -> Tree:
    """The tree of these tenants. Those on a cycle, or below one or below an unknown parent, are
    left out."""
    tree = Tree(tenants=dict(tenants))
    for tenant in tenants.values():
        tree.children.setdefault(tenant.parent, []).append(tenant)
    for index, job in enumerate(jobs):
        tree.jobs.setdefault(job.tenant, []).append(index)
    number = 0
    started: dict[str, int] = {}
    waiting = [(child, False) for child in reversed(tree.children.get(None, []))]
    while waiting:
        tenant, left = waiting.pop()
        if left:
            tree.span[tenant.name] = (started[tenant.name], number)
            continue
        started[tenant.name] = number
        number += 1
        waiting.append((tenant, True))
        waiting += [(child, False) for child in reversed(tree.children.get(tenant.name, []))]
    tree.tenants = {name: tenant for name, tenant in tenants.items() if name in tree.span}
    return tree


def parents_first(tenants: Sequence[Tenant]) -> tuple[Tenant, ...]:
    """The tenants in their order, but that those whose children come before them come first."""
    named = {tenant.name: tenant for tenant in tenants}
    found: dict[str, Tenant] = {}
    for tenant in tenants:
        chain: dict[str, Tenant] = {}
        each: Tenant | None = tenant
        while each is not None and each.name not in found and each.name not in chain:
            chain[each.name] = each
            each = named.get(each.parent or "")
        found.update(reversed(chain.items()))
    return tuple(found.values())


def check_cycles(tenants: Mapping[str, Tenant], mistakes: Mistakes) -> None:
    """No tenant is below itself. Each cycle is one mistake."""
    done: set[str] = set()
    for name in tenants:
        path: dict[str, None] = {}
        at: str | None = name
        while at is not None and at in tenants and at not in done and at not in path:
            path[at] = None
            at = tenants[at].parent
        if at is not None and at in path:
            cycle = list(path)[list(path).index(at) :]
            mistakes.add(
                ("tenant", cycle[0], "parent"),
                f"its parents lead back to it: {' -> '.join([*cycle[:10], cycle[0]])}",
                "let one of them have no parent",
            )
        done.update(path)


def check_siblings(tree: Tree, jobs: Sequence[Job], mistakes: Mistakes) -> None:
    """Siblings have all weights or all pools; a job's weight is 1."""
    for parent, children in tree.children.items():
        owners = [child.name for child in children if child.pool is not None]
        if not owners:
            continue
        rule = "siblings have all weights or all pools"
        for child in children:
            if child.pool is None:
                mistakes.add(
                    ("tenant", child.name),
                    f'it has no pool, but its sibling "{owners[0]}" has one: {rule}',
                    "give it a pool, or give all of them weights",
                )
        for index in tree.jobs.get(parent, ()):
            name = jobs[index].name
            if parent is None:
                what = f'a job without a tenant has weight 1, but its sibling "{owners[0]}"'
            else:
                what = f'a job of "{parent}" itself has weight 1, but its sibling "{owners[0]}"'
            mistakes.add(
                ("job", name, "tenant"),
                f"{what} has a pool: {rule}",
                "give the job a tenant that has a pool",
            )


def check_pools(tree: Tree, machines: set[str], mistakes: Mistakes) -> None:
    """Pools do not overlap, but that of a child lies within that of its ancestors."""
    owners: dict[str, list[str]] = {}
    for tenant in tree.tenants.values():
        if tenant.pool is None:
            continue
        pool = [name for name in tenant.pool if name in machines]
        outer = next((up for up in tree.above(tenant) if up.pool is not None), None)
        if outer is not None and outer.pool is not None:
            beyond = set(pool) - set(outer.pool)
            if beyond:
                mistakes.add(
                    ("tenant", tenant.name, "pool", min(beyond)),
                    f'{quoted_ranges(beyond)} is not in the pool of "{outer.name}", which it is'
                    " below",
                    "a pool lies within the pool of the tenant above",
                )
        shared: dict[str, list[str]] = {}
        for name in pool:
            others = owners.setdefault(name, [])
            other = next((o for o in others if not tree.related(o, tenant.name)), None)
            if other is not None:
                shared.setdefault(other, []).append(name)
            others.append(tenant.name)
        for other, names in shared.items():
            mistakes.add(
                ("tenant", tenant.name, "pool", names[0]),
                f'{quoted_ranges(names)} is in the pool of "{other}" too: pools do not overlap',
                "take it out of one of them",
            )


def check_use_of_pools(
    cluster: Cluster, tree: Tree, jobs: Sequence[Job], mistakes: Mistakes
) -> None:
    """The jobs of a pool's owner, if it has any that can run, could run something in it."""
    owners = [tenant for tenant in tree.tenants.values() if tenant.pool is not None]
    if not owners:
        return
    never = never_run(cluster, jobs)
    allowed = eligibility(cluster, jobs)
    group = {
        cluster.machines[i].name: g for g, members in enumerate(allowed.groups) for i in members
    }
    example = [cluster.machines[members[0]].capacity for members in allowed.groups]

    def runs(index: int, groups: set[int], eligible: Eligibility) -> bool:
        needs = [resource for resource, amount in jobs[index].demand.items() if amount]
        row = eligible.rows[eligible.row[index]]
        return any(g in groups and all(example[g].get(r) for r in needs) for g in row)

    for tenant in owners:
        groups = {group[name] for name in tenant.pool or () if name in group}
        below = [index for index in tree.below(tenant.name) if jobs[index].name not in never]
        if below and groups and not any(runs(index, groups, allowed) for index in below):
            mistakes.add(
                ("tenant", tenant.name, "pool"),
                "none of its jobs could run anything on these machines, so the pool is worth"
                " nothing to it",
                "name machines that its jobs may use and that have what they need",
            )


def quoted_ranges(names: Sequence[str] | set[str]) -> str:
    ranges = compress(sorted(names)[:1000])
    text = ", ".join(f'"{part}"' for part in ranges[:3])
    return text if len(ranges) <= 3 and len(names) <= 1000 else f"{text} and more"
