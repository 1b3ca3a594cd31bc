"""The weight of every tenant, computed again: as written, or what its pool could give it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from flint import fmpq

from fairlead.model.errors import CertificateError
from fairlead.model.machine import Cluster
from fairlead.model.proof import PoolProof
from fairlead.sharing.certificate.arithmetic import NONE, ONE, Equation, nearest, rational, solution
from fairlead.sharing.certificate.arrays import Seen
from fairlead.sharing.certificate.scales import held
from fairlead.sharing.certificate.scarce import Row, Rows
from fairlead.sharing.certificate.tree import Tree
from fairlead.sharing.numbers.sums import total


def tenant_weights(
    cluster: Cluster, seen: Seen, tree: Tree, scale: Sequence[fmpq], proofs: Iterable[PoolProof]
) -> list[fmpq]:
    """The weights of the tree's nodes."""
    weight = [ONE] * len(tree.names)
    proofs = tuple(proofs)
    by_tenant = {proof.tenant: proof for proof in proofs}
    runs = seen.all_kinds.runs
    if len(by_tenant) != len(proofs):
        raise CertificateError("two proofs for one pool")
    for tenant in cluster.tenants:
        node = tree.node[tenant.name]
        if tenant.pool is None:
            weight[node] = ONE if tenant.weight is None else rational(tenant.weight)
            continue
        mine = sorted(tree.below[tenant.name])
        able = [job for job in mine if scale[job] > 0 and runs[job]]
        if tenant.name in by_tenant:
            proof = by_tenant.pop(tenant.name)
            weight[node] = _proved(proof, frozenset(tenant.pool), seen, tree, scale, able)
        elif len(mine) == 1 and able and not any(able[0] in cap.takes for cap in tree.caps):
            weight[node] = _alone(seen, tenant.pool, scale, able[0])
        elif able:
            raise CertificateError(f"what the pool of {tenant.name} could give it is not proved")
        if not weight[node] > 0:
            raise CertificateError(f"the pool of {tenant.name} could give it nothing")
    if by_tenant:
        raise CertificateError(f"a proof for {min(by_tenant)}, which has no pool")
    return weight


def _alone(seen: Seen, pool: tuple[str, ...], scale: Sequence[fmpq], job: int) -> fmpq:
    """The largest share of a single job without limits: the tasks that the pool holds."""
    count = np.bincount(seen.kind[[seen.machine[name] for name in pool]], minlength=len(seen.kinds))
    kinds = seen.all_kinds
    fits = held(seen, kinds, kinds.usable, count)[job]
    number = seen.number[job]
    return (fits if number is None else min(fits, number)) / scale[job]


def _proved(
    proof: PoolProof,
    pool: frozenset[str],
    seen: Seen,
    tree: Tree,
    scale: Sequence[fmpq],
    jobs: Sequence[int],
) -> fmpq:
    """The largest share that the pool can give: prices bound it, and placements reach it.

    A task costs, on every machine of the pool that its job may use, at least what its share is
    worth. So no placements are worth more than all that is scarce; these are worth as much.
    """
    where = f"the pool of {proof.tenant}"
    classes = seen.classes(proof.classes, pool)
    named = {name for each in proof.classes for name in each.machines}
    if missing := pool - named:
        # Machines that none of its jobs can use may be left out.
        kinds = seen.kind[[seen.machine[name] for name in sorted(missing)]]
        if seen.all_kinds.usable[jobs][:, kinds].any():
            raise CertificateError(f"{where}: the machine {min(missing)} is in no class")
    if len(named) != sum(len(each.machines) for each in proof.classes):
        raise CertificateError(f"{where}: a machine is in two places of its classes")
    rows = Rows(seen, classes, tree, seen.number)
    closed = {job for cap in tree.caps if cap.amount == 0 for job in cap.takes}
    pairs: list[tuple[int, int]] = []
    for places in proof.places:
        if len(places.jobs) != 1:
            raise CertificateError(f"{where}: each job has its own places")
        job = rows.job(places.jobs[0], where)
        if job not in jobs or job in closed:
            raise CertificateError(f"{where}: {places.jobs[0]} has no place in it")
        pairs += [(job, column) for column in rows.columns(places.classes, job, where)]
    if len(set(pairs)) < len(pairs):
        raise CertificateError(f"{where}: a place is there twice")
    scarce = rows.all_rows(proof.scarce, where)
    price = _prices(rows, scarce, pairs, scale, where)
    amount = _amounts(rows, scarce, pairs, where)
    used_rows = _rows_of(rows, [job for job in jobs if job not in closed])
    _reach(rows, used_rows, amount, where)
    for job in jobs:
        if job in closed:
            continue
        for column in np.flatnonzero(classes.usable[job] & (classes.count > 0)).tolist():
            cost = sum((each * rows.takes(row, job, column) for row, each in price.items()), NONE)
            if cost * scale[job] < 1:
                raise CertificateError(
                    f"{where}: a task costs less on some class than its share is worth"
                )
    share = total([each * rows.there_is(row) for row, each in price.items()])
    reached = total([much / scale[job] for (job, _), much in amount.items()])
    if share != reached:
        raise CertificateError(
            f"{where}: its tasks give the share {nearest(reached)!r}, and its prices bound it by"
            f" {nearest(share)!r}"
        )
    if proof.share != nearest(share):
        raise CertificateError(
            f"{where}: its share is {proof.share!r}, and its prices say {nearest(share)!r}"
        )
    return share


def _prices(
    rows: Rows,
    scarce: Sequence[Row],
    pairs: Sequence[tuple[int, int]],
    scale: Sequence[fmpq],
    where: str,
) -> dict[Row, fmpq]:
    """The prices by which a task costs in each of its places what its share is worth."""
    equations: list[Equation] = [
        {
            index: takes
            for index, row in enumerate(scarce)
            if (takes := rows.takes(row, job, column))
        }
        for job, column in pairs
    ]
    found = solution(equations, [1 / scale[job] for job, _ in pairs], range(len(scarce)))
    if found is None:
        raise CertificateError(f"{where}: its places do not say the prices")
    if any(each < 0 for each in found.values()):
        raise CertificateError(f"{where}: a price is below 0")
    return {row: found[index] for index, row in enumerate(scarce)}


def _amounts(
    rows: Rows, scarce: Sequence[Row], pairs: Sequence[tuple[int, int]], where: str
) -> dict[tuple[int, int], fmpq]:
    """The tasks in each place that use up all that is scarce."""
    equations: list[Equation] = [
        {
            index: takes
            for index, (job, column) in enumerate(pairs)
            if (takes := rows.takes(row, job, column))
        }
        for row in scarce
    ]
    found = solution(equations, [rows.there_is(row) for row in scarce], range(len(pairs)))
    if found is None:
        raise CertificateError(f"{where}: what is scarce does not say the tasks")
    if any(each < 0 for each in found.values()):
        raise CertificateError(f"{where}: less than no tasks in a place")
    return {pair: found[index] for index, pair in enumerate(pairs)}


def _rows_of(rows: Rows, jobs: Sequence[int]) -> list[Row]:
    """Everything that may stop these jobs."""
    found: list[Row] = [("limit", index, 0) for index in range(len(rows.tree.caps))]
    for column in range(len(rows.classes.count)):
        found += [("on", column, r) for r in range(len(rows.seen.resources))]
        found += [("spread", column, job) for job in jobs if rows.seen.spread[job]]
    return found + [("tasks", job, 0) for job in jobs if rows.number[job] is not None]


def _reach(
    rows: Rows, bounds: Sequence[Row], amount: dict[tuple[int, int], fmpq], where: str
) -> None:
    """Raises CertificateError where these tasks use more than there is."""
    for row in bounds:
        used = NONE
        for (job, column), much in amount.items():
            takes = rows.takes(row, job, column)
            if takes:
                used = used + much * takes
        if used > rows.there_is(row):
            raise CertificateError(f"{where}: its tasks use more than there is")
