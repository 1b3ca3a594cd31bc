"""The exact shares by the scale of the online core: what a job could run alone, in whole tasks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairlead.model.check import with_implied_tenants
from fairlead.model.errors import InputError, Mistake
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.sharing.compile import compile_problem
from fairlead.sharing.filling.fill import fill
from fairlead.sharing.filling.rounds import Filling
from fairlead.sharing.mechanism import Mechanism
from fairlead.sharing.policy import Policy, View
from fairlead.sharing.pools import tenant_weights
from fairlead.sharing.problem import Floats, Problem
from fairlead.sharing.registry import parse
from fairlead.sharing.views import pooled

# Relative: 0.3 / 0.1 is less than 3 in doubles. Amounts that people write have fewer digits.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Exact:
    """The exact filling of a problem whose jobs may use the machines that hold a whole task.

    The tasks that are placed are divisible; `scale` (J,) counts whole ones, and so does `weight`
    (T,) where a pool says it.
    """

    problem: Problem
    scale: Floats
    weight: Floats
    filling: Filling


def exact_shares(cluster: Cluster, jobs: Sequence[Job], policy: str | Policy) -> Exact:
    """The exact shares by the scale that the online core orders by, on the real machines.

    The input is valid, but for lists of machines, which may name some that are gone: it is the
    present state of a run. Refuses a policy that has no such scale.
    """
    rule = scaled(policy)
    jobs = tuple(jobs)
    cluster = with_implied_tenants(cluster, jobs)
    return fill_by_whole(compile_problem(cluster, jobs), rule, cluster.devices)


def scaled(policy: str | Policy) -> Policy:
    """The policy that is meant. Refuses what has no one scale for all machines."""
    rule = parse(policy) if isinstance(policy, str) else policy
    if isinstance(rule, Mechanism) or rule.view is View.EACH_MACHINE:
        raise InputError(
            Mistake(
                f"`{rule.spec}` has no one scale for all machines, so no run can be led by it",
                "choose a policy such as tsf or drf",
            )
        )
    return rule


def fill_by_whole(problem: Problem, policy: Policy, devices: Collection[str] = ()) -> Exact:
    """The exact filling of the problem by the policy's scale in whole tasks. A policy that looks
    at one machine that holds everything gives its scale, and the real machines are filled.

    `devices` are resources that come in pieces of 1, as in `Cluster`.
    """
    whole = in_whole_tasks(problem, devices)
    scale = policy.scale(pooled(whole) if policy.view is View.POOLED else whole)
    weight = tenant_weights(whole, scale).weight
    # What fits on a machine stays divisible, and only there is a number of tasks known to bind.
    divisible = replace(problem, usable=whole.usable)
    return Exact(divisible, scale, weight, fill(divisible, scale, weight))


def in_whole_tasks(problem: Problem, devices: Collection[str] = ()) -> Problem:
    """The problem with `holds` in whole tasks; a job may use what holds one of them."""
    holds = np.floor(problem.holds * (1 + ROUNDING))
    for r, resource in enumerate(problem.resources):
        if resource in devices:
            holds = np.minimum(holds, _in_pieces(problem.demand[:, r], problem.capacity[:, r]))
    return replace(problem, holds=holds, usable=problem.eligible & (holds >= 1), whole=True)


def _in_pieces(demand: Floats, capacity: Floats) -> Floats:
    """(J, C) tasks that a machine's pieces hold: part of one each, or whole ones."""
    takes = demand > 0
    need = np.where(takes, demand, 1.0)
    on_one = np.floor(np.maximum(1.0 / need, 1.0) * (1 + ROUNDING))
    pieces = np.floor(capacity * (1 + ROUNDING))
    fit = np.floor(pieces[None, :] / np.maximum(need, 1.0)[:, None] * (1 + ROUNDING))
    holds: Floats = np.where(takes[:, None], fit * on_one[:, None], np.inf)
    return holds
