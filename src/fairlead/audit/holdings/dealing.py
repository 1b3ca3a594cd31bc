"""Pools for an input that has none: all machines dealt out to the tenants that can use them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairlead.audit.finding import Input
from fairlead.model.eligibility import eligibility, holds
from fairlead.model.errors import InputError
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant


def deal_pools(given: Input, seed: int) -> tuple[Input, tuple[str, ...]]:
    """The input as if its tenants had brought the machines, and sentences on how they did.

    The machines are taken in an order drawn by the seed; each goes to the tenant that has fewest so
    far of those that could run a whole task on it (drawn once among equals). So pools do not
    overlap, their owners can use every machine of them, and whoever can use only a few kinds of
    machines brought only those. A tenant that no machine is left for is left out with its jobs, for
    a pool without machines promises nothing. Machines that nobody can use stay, as nobody's.

    Raises InputError where the tenants form a tree, or nobody can run anything.
    """
    owners = tuple(job.tenant or job.name for job in given.jobs)
    known = {tenant.name: tenant for tenant in given.cluster.tenants}
    child = next((tenant for tenant in known.values() if tenant.parent is not None), None)
    if child is not None:
        what = f"the tenants form a tree ({child.name} is below {child.parent}); machines are dealt"
        raise InputError(f"{what} to tenants that stand alone", "name pools with --pool")
    names = list(dict.fromkeys(owners))
    generator = np.random.Generator(np.random.PCG64(seed))
    able = _able(given, {name: number for number, name in enumerate(names)}, owners)
    pools: list[list[str]] = [[] for _ in names]
    # Fewest machines first, then the drawn rank: one number, so that one search finds both.
    standing = generator.permutation(len(names))
    nobodys = 0
    for index in generator.permutation(len(given.cluster.machines)).tolist():
        candidates = able[index]
        if not candidates.size:
            nobodys += 1
            continue
        chosen = int(candidates[np.argmin(standing[candidates])])
        pools[chosen].append(given.cluster.machines[index].name)
        standing[chosen] += len(names)
    owns = {name: tuple(sorted(pool)) for name, pool in zip(names, pools, strict=True) if pool}
    if not owns:
        raise InputError("no machine can be dealt", "nobody could run a whole task on any")
    jobs = tuple(
        replace(job, tenant=owner)
        for job, owner in zip(given.jobs, owners, strict=True)
        if owner in owns
    )
    tenants = tuple(
        Tenant(name, pool=pool, limit=known[name].limit if name in known else {})
        for name, pool in owns.items()
    )
    brought = len(given.cluster.machines) - nobodys
    notes = [f"{brought} machines are dealt out to {len(owns)} tenants by seed {seed}"]
    if without := len(names) - len(owns):
        them = (
            "tenant that got no machine is" if without == 1 else "tenants that got no machine are"
        )
        notes.append(f"{without} {them} left out")
    return Input(replace(given.cluster, tenants=tenants), jobs), tuple(notes)


def _able(given: Input, number: dict[str, int], owners: tuple[str, ...]) -> list[NDArray[np.int64]]:
    """For each machine, the tenants that could run a whole task on it."""
    machines = given.cluster.machines
    seen = eligibility(given.cluster, given.jobs)
    fits: dict[tuple[int, int], bool] = {}
    found: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)] * len(machines)
    rows = [frozenset(row) for row in seen.rows]
    for group, members in enumerate(seen.groups):
        machine: Machine = machines[members[0]]
        tenants = set()
        for job, row, owner in zip(given.jobs, seen.row, owners, strict=True):
            if group not in rows[row] or number[owner] in tenants:
                continue
            # Objects of the input, which live as long as this runs: their ids are theirs.
            key = (id(job), id(machine.capacity))
            if key not in fits:
                fits[key] = holds(job, machine) >= 1
            if fits[key]:
                tenants.add(number[owner])
        able = np.array(sorted(tenants), dtype=np.int64)
        for index in members:
            found[index] = able
    return found
