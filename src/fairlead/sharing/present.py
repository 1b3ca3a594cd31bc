"""The exact divisible allocation of the jobs that are present at one moment, live or in a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import fmpq

from fairlead.sharing.filling.fill import fill
from fairlead.sharing.filling.rounds import Filling
from fairlead.sharing.numbers.amounts import nearest, quotients
from fairlead.sharing.problem.problem import (
    Bools,
    Floats,
    Ints,
    Limit,
    Problem,
    Tree,
    tasks_that_fit,
)

Words = npt.NDArray[np.uint64]
"""Bits, as in a `JobBatch`."""


@dataclass(frozen=True)
class Tenants:
    """Whom shares are accounted to, in the order of the workload: a parent before its children.

    `weight` of a tenant with a pool is the weight that the run gives it. `limit` is in units, -1
    where there is none.
    """

    parent: Ints  # (T,) -1 at the top
    weight: Floats  # (T,)
    limit: Ints | None = None  # (T, R)


@dataclass(frozen=True)
class Snapshot:
    """A moment of a run: the machines that are there and the jobs with tasks that wait or are
    held. Amounts are in units of each resource, bits as in a `JobBatch`.

    `job` tells the jobs apart from one snapshot to the next; `tenant` indexes the tenants, -1
    where a job is its own; `scale` is the run's own, 0 for a job that can run nowhere.
    """

    time: int  # microseconds
    capacity: Ints  # (M, R)
    satisfies: Words  # (M, W) the terms that each machine satisfies
    job: Ints  # (J,)
    tenant: Ints  # (J,)
    demand: Ints  # (J, R)
    needs: Words  # (J, W)
    spread: Bools  # (J,)
    waiting: Ints  # (J,)
    held: Ints  # (J,)
    scale: Floats  # (J,)
    gang: Ints | None = None  # (J,) so many tasks start together
    piece: Ints | None = None  # (R,) the units in a piece of a device, 0 where it is none


@dataclass(frozen=True)
class Filled:
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


@dataclass(frozen=True)
class Exact:
    """Tasks of each job on each class of machines: machines that no present job can tell apart.

    `filled` is what was solved, with its rounds and prices: its jobs are groups of alike jobs.
    """

    tasks: Floats  # (J, C)
    total: Floats  # (J,) the tasks of each job
    whole: Ints  # (J,) the same rounded down, exactly
    never: Bools  # (J,) what waits of it can never start, so it is no demand
    machine_class: Ints  # (M,)
    filled: Filled
    group: Ints  # (J,) the job of `filled` that stands for each job
    members: Floats  # (G,) for how many jobs it stands


def exact_now(now: Snapshot, tenants: Tenants) -> Exact:
    """The exact filling of the present machines by the present tasks, on the run's own scales.

    Tasks are divisible and devices are not cut into pieces, but a job gets nothing on a machine
    that holds no whole task of it, and no more than its present tasks; of tasks that can never
    start, as long as machines and limits stay, nothing.
    """
    classes = classes_of(now.capacity, now.satisfies, now.demand, now.needs)
    never, none = _never(now, tenants, classes)
    waiting, held = np.where(never, 0, now.waiting), np.where(none, 0, now.held)
    now = replace(now, waiting=waiting, held=held)
    groups = _groups(now, tenants, classes)
    first, members = groups.first, groups.members
    tasks = (now.waiting + now.held)[first].astype(np.float64) * members
    demand = now.demand[first].astype(np.float64)
    holds = tasks_that_fit(demand, classes.capacity, groups.spread)
    usable = groups.usable
    resources = now.demand.shape[1]
    tree = Tree(
        names=tuple(str(node) for node in range(len(groups.parent))),
        parent=groups.parent,
        weight=groups.weight,
        pool_count=np.zeros((len(groups.parent), len(classes.count)), dtype=np.int64),
        job_tenant=groups.node,
        limits=groups.limits,
    )
    problem = Problem(
        resources=tuple(str(r) for r in range(resources)),
        job_names=tuple(str(group) for group in range(len(first))),
        class_machines=tuple(() for _ in classes.count),
        demand=demand,
        tasks=tasks,
        spread=groups.spread,
        capacity=classes.capacity,
        count=classes.count,
        eligible=usable,
        holds=np.where(usable, holds, 0.0),
        usable=usable,
        tree=tree,
    )
    scale = now.scale[first]
    exact_scale = quotients(scale)
    filling = fill(problem, exact_scale, groups.exact_weight)
    filled = Filled(problem, scale, filling, exact_scale)
    each = [tasks / int(number) for tasks, number in zip(filled.tasks, members, strict=True)]
    return Exact(
        tasks=(filling.tasks / members[:, None])[groups.of_job],
        total=np.array([nearest(tasks) for tasks in each])[groups.of_job],
        whole=rounded_down(each)[groups.of_job],
        never=never,
        machine_class=classes.of_machine,
        filled=filled,
        group=groups.of_job,
        members=members,
    )


@dataclass(frozen=True)
class Classes:
    """Machines that no job can tell apart, in the order of their first machines."""

    of_machine: Ints  # (M,)
    capacity: Floats  # (C, R)
    count: Ints  # (C,)
    need: Ints  # (J,) which of the distinct sets of needed terms each job has
    allowed: Bools  # (N, C) by set of needed terms


def _distinct(*columns: Words | Ints | Floats) -> tuple[Ints, Ints]:
    """The first place of each distinct row of these columns side by side, and for each row which
    of those it equals."""
    rows = np.ascontiguousarray(
        np.hstack([np.ascontiguousarray(column).view(np.uint64) for column in columns])
    )
    if rows.shape[1] == 0:
        some = min(1, len(rows))
        return np.arange(some), np.zeros(len(rows), dtype=np.int64)
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, which = np.unique(whole, return_index=True, return_inverse=True)
    order = np.argsort(first)  # by where each stands first: bytes in memory are no order
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return first[order].astype(np.int64), place[which]


def classes_of(capacity: Ints, satisfies: Words, demand: Ints, needs: Words) -> Classes:
    """Machines that no present job can tell apart: the same amounts of what is demanded, open to
    the same sets of needed terms."""
    distinct, need = _distinct(needs)
    needs = needs[distinct]
    demanded = (demand > 0).any(axis=0)
    asked = np.bitwise_or.reduce(needs, axis=0)
    kind, of_kind = _distinct(np.where(demanded, capacity, 0), satisfies & asked)
    missing = needs[:, None, :] & ~satisfies[kind][None, :, :]
    allowed = ~(missing != 0).any(axis=2)
    # Kinds that differ in terms that decide nothing are one class.
    packed = np.packbits(allowed, axis=0).T
    wide = np.zeros((len(kind), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    wide[:, : packed.shape[1]] = packed
    chosen, of_class = _distinct(np.where(demanded, capacity[kind], 0), wide.view(np.uint64))
    of_machine = of_class[of_kind]
    return Classes(
        of_machine=of_machine,
        capacity=np.maximum(capacity[kind[chosen]], 0).astype(np.float64),
        count=np.bincount(of_machine, minlength=len(chosen)).astype(np.int64),
        need=need,
        allowed=allowed[:, chosen],
    )


@dataclass(frozen=True)
class _Groups:
    """Jobs that are alike in all that counts: one job of as many tasks, with as much weight."""

    of_job: Ints  # (J,)
    first: Ints  # (G,) a job of the group
    members: Floats  # (G,)
    spread: Bools  # (G,) where one task a machine may bind
    usable: Bools  # (G, C)
    node: Ints  # (G,) of the tree: the tenants, and below them what the groups hang on
    parent: Ints
    weight: Floats
    exact_weight: Sequence[Any]
    limits: tuple[Limit, ...]


def _groups(now: Snapshot, tenants: Tenants, classes: Classes) -> _Groups:
    """Groups of k alike jobs, with k times the weight of one: they freeze together anyway.

    A job that is all that an unlimited tenant at the top has may be alike others of such tenants.
    """
    nodes = len(tenants.parent)
    tasks = now.waiting + now.held
    usable = _usable(now, classes) & (tasks > 0)[:, None]
    fewest = np.where(usable, classes.count, np.iinfo(np.int64).max).min(axis=1, initial=1 << 62)
    spread = now.spread & (tasks > fewest)
    _, of_kind = _distinct(
        now.demand,
        classes.need[:, None],
        now.scale.astype(np.float64)[:, None],
        tasks[:, None],
        # Where one task a machine binds, it binds each job by itself.
        np.where(spread, np.arange(len(tasks)), -1)[:, None],
    )
    lone = _lone(now.tenant, tenants)
    own = np.ones(len(tasks))
    own[now.tenant >= 0] = tenants.weight[now.tenant[now.tenant >= 0]]
    first, of_job = _distinct(
        of_kind[:, None],
        np.where(lone, -1, now.tenant)[:, None],
        np.where(lone, own, 0.0)[:, None],
    )
    members = np.bincount(of_job, minlength=len(first)).astype(np.float64)
    # Where nobody hangs on a tenant's node, none is needed.
    bare = bool(lone.all())
    tops = 0 if bare else nodes
    limits: list[Limit] = []
    if tenants.limit is not None and not bare:
        limits = [
            Limit(int(t), int(r), float(tenants.limit[t, r]))
            for t, r in np.argwhere(tenants.limit >= 0)
        ]
    above = np.where(lone, -1, now.tenant)[first]
    each = np.where(lone, own, 1.0)[first]
    exact = zip(quotients(each), members.tolist(), strict=True)
    return _Groups(
        of_job=of_job,
        first=first,
        members=members,
        spread=spread[first],
        usable=usable[first],
        node=tops + np.arange(len(first)),
        parent=np.concatenate([tenants.parent[:tops], above]).astype(np.int64),
        weight=np.concatenate([tenants.weight[:tops], members * each]),
        exact_weight=[*quotients(tenants.weight[:tops]), *(one * int(many) for one, many in exact)],
        limits=tuple(limits),
    )


def _usable(now: Snapshot, classes: Classes) -> Bools:
    """(J, C) whether a job may use a class, and a machine of it holds a whole task."""
    usable: Bools = _holds_whole(now.demand, classes.capacity) & classes.allowed[classes.need]
    return usable


def _never(now: Snapshot, tenants: Tenants, classes: Classes) -> tuple[Bools, Bools]:
    """(J,) whether what waits of a job can never start: no machine holds a task, or not all that
    start together, or a limit is below that; and whether not even one task could ever run. The
    same of an input: `fairlead.model.never`."""
    usable = _usable(now, classes)
    none: Bools = ~usable.max(axis=1, initial=False)
    limits = tenants.limit, tenants.parent, now.tenant, now.demand
    none |= over_limit(*limits, np.ones(len(none), np.int64))
    if now.gang is None:
        return none, none
    size = np.where(now.waiting >= now.gang, now.gang, 1)
    never: Bools = none | over_limit(*limits, size)
    for j in np.flatnonzero(~never & (size > 1)).tolist():
        able = np.flatnonzero(usable[j])
        fit = _whole_tasks(now.demand[j], classes.capacity[able].astype(np.int64), now.piece)
        fit = np.minimum(fit, 1) if now.spread[j] else np.minimum(fit, size[j])
        never[j] = fit @ classes.count[able] < size[j]
    return never, none


def over_limit(limit: Ints | None, parent: Ints, tenant: Ints, demand: Ints, size: Ints) -> Bools:
    """(J,) whether so many tasks of each job are more than its tenant, or one above, may hold: at
    most `limit` (T, R), -1 where there is none."""
    over = np.zeros(len(size), np.bool_)
    if limit is None:
        return over
    above = tenant.astype(np.int64)
    while (at := np.flatnonzero(above >= 0)).size:
        most, need = limit[above[at]], demand[at]
        fits = most // np.maximum(need, 1) >= size[at, None]
        over[at] |= ((most >= 0) & (need > 0) & ~fits).any(axis=1)
        above[at] = parent[above[at]]
    return over


def _whole_tasks(demand: Ints, capacity: Ints, piece: Ints | None) -> Ints:
    """(C,) how many tasks with this demand a machine of each capacity holds; devices are taken in
    whole ones, or in a part of one."""
    most = np.full(len(capacity), np.iinfo(np.int64).max)
    for r in np.flatnonzero(demand).tolist():
        need, unit = int(demand[r]), 0 if piece is None else int(piece[r])
        fit = capacity[:, r] // need
        if unit and need <= unit:
            fit = capacity[:, r] // unit * (unit // need)
        most = np.minimum(most, fit)
    return most


def _holds_whole(demand: Ints, capacity: Floats) -> Bools:
    """(J, C) whether a machine of the class holds a whole task."""
    distinct, which = _distinct(demand)
    fits: Bools = np.all(demand[distinct][:, None, :] <= capacity[None, :, :], axis=2)
    return fits[which]


def _lone(tenant: Ints, tenants: Tenants) -> Bools:
    """(J,) whether a job rises at a rate that is its tenant's and nobody else's: it has no tenant,
    or is all that an unlimited tenant at the top has."""
    nodes = len(tenants.parent)
    lone: Bools = tenant < 0
    if nodes:
        jobs = np.bincount(tenant[tenant >= 0], minlength=nodes)
        children = np.bincount(tenants.parent[tenants.parent >= 0], minlength=nodes)
        bound = (jobs > 1) | (children > 0) | (tenants.parent >= 0)
        if tenants.limit is not None:
            bound |= (tenants.limit >= 0).any(axis=1)
        lone = ~np.isin(tenant, np.flatnonzero(bound))
    return lone
