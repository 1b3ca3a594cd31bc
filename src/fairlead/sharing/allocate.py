"""From a cluster and its jobs to the exact allocation, checked before anybody sees it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import fmpq

from fairlead.model.allocation import Allocation
from fairlead.model.check import check, with_implied_tenants
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.never import why_never
from fairlead.model.proof import Proof, Round, Scale
from fairlead.model.shares import Freeze, JobShare, Level, Stop, Tasks
from fairlead.model.unrounded import EXACT, IN_DOUBLES
from fairlead.sharing.certificate import certify
from fairlead.sharing.filling import names as back
from fairlead.sharing.filling.fill import fill
from fairlead.sharing.filling.names import Names, rounded
from fairlead.sharing.filling.per_machine import parts
from fairlead.sharing.filling.pool_weights import Weights, tenant_weights
from fairlead.sharing.numbers.amounts import fraction, nearest, rationals
from fairlead.sharing.policy import Policy, View
from fairlead.sharing.problem.alone import alone
from fairlead.sharing.problem.compile import compile_problem
from fairlead.sharing.problem.problem import Floats, Problem
from fairlead.sharing.rules.mechanism import Mechanism
from fairlead.sharing.rules.registry import parse
from fairlead.sharing.rules.views import one_class, pool_machines
from fairlead.sharing.whole_tasks.registry import is_whole

MAY_NOT_FIT = (
    "{policy} looks at one machine that holds everything: the tasks may not fit the real machines,"
    " and there are no placements"
)


def allocate(
    cluster: Cluster,
    jobs: Iterable[Job],
    policy: str | Policy | Mechanism = "tsf",
    tasks: str | Tasks = Tasks.DIVISIBLE,
) -> Allocation:
    """The exact fair allocation, with its proof, after it passed an independent check.

    With whole tasks: the exact one rounded to whole tasks on each machine, which were seen to fit.
    `policy` is written as on the command line (`"tsf"`, `"kdf(k=3, gpu=2)"`). Raises InputError
    for what the caller got wrong; InternalError where an answer does not pass its check.
    """
    if tasks not in [kind for each in Tasks for kind in (each, each.value)]:
        raise InputError(f"tasks are not {tasks!r}", "use 'divisible' or 'whole'")
    jobs = _check_arguments(cluster, jobs, policy)
    cluster = with_implied_tenants(cluster, jobs)
    check(cluster, jobs)
    if isinstance(policy, str) and is_whole(policy):
        from fairlead.sharing.whole_tasks.answer import by_whole_mechanism

        return by_whole_mechanism(cluster, jobs, policy)
    rule = parse(policy) if isinstance(policy, str) else policy
    return _allocated(cluster, jobs, rule, Tasks(tasks))


def _check_arguments(cluster: object, given: object, policy: object) -> tuple[Job, ...]:
    """The jobs; all that was given is seen to be what it should, since not everybody who calls from
    Python has it looked at by a type checker."""
    if not isinstance(cluster, Cluster):
        right = "give a fairlead.Cluster, then the jobs"
        raise InputError(f"a {type(cluster).__name__} is no cluster", right)
    if not isinstance(policy, (str, Policy, Mechanism)):
        raise InputError(f"{policy!r} is no policy", 'write a name such as "tsf"')
    right = "give a list of fairlead.Job"
    if isinstance(given, Job) or not isinstance(given, Iterable):
        raise InputError(f"a {type(given).__name__} is no list of jobs", right)
    jobs = tuple(given)
    for job in jobs:
        if not isinstance(job, Job):
            raise InputError(f"a {type(job).__name__} is no job", right)
    return jobs


def _allocated(
    cluster: Cluster, jobs: tuple[Job, ...], rule: Policy | Mechanism, tasks: Tasks
) -> Allocation:
    """The allocation by a policy or a mechanism, checked."""
    problem = compile_problem(cluster, jobs)
    if isinstance(rule, Mechanism):
        found = _by_mechanism(cluster, problem, rule)
    elif rule.view is View.EACH_MACHINE:
        found = _by_each_machine(cluster, problem, rule)
    else:
        found = _by_policy(cluster, problem, rule)
    if tasks is Tasks.WHOLE:
        from fairlead.sharing.whole_tasks.answer import rounded_answer

        return rounded_answer(
            cluster,
            jobs,
            problem,
            rule.spec,
            found.tasks,
            found.scale,
            found.weight,
            found.pooled,
        )
    answer = _in_words(cluster, jobs, problem, rule.spec, found)
    return replace(answer, certificate=certify(cluster, jobs, answer, answer.proof))


@dataclass(frozen=True)
class _Found:
    """The answer of a rule. `scale` is None where no one scale holds for all machines; shares are
    then tasks over `alone`. `pooled`: there is one machine, and no placements."""

    names: Names
    tasks: Floats  # (J, C)
    total: Sequence[fmpq]  # (J,) the tasks of each job
    weight: Weights
    scale: Sequence[fmpq] | None
    levels: tuple[Level, ...] = ()
    freezes: tuple[Freeze, ...] = ()
    proof: Proof | None = None
    prices: tuple[Stop, ...] = ()
    pooled: bool = False
    within: Fraction = EXACT


def _by_policy(cluster: Cluster, problem: Problem, policy: Policy) -> _Found:
    """One filling of the whole cluster, as the policy sees it."""
    is_pooled = policy.view is View.POOLED
    view = pool_machines(problem) if is_pooled else problem
    scale = policy.exact_scale(view)
    weights = tenant_weights(problem, scale)
    filling = fill(view, scale, weights.exact)
    names = _names(cluster, view)
    total = [share * each for share, each in zip(filling.share, scale, strict=True)]
    return _Found(
        names=names,
        tasks=filling.tasks,
        total=total,
        weight=weights,
        scale=scale,
        levels=back.levels(names, filling),
        freezes=tuple(back.freezes(names, filling)),
        proof=Proof(
            policy=policy.spec,
            classes=names.classes(),
            tasks=_tasks(view, total),
            rounds=tuple(back.proof_rounds(names, filling)),
            places=tuple(back.proof_places(names, filling)),
            full=tuple(back.scarce(names, row) for row in filling.full),
            pools=weights.proofs(_names(cluster, problem)),
            view=policy.view.value,
            scales=_scales(policy, view, scale),
        ),
        pooled=is_pooled,
    )


def _by_each_machine(cluster: Cluster, problem: Problem, policy: Policy) -> _Found:
    """A filling of every class of machines by itself: the scale is another one on every machine."""
    names = _names(cluster, problem)
    weights = tenant_weights(problem, alone(problem))
    tasks = np.zeros_like(problem.holds)
    total = [fmpq(0)] * len(problem.job_names)
    levels: list[Level] = []
    freezes: list[Freeze] = []
    rounds: list[Round] = []
    scales: list[Scale] = []
    classes = range(len(problem.count))
    each = [policy.exact_scale(one_class(problem, c)) for c in classes]
    shared = parts(problem, each, weights.exact)
    for c in names.order:
        view, scale, count = one_class(problem, c, shared), each[c], int(problem.count[c])
        filling = fill(view, scale, weights.exact)
        tasks[:, c] = filling.tasks[:, 0] * count
        here = (share * unit * count for share, unit in zip(filling.share, scale, strict=True))
        total = [a + b for a, b in zip(total, here, strict=True)]
        number = names.show[c]
        alone_there = Names(view, (number,), (0,))
        levels += back.levels(alone_there, filling, number)
        freezes += back.freezes(alone_there, filling, number)
        rounds += back.proof_rounds(alone_there, filling, number)
        scales += _scales(policy, view, scale, number)
    return _Found(
        names=names,
        tasks=tasks,
        total=total,
        weight=weights,
        scale=None,
        levels=tuple(levels),
        freezes=tuple(freezes),
        proof=Proof(
            policy=policy.spec,
            classes=names.classes(),
            tasks=_tasks(problem, total),
            rounds=tuple(rounds),
            places=(),
            full=(),
            pools=weights.proofs(names),
            view=policy.view.value,
            scales=tuple(scales),
        ),
    )


def _by_mechanism(cluster: Cluster, problem: Problem, mechanism: Mechanism) -> _Found:
    """The answer of a mechanism: it has no scale, no levels and nothing to prove."""
    weights = tenant_weights(problem, alone(problem))
    outcome = mechanism.allocate(problem, weights.weight)
    names = _names(cluster, problem)
    prices: tuple[Stop, ...] = ()
    if outcome.prices is not None:
        prices = tuple(
            Stop(
                rounded(outcome.prices[c, r]),
                machine_class=names.show[c],
                resource=problem.resources[r],
            )
            for c in names.order
            for r in np.flatnonzero(outcome.prices[c] > 0)
        )
    return _Found(
        names=names,
        tasks=outcome.tasks,
        total=rationals(outcome.tasks.sum(axis=1)),
        weight=weights,
        scale=None,
        prices=prices,
        within=IN_DOUBLES,
    )


def _in_words(
    cluster: Cluster, jobs: Sequence[Job], problem: Problem, spec: str, found: _Found
) -> Allocation:
    """The answer by name. Its certificate is still to come."""
    names, tasks = found.names, found.tasks
    by_itself = alone(problem)
    unit = by_itself if found.scale is None else found.scale
    share = [
        tasks / each if each > 0 else fmpq(0) for tasks, each in zip(found.total, unit, strict=True)
    ]
    # Where each class is filled by itself a level is that class's own: nobody has one of it all.
    reached = () if found.scale is None else found.levels
    shares = back.job_shares(
        names,
        [job.name for job in jobs],
        tasks,
        list(map(nearest, found.total)),
        None if found.scale is None else list(map(nearest, found.scale)),
        list(map(nearest, share)),
        reached,
        placed=not found.pooled,
        alone=list(map(nearest, by_itself)),
    )
    warnings = (MAY_NOT_FIT.format(policy=spec),) if found.pooled else ()
    weight = found.weight.exact
    tenant_share = back.of_tenants(problem, weight, share)
    return Allocation(
        policy=spec,
        tasks=Tasks.DIVISIBLE,
        tenants=back.tenant_shares(names, weight, tenant_share, reached),
        jobs=_with_reasons(cluster, jobs, shares),
        classes=names.classes(),
        levels=found.levels,
        certificate=None,
        warnings=warnings,
        prices=found.prices,
        proof=found.proof,
        freezes=found.freezes,
        unrounded=back.unrounded(
            problem, found.total, unit, share, weight, tenant_share, found.within
        ),
    )


def _names(cluster: Cluster, problem: Problem) -> Names:
    return back.names_of(problem, [machine.name for machine in cluster.machines])


def _tasks(problem: Problem, total: Sequence[fmpq]) -> tuple[tuple[str, float], ...]:
    """The tasks of each job that has any, by name."""
    return tuple(
        sorted(
            (name, nearest(tasks))
            for name, tasks in zip(problem.job_names, total, strict=True)
            if tasks
        )
    )


def _scales(
    policy: Policy, problem: Problem, scale: Sequence[fmpq], number: int | None = None
) -> tuple[Scale, ...]:
    """The scales of the jobs that have one, where nobody else can compute them."""
    if policy.rational is not None:
        return ()
    return tuple(
        Scale(name, fraction(each), number)
        for name, each in zip(problem.job_names, scale, strict=True)
        if each > 0
    )


def _with_reasons(
    cluster: Cluster, jobs: Sequence[Job], shares: Sequence[JobShare]
) -> tuple[JobShare, ...]:
    """The jobs' shares, with the reason for each that can never run."""
    idle = {share.name for share in shares if not share.tasks}
    if not idle:
        return tuple(shares)
    never = why_never(cluster, tuple(job for job in jobs if job.name in idle))
    return tuple(
        replace(share, nowhere=never[share.name]) if share.name in never else share
        for share in shares
    )
