"""Guarantees of tenants: whole tasks of an exact allocation.

The exact allocation is divisible. A tenant holds parts of each class of machines by it, and is
guaranteed the whole tasks that its jobs together could be given of these parts: forty jobs with
four fifths of a task each have thirty-two, though each by itself has none.
"""

from __future__ import annotations

import numpy as np

from fairlead.sharing.numbers.amounts import nearest
from fairlead.sharing.present import Exact, Snapshot, rounded_down
from fairlead.sharing.problem.problem import Ints
from fairlead.sharing.whole_tasks.gangs import whole_gangs

CLOSE = 1e-9
"""Parts that lack less of a task than this hold it: they are sums of doubles."""


def guarantees_of(exact: Exact, now: Snapshot) -> Ints:
    """(J,) the whole tasks that are guaranteed to each job of the moment. Those of jobs that are
    alike are dealt out evenly; who holds more already comes first, so that nobody is stopped for
    somebody alike. A gang is guaranteed whole."""
    group = exact.group
    members = np.bincount(group, minlength=len(exact.members))
    whole = _of_groups(exact, now, members)
    each = whole // members
    order = np.lexsort((-now.held, group))
    first = np.cumsum(members) - members
    place = np.empty(len(group), np.int64)
    place[order] = np.arange(len(group)) - first[group[order]]
    guarantees: Ints = each[group] + (place < (whole - each * members)[group])
    if now.gang is not None:
        tasks = now.waiting + now.held
        for j in np.flatnonzero(now.gang > 1).tolist():
            guarantees[j] = whole_gangs(int(now.gang[j]), int(guarantees[j]), int(tasks[j]))
    return guarantees


def _of_groups(exact: Exact, now: Snapshot, members: Ints) -> Ints:
    """(G,) the whole tasks of each group of alike jobs.

    Each group has its own tasks rounded down. Of what is left of all parts of its tenant's, the
    groups that lack most of a task are served first."""
    problem, totals = exact.filled.problem, exact.filled.tasks
    tenant = np.full(len(members), -1)
    tenant[exact.group] = now.tenant
    alone = tenant < 0  # each job of the group stands for itself
    alone[exact.group[now.tenant != tenant[exact.group]]] = True
    most = np.zeros(len(members), np.int64)
    np.add.at(most, exact.group, now.waiting + now.held)
    spots = np.where(problem.usable, problem.count, 0).sum(axis=1) * members
    most = np.where(problem.spread, np.minimum(most, spots), most)
    shares = [tasks / int(many) for tasks, many in zip(totals, members, strict=True)]
    whole = np.where(alone, rounded_down(shares) * members, rounded_down(totals))
    lacks = np.array([nearest(tasks) for tasks in totals]) - whole
    open_ = ~alone & (lacks > 0) & (whole < most)
    for t in np.unique(tenant[open_]).tolist():
        groups = np.flatnonzero((tenant == t) & ~alone & (lacks > 0))
        part = lacks[groups] / (whole[groups] + lacks[groups])
        left = (exact.filled.filling.tasks[groups] * part[:, None]).T @ problem.demand[groups]
        order = groups[np.argsort(-lacks[groups], kind="stable")]
        for g in order[open_[order]].tolist():
            need = np.flatnonzero(problem.demand[g])
            for c in np.flatnonzero(problem.usable[g]).tolist():
                fits = np.floor(left[c, need] / problem.demand[g, need] + CLOSE).min()
                more = min(int(fits), int(most[g] - whole[g]))
                whole[g] += more
                left[c] -= more * problem.demand[g]
    return whole
