"""Solves an input as the service's own shares are solved: scales and pools are counted in whole
tasks by the core's code, on all machines that are there, and those that take tasks are shared."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

import numpy as np

from fairlead.audit.finding import Input
from fairlead.audit.outcome import Outcome, Rule
from fairlead.model.check import with_implied_tenants
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.never import never_run
from fairlead.model.unrounded import IN_DOUBLES
from fairlead.model.values import FrozenMap
from fairlead.scheduling.state.pools import largest_share
from fairlead.scheduling.state.scales import Classes, Scaler
from fairlead.sharing.allocate import allocate
from fairlead.sharing.numbers.amounts import Whole, simplest
from fairlead.sharing.policy import Policy
from fairlead.sharing.present import Words
from fairlead.sharing.problem.compile import compile_problem
from fairlead.sharing.problem.problem import Bools, Floats, Ints, Problem, jobs_below
from fairlead.sharing.rules.registry import scaled
from fairlead.sharing.rules.stated import stated

WORD = 64
"""Terms in a word of bits."""


@dataclass(frozen=True)
class LiveInput:
    """The machines, tenants and jobs of a service at one moment. All machines that are there are in
    it, and jobs have what is left of them.

    `idle`: machines that take no tasks. `held`: of each job, its tasks on machines. `came`: each as
    it came, with all its tasks and its gang. `lost`: jobs none of whose listed machines is there,
    which are excluded from every machine.
    """

    input: Input
    idle: frozenset[str]
    held: FrozenMap[int]
    came: FrozenMap[tuple[Fraction | None, int]]
    lost: tuple[str, ...]


def solve_as_live(live: LiveInput, given: Input, rule: Rule) -> Outcome:
    """The outcome of the live input, or of what a change made of it. Raises InputError where the
    policy refuses it."""
    policy = scaled(cast(Policy, rule))
    cluster = with_implied_tenants(given.cluster, given.jobs)
    taking, asked = _on_taking(live, cluster, given.jobs)
    problem = compile_problem(cluster, asked)
    counted = _Counted(problem, policy, cluster)
    weight = _pool_weights(problem, live, given, counted)
    has = {name for machine in taking.cluster.machines for name in machine.capacity}
    tenants = [
        replace(
            tenant,
            pool=None,
            weight=weight[tenant.name] if tenant.pool else tenant.weight,
            limit=FrozenMap({name: most for name, most in tenant.limit.items() if name in has}),
        )
        for tenant in cluster.tenants
    ]
    shared = replace(taking, cluster=replace(taking.cluster, tenants=tuple(tenants)))
    known = stated(f"{policy.spec} in whole tasks", problem.job_names, counted.scale)
    found = allocate(shared.cluster, shared.jobs, known)
    # Scales come in doubles, so what differs by less than these tell is the same.
    within = replace(found.unrounded, within=IN_DOUBLES)
    return Outcome(shared, policy, replace(found, policy=policy.spec, unrounded=within))


def _on_taking(
    live: LiveInput, cluster: Cluster, jobs: tuple[Job, ...]
) -> tuple[Input, tuple[Job, ...]]:
    """The machines that take tasks, with the jobs on those of them that hold a whole one; and the
    jobs with the constraints that they have. Of a gang that can start no more, what runs is all
    that its job asks for."""
    taking = tuple(machine for machine in cluster.machines if machine.name not in live.idle)
    if not taking:
        raise InputError("no machine is left that takes tasks", "leave at least one")
    up = dict.fromkeys(machine.name for machine in taking)
    kinds: dict[FrozenMap[Fraction], list[str]] = {}
    for machine in taking:
        kinds.setdefault(machine.capacity, []).append(machine.name)
    small: dict[FrozenMap[Fraction], list[str]] = {}
    narrow = []
    for job in jobs:
        if job.demand not in small:
            small[job.demand] = [
                name
                for capacity, names in kinds.items()
                if any(capacity.get(r, 0) < need for r, need in job.demand.items())
                # One without any of a resource holds no part of a task either.
                and all(capacity.get(r, 0) > 0 for r, need in job.demand.items() if need)
                for name in names
            ]
        narrow.append(_among(job, up, small[job.demand]))
    has = {name for machine in taking for name in machine.capacity}
    there = replace(cluster, machines=taking, devices=cluster.devices & has)
    stuck = frozenset[str]()
    if any(job.gang > 1 and live.held.get(job.name) for job in jobs):
        stuck = never_run(there, narrow)

    def asks(job: Job) -> Job:
        held = live.held.get(job.name, 0)
        if held and job.gang > 1 and job.name in stuck:
            return replace(job, tasks=Fraction(held), gang=1)
        return job

    return Input(there, tuple(map(asks, narrow))), tuple(map(asks, jobs))


def _among(job: Job, up: Collection[str], small: Sequence[str]) -> Job:
    """The job on these machines alone, without those that are too small for it."""
    listed = job.machines
    if listed is not None and not all(name in up for name in listed):
        listed = tuple(name for name in listed if name in up)
        if not listed:
            return replace(job, machines=None, exclude=tuple(up))
    exclude = tuple(dict.fromkeys([*(name for name in job.exclude if name in up), *small]))
    if (listed, exclude) == (job.machines, job.exclude):
        return job
    return replace(job, machines=listed, exclude=exclude)


class _Counted:
    """A problem as the core counts it: in integers, devices by the piece, tasks whole."""

    def __init__(self, problem: Problem, policy: Policy, cluster: Cluster) -> None:
        amounts, names = problem.amounts, problem.resources
        self._demand = _integers(amounts.demand, names)
        self._capacity = _integers(amounts.capacity, names)
        self._spread = problem.spread
        # What no job asks for may have a weight in the policy all the same.
        more = sorted({r for m in cluster.machines for r in m.capacity} - set(names))
        pieces = [
            parts if name in cluster.devices else 0
            for name, parts in zip(names, amounts.parts, strict=True)
        ]
        self._scaler = Scaler(
            policy, (*names, *more), np.array(pieces + [0] * len(more), dtype=np.int64)
        )
        self._demand = _wider(self._demand, len(more))
        self._capacity = _wider(self._capacity, len(more))
        needs, terms = _in_terms(problem.eligible)
        there = Classes(self._capacity, terms, problem.count, np.arange(len(problem.count)))
        self.scale: Floats = self._scaler.scales(
            self._demand, needs, self._spread, there, problem.job_names
        ).scale

    def holds(self, jobs: list[int]) -> Floats:
        """(jobs, C) whole tasks of these jobs that one machine of each class holds."""
        return self._scaler.holds(self._demand[jobs], self._spread[jobs], self._capacity)


def _integers(amounts: Whole, resources: tuple[str, ...]) -> Ints:
    try:
        return amounts.astype(np.int64)
    except OverflowError:
        named = ", ".join(resources)
        raise InputError(
            f"the amounts of {named} are too fine beside each other to be counted",
            "write amounts with fewer digits",
        ) from None


def _wider(rows: Ints, more: int) -> Ints:
    return np.hstack([rows, np.zeros((len(rows), more), np.int64)])


def _in_terms(eligible: Bools) -> tuple[Words, Words]:
    """Which class each job may use, as the core has it: a term for each set of classes that jobs
    have, as a bit that the job needs (J, W), and that its classes satisfy (C, W)."""
    sets, of = np.unique(eligible, axis=0, return_inverse=True)
    words = -(-max(1, len(sets)) // WORD)
    bit = np.zeros((len(sets), words), np.uint64)
    at = np.arange(len(sets))
    bit[at, at // WORD] = np.uint64(1) << (at % WORD).astype(np.uint64)
    terms = np.zeros((eligible.shape[1], words), np.uint64)
    for row, mine in zip(sets, bit, strict=True):
        terms[row] |= mine
    return bit[of.ravel()], terms


def _pool_weights(
    problem: Problem, live: LiveInput, given: Input, counted: _Counted
) -> dict[str, Fraction]:
    """The weight of each tenant that has a pool, as the core has it: of jobs as they came."""
    tree = problem.tree
    pooled = np.flatnonzero(np.isnan(tree.weight)).tolist()
    if not pooled:
        return {}
    came = [replace(job, gang=_gang(*live.came[job.name])) for job in given.jobs]
    never = never_run(given.cluster, came)
    below, found = jobs_below(tree), {}
    for t in pooled:
        jobs = [j for j in below[t] if counted.scale[j] > 0 and problem.job_names[j] not in never]
        total = [live.came[problem.job_names[j]][0] for j in jobs]
        weight = largest_share(
            np.where(problem.eligible[jobs], counted.holds(jobs), 0.0),
            tree.pool_count[t],
            np.array([np.inf if each is None else float(each) for each in total]),
            counted.scale[jobs],
        )
        found[tree.names[t]] = simplest(weight)
    return found


def _gang(total: Fraction | None, gang: int) -> int:
    """How many tasks start together: one by one where there are never so many."""
    return gang if total is None or total >= gang else 1
