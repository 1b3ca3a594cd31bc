"""What can be read of a job of Slurm's that is not understood, so that it has its turn and counts
for its tenant where the queue is put into order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil

from fairlead.engines.slurm.demands import (
    NotUnderstoodError,
    Request,
    matches,
    nodes_named,
    parts_of,
    request_of,
)
from fairlead.engines.slurm.lying import level_nodes, places_of_tasks
from fairlead.engines.slurm.reading.values import SlurmJob, SlurmNode
from fairlead.engines.slurm.translation import machine_of
from fairlead.model.names import expand_all

WHOLE = "--exclusive"


def rough_request_of(job: SlurmJob, nodes: Sequence[SlurmNode]) -> Request:
    """The request as it would be without the wishes that are not understood, rounded up. Of a job
    that has begun otherwise than it asked for, as on more nodes, each of its nodes counts like that
    on which it has most, and who wants nodes whole asks for all that is on them. `nodes`: those
    that take jobs, and those where it runs. Raises NotUnderstoodError where no node is left."""
    own = frozenset(expand_all([job.node_list])) if job.running_on else frozenset[str]()
    plain = replace(job, running_on=0, beyond=())
    if job.running_on > 1 and not places_of_tasks(job, parts_of(plain)[0]):
        plain = replace(level_nodes(job), beyond=())
    found = request_of(_rounded(_readable(plain)), nodes)
    return _whole(job, found, nodes, own) if WHOLE in job.beyond else found


def _readable(job: SlurmJob) -> SlurmJob:
    """The job without what contradicts itself or has no words, which Slurm may read well."""
    try:
        if job.features:
            matches(job.features, ())
    except NotUnderstoodError:
        job = replace(job, features="")
    try:
        nodes_named(job, *parts_of(job))
    except NotUnderstoodError:
        job = replace(job, required="")
    wanted = (job.per_job, job.per_node, job.per_task)
    if len({each.model for gres in wanted for each in gres} - {""}) > 1:
        per_job, per_node, per_task = (
            tuple(replace(each, model="") for each in gres) for gres in wanted
        )
        job = replace(job, per_job=per_job, per_node=per_node, per_task=per_task)
    return job


def _rounded(job: SlurmJob) -> SlurmJob:
    """The job with so much more that its parts are equal."""
    gang, _ = parts_of(job)

    def up(amount: int) -> int:
        return -(-amount // gang) * gang

    return replace(
        job,
        cpus=up(job.cpus),
        tasks=up(job.tasks),
        per_job=tuple(replace(each, count=up(each.count)) for each in job.per_job),
    )


def _whole(
    job: SlurmJob, request: Request, nodes: Sequence[SlurmNode], own: frozenset[str]
) -> Request:
    """The request of whole nodes: the largest that it has, or of one that waits the least that it
    may get."""
    has = _kinds_of([node for node in nodes if node.name in own])
    count, at = job.running_on, -1
    if not has:
        may = _kinds_of(request.allowed(nodes))
        asked = {kind: ceil(amount * request.gang) for kind, amount in request.demand}
        most = {kind: max((int(each.get(kind, 0)) for each in may), default=0) for kind in asked}
        if not all(most.values()):
            return request
        count = max(job.nodes, *(-(-amount // most[kind]) for kind, amount in asked.items()))
        parts = {kind: -(-amount // count) for kind, amount in asked.items()}
        has = [each for each in may if all(each.get(k, 0) >= parts[k] for k in parts)]
        if not has:
            return request
        at = 0
    kinds = sorted({kind for each in has for kind in each})
    demand = ((kind, Fraction(sorted(each.get(kind, 0) for each in has)[at])) for kind in kinds)
    return replace(
        request,
        demand=tuple((kind, amount) for kind, amount in demand if amount),
        gang=count,
        spread=count > 1,
    )


def _kinds_of(nodes: Sequence[SlurmNode]) -> list[dict[str, Fraction]]:
    """What each has, of many that have the same once."""
    alike = {(node.cpus, node.memory, node.gres): node for node in nodes}
    return [dict(machine_of(node).capacity) for node in alike.values()]
