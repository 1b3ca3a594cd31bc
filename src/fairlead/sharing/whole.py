"""The exact shares by the scale of the online core: what a job could run alone, in whole tasks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from flint import fmpq

from fairlead.model.check import with_implied_tenants
from fairlead.model.errors import InputError, Mistake
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.sharing.filling.fill import fill
from fairlead.sharing.filling.pool_weights import tenant_weights
from fairlead.sharing.filling.rounds import Filling
from fairlead.sharing.numbers.amounts import Whole, nearest
from fairlead.sharing.policy import Policy, View
from fairlead.sharing.problem.compile import compile_problem
from fairlead.sharing.problem.problem import Floats, Ints, Problem
from fairlead.sharing.rules.mechanism import Mechanism
from fairlead.sharing.rules.registry import parse
from fairlead.sharing.rules.views import pooled


@dataclass(frozen=True)
class Exact:
    """The exact filling of a problem whose jobs may use the machines that hold a whole task.

    The tasks that are placed are divisible; `scale` (J,) counts whole ones. `exact_scale` (J,) is
    what was filled by.
    """

    problem: Problem
    scale: Floats
    filling: Filling
    exact_scale: Sequence[fmpq]

    @property
    def tasks(self) -> tuple[fmpq, ...]:
        """(J,) the tasks of each job."""
        pairs = zip(self.filling.share, self.exact_scale, strict=True)
        return tuple(share * scale for share, scale in pairs)


def rounded_down(tasks: Iterable[fmpq]) -> Ints:
    """Divisible tasks as whole ones."""
    return np.array([int(each.p // each.q) for each in tasks], np.int64)


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
    scale = policy.exact_scale(pooled(whole) if policy.view is View.POOLED else whole)
    weight = tenant_weights(whole, scale).exact
    # What fits on a machine stays divisible, and only there is a number of tasks known to bind.
    divisible = replace(problem, usable=whole.usable)
    doubles = np.array([nearest(each) for each in scale])
    return Exact(divisible, doubles, fill(divisible, scale, weight), scale)


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
