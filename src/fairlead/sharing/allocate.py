"""From a cluster and its jobs to the exact allocation, checked before anybody sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from fairlead.model.allocation import Allocation, JobShare, Stop, Tasks
from fairlead.model.check import check, with_implied_tenants
from fairlead.model.eligibility import may_use, nowhere
from fairlead.model.errors import InputError, Mistake
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.proof import Proof, Scale
from fairlead.sharing import answer
from fairlead.sharing.answer import Names, shown
from fairlead.sharing.certificate import certify
from fairlead.sharing.compile import compile_problem
from fairlead.sharing.filling import fill
from fairlead.sharing.mechanism import Mechanism
from fairlead.sharing.policy import Policy, View
from fairlead.sharing.pools import tenant_weights
from fairlead.sharing.problem import Floats, Problem
from fairlead.sharing.registry import parse
from fairlead.sharing.views import one_class, pooled

MAY_NOT_FIT = (
    "{policy} looks at one machine that holds everything: the tasks may not fit the real machines,"
    " and there are no placements"
)
DIVIDED = "job {job}: a task is larger than every machine that it may use, so it gets part of a task"


def allocate(
    cluster: Cluster,
    jobs: Sequence[Job],
    policy: str | Policy | Mechanism = "tsf",
    tasks: str | Tasks = Tasks.DIVISIBLE,
) -> Allocation:
    """The exact fair allocation, with its proof, after it passed an independent check.

    `policy` is written as on the command line (`"tsf"`, `"kdf(k=3, gpu=2)"`). Raises InputError
    for what the caller got wrong and InternalError where the answer fails its check.
    """
    if Tasks(tasks) is not Tasks.DIVISIBLE:
        raise InputError(Mistake("whole tasks are not built yet", "use tasks='divisible'"))
    cluster = with_implied_tenants(cluster, jobs)
    check(cluster, jobs)
    rule = parse(policy) if isinstance(policy, str) else policy
    problem = compile_problem(cluster, jobs)
    if isinstance(rule, Mechanism):
        found = _by_mechanism(cluster, jobs, problem, rule)
    elif rule.view is View.EACH_MACHINE:
        found = _by_each_machine(cluster, jobs, problem, rule)
    else:
        found = _by_policy(cluster, jobs, problem, rule)
    found = replace(found, jobs=_with_reasons(cluster, jobs, found.jobs))
    return replace(found, certificate=certify(cluster, jobs, found, found.proof))


def _by_policy(
    cluster: Cluster, jobs: Sequence[Job], problem: Problem, policy: Policy
) -> Allocation:
    """One filling of the whole cluster, as the policy sees it."""
    is_pooled = policy.view is View.POOLED
    view = pooled(problem) if is_pooled else problem
    scale = policy.scale(view)
    weights = tenant_weights(problem, scale)
    filling = fill(view, scale, weights.weight)
    names = _names(cluster, view)
    reached = answer.levels(names, filling)
    share = _shares(filling.tasks.sum(axis=1), scale)
    return Allocation(
        policy=policy.spec,
        tasks=Tasks.DIVISIBLE,
        tenants=answer.tenant_shares(names, weights.weight, share, reached),
        jobs=answer.job_shares(
            names,
            [job.name for job in jobs],
            filling.tasks,
            scale,
            share,
            reached,
            placed=not is_pooled,
            alone=problem.alone,
        ),
        classes=names.classes(),
        levels=reached,
        certificate=None,
        warnings=(
            (MAY_NOT_FIT.format(policy=policy.spec),)
            if is_pooled
            else _divided(problem, filling.tasks)
        ),
        proof=Proof(
            policy=policy.spec,
            classes=names.classes(),
            placements=_placements(names, filling.tasks),
            rounds=tuple(answer.proof_rounds(names, filling)),
            pools=weights.proofs(_names(cluster, problem)),
            view=policy.view.value,
            scales=tuple(_scales(problem, scale)),
        ),
    )


def _by_each_machine(
    cluster: Cluster, jobs: Sequence[Job], problem: Problem, policy: Policy
) -> Allocation:
    """A filling of every class of machines by itself. Shares are tasks over `alone`: the scale
    is another one on every machine."""
    names = _names(cluster, problem)
    weights = tenant_weights(problem, problem.alone)
    tasks = np.zeros_like(problem.holds)
    levels, rounds, scales = [], [], []
    for c in names.order:
        view = one_class(problem, c)
        scale = policy.scale(view)
        filling = fill(view, scale, weights.weight)
        tasks[:, c] = filling.tasks[:, 0] * problem.count[c]
        number = names.show[c]
        alone = Names(view, (number,), (0,))
        levels += answer.levels(alone, filling, number)
        rounds += answer.proof_rounds(alone, filling, number)
        scales += _scales(problem, scale, number)
    share = _shares(tasks.sum(axis=1), problem.alone)
    return Allocation(
        policy=policy.spec,
        tasks=Tasks.DIVISIBLE,
        tenants=answer.tenant_shares(names, weights.weight, share, ()),
        jobs=answer.job_shares(
            names,
            [job.name for job in jobs],
            tasks,
            None,
            share,
            (),
            placed=True,
            alone=problem.alone,
        ),
        classes=names.classes(),
        levels=tuple(levels),
        certificate=None,
        warnings=_divided(problem, tasks),
        proof=Proof(
            policy=policy.spec,
            classes=names.classes(),
            placements=_placements(names, tasks),
            rounds=tuple(rounds),
            pools=weights.proofs(names),
            view=policy.view.value,
            scales=tuple(scales),
        ),
    )


def _by_mechanism(
    cluster: Cluster, jobs: Sequence[Job], problem: Problem, mechanism: Mechanism
) -> Allocation:
    """What a mechanism gives. It has no scale and no levels; shares are tasks over `alone`."""
    weights = tenant_weights(problem, problem.alone)
    outcome = mechanism.allocate(problem, weights.weight)
    names = _names(cluster, problem)
    share = _shares(outcome.tasks.sum(axis=1), problem.alone)
    prices: tuple[Stop, ...] = ()
    if outcome.prices is not None:
        prices = tuple(
            Stop(
                shown(outcome.prices[c, r]),
                machine_class=names.show[c],
                resource=problem.resources[r],
            )
            for c in names.order
            for r in np.flatnonzero(outcome.prices[c] > 0)
        )
    return Allocation(
        policy=mechanism.spec,
        tasks=Tasks.DIVISIBLE,
        tenants=answer.tenant_shares(names, weights.weight, share, ()),
        jobs=answer.job_shares(
            names,
            [job.name for job in jobs],
            outcome.tasks,
            None,
            share,
            (),
            placed=True,
            alone=problem.alone,
        ),
        classes=names.classes(),
        levels=(),
        certificate=None,
        warnings=_divided(problem, outcome.tasks),
        prices=prices,
    )


def _names(cluster: Cluster, problem: Problem) -> Names:
    return answer.names_of(problem, [machine.name for machine in cluster.machines])


def _shares(tasks: Floats, scale: Floats) -> Floats:
    """(J,) tasks over scale, 0 where a job has no scale because it can run nowhere."""
    share: Floats = np.divide(tasks, scale, out=np.zeros_like(tasks), where=scale > 0)
    return share


def _scales(problem: Problem, scale: Floats, number: int | None = None) -> Iterator[Scale]:
    """The scales of the jobs that have one, as data."""
    for j in np.flatnonzero(scale > 0):
        yield Scale(problem.job_names[j], float(scale[j]), number)


def _placements(names: Names, tasks: Floats) -> tuple[tuple[str, tuple[answer.Placement, ...]], ...]:
    """The placements of all jobs that have any, by name."""
    found = (
        (name, answer.placements(names, tasks, j)) for j, name in enumerate(names.problem.job_names)
    )
    return tuple(sorted((name, places) for name, places in found if places))


def _divided(problem: Problem, tasks: Floats) -> tuple[str, ...]:
    """A warning for each job whose single task no machine that it may use can hold whole."""
    largest = np.where(problem.usable, problem.holds, 0.0).max(axis=1, initial=0.0)
    return tuple(
        sorted(
            DIVIDED.format(job=problem.job_names[j])
            for j in np.flatnonzero((largest > 0) & (largest < 1))
        )
    )


def _with_reasons(
    cluster: Cluster, jobs: Sequence[Job], shares: Sequence[JobShare]
) -> tuple[JobShare, ...]:
    """The jobs' shares, with the reason for each that can run nowhere."""
    by_name = {job.name: job for job in jobs}
    return tuple(
        replace(share, nowhere=nowhere(cluster, by_name[share.name])) if not share.tasks else share
        for share in shares
    )
