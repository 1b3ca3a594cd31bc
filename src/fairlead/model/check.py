"""Rules between machines, tenants and jobs: every mistake of the whole at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from fairlead.model.constraint import ORDERINGS, Requirement, ordering_mistake
from fairlead.model.errors import About, Mistakes
from fairlead.model.hints import Known
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.model.tree import (
    check_cycles,
    check_pools,
    check_siblings,
    check_use_of_pools,
    grow,
    quoted_ranges,
)


@dataclass(frozen=True)
class Mistaken:
    """Entries that are mistaken by themselves, so that the values lack them.

    Nothing is concluded from their absence. `names` are pairs of kind and name; `kinds` those
    (`machine`, `tenant`, `job`) of which something was written without a name that can be read.
    `machines`, `tenants` and `jobs` are what could be read all the same, with the fields that are
    not mistaken: what they name is checked too.
    """

    names: frozenset[tuple[str, str]] = frozenset()
    kinds: frozenset[str] = frozenset()
    machines: tuple[Machine, ...] = ()
    tenants: tuple[Tenant, ...] = ()
    jobs: tuple[Job, ...] = ()

    def any(self, kind: str) -> bool:
        return kind in self.kinds or any(known == kind for known, _ in self.names)

    def called(self, kind: str) -> set[str]:
        return {name for known, name in self.names if known == kind}

    def may_be(self, kind: str, name: str) -> bool:
        """May a thing of this kind and name have been written?"""
        return kind in self.kinds or (kind, name) in self.names


def with_implied_tenants(cluster: Cluster, jobs: Sequence[Job]) -> Cluster:
    """The cluster with the tenants that its jobs name, of weight 1 each, if none are declared."""
    if cluster.tenants:
        return cluster
    names = dict.fromkeys(job.tenant for job in jobs if job.tenant is not None)
    if not names:
        return cluster
    return Cluster(cluster.machines, [Tenant(name) for name in names], cluster.devices)


def check(cluster: Cluster, jobs: Sequence[Job]) -> None:
    """Raises InputError with everything that is wrong between these values, and returns nothing
    where they can be shared."""
    collect_mistakes(cluster, jobs).report()


def collect_mistakes(
    cluster: Cluster, jobs: Sequence[Job], mistaken: Mistaken | None = None
) -> Mistakes:
    """Everything that is wrong between these values."""
    mistaken = mistaken or Mistaken()
    mistakes = Mistakes()
    if not cluster.tenants and not mistaken.any("tenant"):
        cluster = with_implied_tenants(cluster, jobs)
    if not cluster.machines and not mistaken.any("machine"):
        mistakes.add(
            ("machines",),
            "there are no machines",
            "write at least one, as in machines: [{name: a1, capacity: {cpu: 4}}]",
        )
    _once("machine", (machine.name for machine in cluster.machines), mistakes)
    _once("tenant", (tenant.name for tenant in cluster.tenants), mistakes)
    _once("job", (job.name for job in jobs), mistakes)
    _check_resources(cluster, mistaken, mistakes)
    _check_machine_names(cluster, jobs, mistaken, mistakes)
    _check_tenant_names(cluster, jobs, mistaken, mistakes)
    ordered = _check_orderings(
        (*cluster.machines, *mistaken.machines), (*jobs, *mistaken.jobs), mistakes
    )

    tenants = {tenant.name: tenant for tenant in reversed(cluster.tenants)}
    tenants = {tenant.name: tenants[tenant.name] for tenant in cluster.tenants}
    check_cycles(tenants, mistakes)
    tree = grow(tenants, jobs)
    check_siblings(tree, jobs, mistakes)
    check_pools(tree, {machine.name for machine in cluster.machines}, mistakes)
    if ordered and not any(mistaken.any(kind) for kind in ("machine", "tenant", "job")):
        check_use_of_pools(cluster, tree, jobs, mistakes)
    return mistakes


def _once(kind: str, names: Iterable[str], mistakes: Mistakes) -> None:
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    for name, times in seen.items():
        if times > 1:
            mistakes.add((kind, name), f"{times} {kind}s have this name", "give each its own")


def _check_resources(cluster: Cluster, mistaken: Mistaken, mistakes: Mistakes) -> None:
    """Limits and devices are about resources that some machine names."""
    if mistaken.any("machine"):
        return
    resources = {resource for capacity in _capacities(cluster) for resource in capacity}
    known = Known(resources)

    def expect(resource: str, about: About) -> None:
        if resource not in resources:
            otherwise = f"machines have {', '.join(sorted(resources)[:8]) or 'no resources'}"
            mistakes.add(
                (*about, resource), "no machine has this resource", known.hint(resource, otherwise)
            )

    for resource in sorted(cluster.devices):
        expect(resource, ("devices", ""))
    for tenant in (*cluster.tenants, *mistaken.tenants):
        for resource in tenant.limit:
            expect(resource, ("tenant", tenant.name, "limit"))


def _capacities(cluster: Cluster) -> list[Iterable[str]]:
    return list({id(machine.capacity): machine.capacity for machine in cluster.machines}.values())


def _check_machine_names(
    cluster: Cluster, jobs: Sequence[Job], mistaken: Mistaken, mistakes: Mistakes
) -> None:
    """Lists name machines that exist."""
    machines = {machine.name for machine in cluster.machines}
    known = Known(machines | mistaken.called("machine"))

    def expect(names: Iterable[str] | None, about: About) -> None:
        missing = [
            name
            for name in names or ()
            if name not in machines and not mistaken.may_be("machine", name)
        ]
        if missing:
            mistakes.add(
                (*about, missing[0]),
                f"there is no machine {quoted_ranges(missing)}",
                known.hint(missing[0], "write names that machines have"),
            )

    for tenant in (*cluster.tenants, *mistaken.tenants):
        expect(tenant.pool, ("tenant", tenant.name, "pool"))
    for job in (*jobs, *mistaken.jobs):
        expect(job.machines, ("job", job.name, "machines"))
        expect(job.exclude, ("job", job.name, "exclude"))


def _check_tenant_names(
    cluster: Cluster, jobs: Sequence[Job], mistaken: Mistaken, mistakes: Mistakes
) -> None:
    """Parents and the tenants of jobs exist, and no job is taken for a tenant."""
    tenants = {tenant.name for tenant in cluster.tenants}
    known = Known(tenants | mistaken.called("tenant"))

    def missing(name: str | None) -> bool:
        return name is not None and name not in tenants and not mistaken.may_be("tenant", name)

    declare = "declare it under tenants:"
    for tenant in (*cluster.tenants, *mistaken.tenants):
        if tenant.parent is not None and missing(tenant.parent):
            mistakes.add(
                ("tenant", tenant.name, "parent"),
                f'there is no tenant "{tenant.parent}"',
                known.hint(tenant.parent, declare),
            )
    for job in (*jobs, *mistaken.jobs):
        if job.tenant is not None and missing(job.tenant):
            mistakes.add(
                ("job", job.name, "tenant"),
                f'there is no tenant "{job.tenant}"',
                known.hint(job.tenant, f"{declare} (or declare none: then jobs imply them)"),
            )
        if job.tenant is None and (job.name in tenants or ("tenant", job.name) in mistaken.names):
            mistakes.add(
                ("job", job.name),
                "it has no tenant, but a tenant has its name",
                f'write tenant: "{job.name}" if it belongs there, or give it another name',
            )


def _check_orderings(machines: Sequence[Machine], jobs: Sequence[Job], mistakes: Mistakes) -> bool:
    """Labels that are compared by `<` and the like have an order. Says whether all do."""
    askers: dict[str, tuple[str, Requirement]] = {}
    for job in jobs:
        for selector in (job.where, job.prefer):
            for part in selector.requirements:
                if part.operator in ORDERINGS:
                    askers.setdefault(part.key, (job.name, part))
    if not askers:
        return True
    wrong: dict[tuple[str, bool, str], list[str]] = {}
    verdict: dict[int, list[tuple[str, bool, str]]] = {}
    for machine in machines:
        faults = verdict.get(id(machine.labels))
        if faults is None:
            faults = verdict[id(machine.labels)] = [
                (key, isinstance(label, Decimal), str(label))
                for key in askers
                if (label := machine.labels.get(key)) is not None
                and ordering_mistake(label) is not None
            ]
        for fault in faults:
            wrong.setdefault(fault, []).append(machine.name)
    for (key, is_number, text), names in wrong.items():
        mistake = ordering_mistake(Decimal(text) if is_number else text)
        if mistake:
            job_name, part = askers[key]
            others = f" on {quoted_ranges(names)}" if len(names) > 1 else ""
            mistakes.add(
                ("machine", names[0], "labels", key),
                f'{mistake.what} (job "{job_name}" asks for {part}{others})',
                mistake.right,
            )
    return not wrong
