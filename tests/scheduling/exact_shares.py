"""The exact shares by the scale of the online core, of a cluster and its jobs: guarantees
and advice, from the model instead of a moment of a run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from fairlead.model.check import with_implied_tenants
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.scheduling.advice.ranking import ranks
from fairlead.scheduling.events import Advice, AdviceChanged, GuaranteesChanged
from fairlead.scheduling.preemption.guarantees import by_name
from fairlead.sharing.filling.fill import fill
from fairlead.sharing.filling.pool_weights import tenant_weights
from fairlead.sharing.numbers.amounts import Whole, nearest
from fairlead.sharing.policy import Policy, View
from fairlead.sharing.present import Filled, rounded_down
from fairlead.sharing.problem.compile import compile_problem
from fairlead.sharing.problem.problem import Problem
from fairlead.sharing.rules.registry import scaled
from fairlead.sharing.rules.views import pool_machines


def exact_shares(cluster: Cluster, jobs: Sequence[Job], policy: str | Policy) -> Filled:
    """The exact shares by the scale that the online core orders by, on the real machines.

    The input is valid, but for lists of machines, which may name some that are gone: it is the
    present state of a run. Refuses a policy that has no such scale.
    """
    rule = scaled(policy)
    jobs = tuple(jobs)
    cluster = with_implied_tenants(cluster, jobs)
    return fill_by_whole(compile_problem(cluster, jobs), rule, cluster.devices)


def fill_by_whole(problem: Problem, policy: Policy, devices: Collection[str] = ()) -> Filled:
    """The exact filling of the problem by the policy's scale in whole tasks. A policy that looks
    at one machine that holds everything gives its scale, and the real machines are filled.

    `devices` are resources that come in pieces of 1, as in `Cluster`.
    """
    whole = in_whole_tasks(problem, devices)
    scale = policy.exact_scale(pool_machines(whole) if policy.view is View.POOLED else whole)
    weight = tenant_weights(whole, scale).exact
    # What fits on a machine stays divisible, and only there is a number of tasks known to bind.
    divisible = replace(problem, usable=whole.usable)
    doubles = np.array([nearest(each) for each in scale])
    return Filled(divisible, doubles, fill(divisible, scale, weight), scale)


def in_whole_tasks(problem: Problem, devices: Collection[str] = ()) -> Problem:
    """The problem with `holds` in whole tasks; a job may use what holds one of them."""
    amounts = problem.amounts
    holds = np.where(problem.spread[:, None], 1.0, np.inf) * np.ones(problem.holds.shape)
    for r, resource in enumerate(problem.resources):
        need, there = amounts.demand[:, r], amounts.capacity[:, r]
        takes = np.flatnonzero(need)
        if resource in devices:
            fit = _in_pieces(need[takes], there, amounts.parts[r])
        else:
            fit = there[None, :] // need[takes, None]
        holds[takes] = np.minimum(holds[takes], fit.astype(np.float64))
    return replace(problem, holds=holds, usable=problem.eligible & (holds >= 1), whole=True)


def _in_pieces(demand: Whole, capacity: Whole, piece: int) -> Whole:
    """(J, C) tasks that a machine's pieces hold: part of one each, or whole ones."""
    one = np.full(len(demand), piece, dtype=object)
    on_one = np.maximum(one // demand, 1)
    pieces = capacity // piece * piece
    holds: Whole = pieces[None, :] // np.maximum(demand, piece)[:, None] * on_one[:, None]
    return holds


def guarantee(
    time: int, cluster: Cluster, jobs: Sequence[Job], policy: str | Policy = "tsf"
) -> GuaranteesChanged:
    """The event that tells the core what is guaranteed to these jobs on these machines."""
    if not cluster.machines or not jobs:
        return GuaranteesChanged(time)
    exact = exact_shares(cluster, jobs, policy)
    return GuaranteesChanged(time, by_name(exact.problem.job_names, rounded_down(exact.tasks)))


def advise(
    time: int, cluster: Cluster, jobs: Sequence[Job], policy: str | Policy = "tsf"
) -> AdviceChanged:
    """The event that tells the core what the exact allocation of these jobs on these machines
    says. Jobs that can run nowhere are left out."""
    if not cluster.machines or not jobs:
        return AdviceChanged(time, ())
    return advice_of(time, exact_shares(cluster, jobs, policy))


def advice_of(time: int, exact: Filled) -> AdviceChanged:
    """The event for an exact filling, jobs and classes in the order of its problem."""
    problem, found = exact.problem, ranks(exact)
    return AdviceChanged(
        time,
        tuple(
            Advice(
                problem.job_names[j],
                problem.class_machines[c],
                int(found.rank[j, c]),
                int(found.target[j, c]),
            )
            for j, c in zip(*np.nonzero(found.rank >= 0), strict=True)
        ),
    )
