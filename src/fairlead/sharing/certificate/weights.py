"""The weight of every tenant, computed again: as written, or what its pool could give it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fairlead.model.errors import CertificateError
from fairlead.model.machine import Cluster
from fairlead.model.proof import PoolProof
from fairlead.sharing.certificate.prices import Scarce
from fairlead.sharing.certificate.rounds import Figures
from fairlead.sharing.certificate.seen import Classes, Floats, Ints, Seen
from fairlead.sharing.certificate.tolerances import EXACT
from fairlead.sharing.certificate.tree import Tree


def tenant_weights(
    cluster: Cluster, seen: Seen, tree: Tree, scale: Floats, proofs: Iterable[PoolProof]
) -> tuple[Floats, Figures]:
    """The weights of the tree's nodes, and how exact those are that come with a proof."""
    weight = np.ones(len(tree.names))
    proofs = tuple(proofs)
    by_tenant = {proof.tenant: proof for proof in proofs}
    if len(by_tenant) != len(proofs):
        raise CertificateError("two proofs for one pool")
    figures = Figures()
    kinds = seen.all_kinds()
    for tenant in cluster.tenants:
        node = tree.node[tenant.name]
        if tenant.pool is None:
            weight[node] = 1.0 if tenant.weight is None else float(tenant.weight)
            continue
        mine = np.array(sorted(tree.below[tenant.name]), dtype=np.int64)
        able = mine[scale[mine] > 0]
        if tenant.name in by_tenant:
            proof = by_tenant.pop(tenant.name)
            weight[node], figures = _proved(
                proof, frozenset(tenant.pool), seen, tree, scale, able, figures
            )
        elif able.size == 1 and not any(cap.need[able].any() for cap in tree.caps):
            weight[node] = _alone(seen, kinds, tenant.pool, scale, int(able[0]))
        elif able.size:
            raise CertificateError(f"what the pool of {tenant.name} could give it is not proved")
        if not weight[node] > 0:
            raise CertificateError(f"the pool of {tenant.name} could give it nothing")
    if by_tenant:
        raise CertificateError(f"a proof for {min(by_tenant)}, which has no pool")
    return weight, figures


def _alone(seen: Seen, kinds: Classes, pool: tuple[str, ...], scale: Floats, job: int) -> float:
    """The largest share of a single job without limits: the tasks that the pool holds."""
    count = np.bincount(seen.kind[[seen.machine[name] for name in pool]], minlength=len(seen.kinds))
    fits = float(np.where(kinds.usable[job], kinds.holds[job], 0.0) @ count)
    return min(fits, float(seen.tasks[job])) / float(scale[job])


def _proved(
    proof: PoolProof,
    pool: frozenset[str],
    seen: Seen,
    tree: Tree,
    scale: Floats,
    jobs: Ints,
    figures: Figures,
) -> tuple[float, Figures]:
    """The share that placements in the pool reach and that prices bound."""
    where = f"the pool of {proof.tenant}"
    classes = seen.classes(proof.classes, pool)
    named = {name for each in proof.classes for name in each.machines}
    if missing := pool - named:
        # Machines that none of its jobs can use may be left out.
        kinds = seen.kind[[seen.machine[name] for name in sorted(missing)]]
        if seen.all_kinds().usable[np.ix_(jobs, kinds)].any():
            raise CertificateError(f"{where}: the machine {min(missing)} is in no class")
    if len(named) != sum(len(each.machines) for each in proof.classes):
        raise CertificateError(f"{where}: a machine is in two places of its classes")
    scarce = Scarce(seen, classes, tree, seen.tasks)
    tasks = scarce.placed(proof.placements, f"{where}: ")
    others = np.ones(len(scale), dtype=bool)
    others[jobs] = False
    if tasks[others].any():
        raise CertificateError(f"{where}: tasks of a job that is not its own, or can run nowhere")
    figures = figures.worse(feasibility=scarce.violation(tasks))
    share = float((tasks.sum(axis=1)[jobs] / scale[jobs]).sum())
    prices = scarce.prices(proof.stops, where)
    shut = np.where(classes.usable.T, 0.0, np.inf)
    # A class of which the pool has nothing offers nothing, whatever it costs there.
    shut[classes.count == 0] = np.inf
    with np.errstate(divide="ignore"):
        short = float((1.0 / (scale[jobs] * prices.cheapest(shut)[jobs])).max(initial=0.0))
    if not short <= 1.0 + EXACT:
        raise CertificateError(f"{where}: a task costs less on some class than its share is worth")
    # Prices that are too low by a part prove a bound that is larger by as much.
    bound = prices.bound() * max(short, 1.0)
    if not abs(bound - share) <= EXACT * share or not abs(proof.share - share) <= EXACT * share:
        raise CertificateError(
            f"{where} gives the share {share:.12g}, is said to give {proof.share:.12g}, and its"
            f" prices bound it by {bound:.12g}"
        )
    return proof.share, figures.worse(gap=max(bound - share, 0.0) / share if share else 0.0)
