"""PS-DSF: per-server dominant-share fairness, max-min fair from the view of every machine."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairlead.model.errors import SolverError
from fairlead.sharing.filling.rates import rates
from fairlead.sharing.mechanisms.levelling import NONE, level
from fairlead.sharing.mechanisms.weights import jobs_capped, runnable
from fairlead.sharing.problem.problem import Bools, Floats, Ints, Problem
from fairlead.sharing.rules.mechanism import Outcome
from fairlead.sharing.rules.registry import mechanism

TOLERANCE = 1e-9
"""The largest distance from the definition that is let through."""
ACCURATE = 1e-13
SWEEPS = 3000
FIRST = 4  # sweeps after which the binding conditions are solved whatever still moves
SETTLED = 1e-8  # a move below this, relative, may be the last
PACE = 3  # sweeps between two leaps ahead
LARGEST_SYSTEM = 1500


@mechanism("ps-dsf")
def ps_dsf(problem: Problem, weight: Floats) -> Outcome:
    """Shares that are fair from the view of every machine (Khamse-Ashari and others, 2017).

    Per-server dominant-share fairness, by Khamse-Ashari, Lambadaris, Kesidis, Urgaonkar and Zhao.
    From the view of a machine, a job's virtual share is all its tasks, wherever they run, over
    its effective weight and the tasks that it could run alone on that machine. The allocation is
    fair from every view: on every machine that it may use, a job that has tasks left has a
    bottleneck, a resource that is used up and of which no job with a larger virtual share holds
    any. A limit is shared like a machine through which all the tasks below it pass. Every machine
    levels the virtual shares in turn, given what the others give, until nothing moves.
    SolverError with the gap where the definition is missed by more than TOLERANCE.
    """
    cluster = _cluster(problem, weight)
    state = _State(
        np.zeros(problem.usable.shape),
        np.full(len(cluster.capped), np.inf),
        np.full(problem.usable.shape, NONE),
    )
    best, gap = state.tasks, _distance(cluster, state.tasks)
    before, tried = np.zeros_like(best), np.inf
    for sweep in range(1, SWEEPS + 1):
        if gap <= ACCURATE:
            break
        last, state = state.tasks, _swept(cluster, state)
        move = state.tasks - last
        size = float(np.abs(move).max(initial=0.0))
        # Sweeping costs less than looking, and looking less than solving.
        settled = size <= SETTLED * float(state.tasks.max())
        candidates = [state] if sweep <= FIRST or settled else []
        if sweep <= FIRST or size < tried / 10:
            candidates += _solve(cluster, state)
            tried = size
        for candidate in candidates:
            found = _distance(cluster, candidate.tasks)
            if found < gap:
                best, gap = candidate.tasks, found
        if sweep % PACE == 0:
            state = replace(state, tasks=_ahead(state.tasks, move, before))
        before = move
    if not gap <= TOLERANCE:
        raise SolverError(f"no PS-DSF allocation was found in {SWEEPS} sweeps: gap {gap:.3g}")
    return Outcome(best)


@dataclass(frozen=True)
class _Cluster:
    """The problem as the sweeps see it. `alone[j, c]` is the virtual share's unit: the effective
    weight times the tasks that one machine of the class holds, 0 where the job may not run."""

    problem: Problem
    order: tuple[int, ...]  # of the classes
    alone: Floats  # (J, C)
    capacity: Floats  # (C, R) of all machines of a class
    capped: tuple[Ints, ...]  # the jobs under each limit
    under_limit: tuple[Floats, ...]  # for each of them, the unit of its share of the limit


@dataclass(frozen=True)
class _State:
    """Tasks, the level of every limit, and what stopped each job on each class: a resource, its
    own end (no more tasks, the limit's level, one task on every machine) or nothing."""

    tasks: Floats
    limit_level: Floats
    stopped_by: Ints


def _cluster(problem: Problem, weight: Floats) -> _Cluster:
    present = runnable(problem, weight)
    share = rates(problem.tree, weight, present)
    capped = tuple(jobs[present[jobs]] for jobs in jobs_capped(problem))
    alone = np.where(problem.usable, problem.holds, 0.0) * share[:, None]
    return _Cluster(
        problem,
        _order(problem, alone),
        alone,
        problem.capacity * problem.count[:, None],
        capped,
        tuple(
            share[jobs] * limit.amount / problem.demand[jobs, limit.resource]
            for limit, jobs in zip(problem.tree.limits, capped, strict=True)
        ),
    )


def _order(problem: Problem, alone: Floats) -> tuple[int, ...]:
    """The classes in an order that names and the order of writing do not influence, unless the
    classes and their users are alike. It matters: there can be several PS-DSF allocations."""
    looks = np.column_stack(
        [problem.demand, problem.tasks, problem.spread, alone @ problem.count, alone.max(axis=1)]
    )
    kind = np.unique(looks, axis=0, return_inverse=True)[1].ravel()
    users = [sorted(kind[alone[:, c] > 0].tolist()) for c in range(len(problem.count))]
    return tuple(
        sorted(
            range(len(users)),
            key=lambda c: (problem.capacity[c].tolist(), int(problem.count[c]), users[c]),
        )
    )


def _swept(cluster: _Cluster, state: _State) -> _State:
    """Every class of machines levelled once, in order, then every limit."""
    problem = cluster.problem
    tasks, stopped = state.tasks.copy(), np.full(state.tasks.shape, NONE)
    most = problem.tasks.copy()
    for jobs, unit, at in zip(cluster.capped, cluster.under_limit, state.limit_level, strict=True):
        most[jobs] = np.minimum(most[jobs], at * unit)
    for c in cluster.order:
        users = np.flatnonzero(cluster.alone[:, c] > 0)
        elsewhere = tasks[users].sum(axis=1) - tasks[users, c]
        room = np.maximum(most[users] - elsewhere, 0.0)
        room = np.where(problem.spread[users], np.minimum(room, problem.count[c]), room)
        tasks[users, c], stopped[users, c] = level(
            problem.demand[users], cluster.capacity[c], cluster.alone[users, c], elsewhere, room
        )
    total = tasks.sum(axis=1)
    levels = state.limit_level.copy()
    for i, limit in enumerate(problem.tree.limits):
        jobs, unit = cluster.capped[i], cluster.under_limit[i]
        demand = problem.demand[jobs, limit.resource][:, None]
        # A job at the level of the limit may rise with it, the others keep what they have.
        at_level = total[jobs] >= levels[i] * unit * (1 - 1e-9)
        room = np.where(at_level, np.inf, total[jobs])
        held, _ = level(demand, np.array([limit.amount]), unit, np.zeros(len(jobs)), room)
        below = held < room
        levels[i] = float(np.max(held[below] / unit[below])) if below.any() else np.inf
    return _State(tasks, levels, stopped)


def _ahead(tasks: Floats, move: Floats, before: Floats) -> Floats:
    """The tasks to which it all leads if two sweeps moved them alike: to the sum of the geometric
    series, but not past the point where a job has left a machine. The next sweep mends the rest.
    """
    along = float((move * before).sum())
    lengths = float(np.sqrt((move * move).sum() * (before * before).sum()))
    if not along > 0.9 * lengths > 0:
        return tasks
    ratio = along / float((before * before).sum())
    series = ratio / (1 - ratio) if ratio < 1 else np.inf
    falls = move < -1e-12 * tasks.max()
    leap = min(series, float(np.min(-tasks[falls] / move[falls], initial=1e3)))
    ahead: Floats = np.maximum(tasks + leap * move, 0.0)
    return ahead


def _solve(cluster: _Cluster, state: _State) -> list[_State]:
    """The tasks that meet exactly the conditions that the state shows as binding, if any do.

    They are linear: whoever holds anything on a machine has the level of what stopped it there,
    and what stopped anybody is used up.
    """
    problem, tasks = cluster.problem, state.tasks
    held = tasks > 1e-7 * np.maximum(tasks.sum(axis=1), 1e-300)[:, None]
    job, c = np.nonzero(held)
    stop = state.stopped_by[job, c]
    levels = sorted({(int(k), int(r)) for k, r in zip(c, stop, strict=True) if r >= 0})
    unknown = len(job) + len(levels) + len(cluster.capped)
    if not 0 < unknown <= LARGEST_SYSTEM:
        return []
    at = {key: len(job) + i for i, key in enumerate(levels)}
    of_job = {j: np.flatnonzero(job == j) for j in np.unique(job)}
    equations: list[tuple[Ints, Floats, float]] = []

    def add(columns: Ints, values: Floats, right: float) -> None:
        equations.append((columns, values, right))

    for k in range(len(job)):
        j, at_class, why = int(job[k]), int(c[k]), int(stop[k])
        mine = of_job[j]
        if why >= 0:
            unit = cluster.alone[j, at_class]
            add(
                np.append(mine, at[at_class, why]),
                np.append(np.full(len(mine), 1 / unit), -1.0),
                0.0,
            )
        elif problem.spread[j] and tasks[j, at_class] >= problem.count[at_class] * (1 - 1e-9):
            add(np.array([k]), np.ones(1), float(problem.count[at_class]))
        elif tasks[j].sum() >= problem.tasks[j] * (1 - 1e-6):
            add(mine, np.full(len(mine), 1 / problem.tasks[j]), 1.0)
    for at_class, r in levels:
        there = np.flatnonzero(c == at_class)
        capacity = cluster.capacity[at_class, r]
        add(there, problem.demand[job[there], r] / capacity, 1.0)
    total = tasks.sum(axis=1)
    for i, limit in enumerate(problem.tree.limits):
        jobs, unit = cluster.capped[i], cluster.under_limit[i]
        if not np.isfinite(state.limit_level[i]):
            continue
        column = len(job) + len(levels) + i
        below = np.flatnonzero(np.isin(job, jobs))
        add(below, problem.demand[job[below], limit.resource] / limit.amount, 1.0)
        for j, one in zip(jobs, unit, strict=True):
            if j in of_job and total[j] >= state.limit_level[i] * one * (1 - 1e-6):
                mine = of_job[j]
                add(np.append(mine, column), np.append(np.full(len(mine), 1 / one), -1.0), 0.0)
    matrix = np.zeros((len(equations), unknown))
    right = np.array([value for _, _, value in equations])
    for row, (columns, values, _) in enumerate(equations):
        matrix[row, columns] = values
    start = np.zeros(unknown)
    start[: len(job)] = tasks[job, c]
    for key, column in at.items():
        here = (c == key[0]) & (stop == key[1])
        start[column] = np.mean(total[job[here]] / cluster.alone[job[here], key[0]])
    start[len(job) + len(levels) :] = np.where(
        np.isfinite(state.limit_level), state.limit_level, 0.0
    )
    # The nearest point that meets them, by the normal equations: a decomposition of the singular
    # values costs 30 times as much. The repeats bring back the digits that squaring loses.
    length = np.sqrt((matrix * matrix).sum(axis=1))
    matrix, right = matrix / length[:, None], right / length
    inverse = np.linalg.inv(matrix @ matrix.T + 1e-13 * np.eye(len(matrix)))
    for _ in range(4):
        start = start + matrix.T @ (inverse @ (right - matrix @ start))
    found = np.zeros_like(tasks)
    found[job, c] = np.maximum(start[: len(job)], 0.0)
    return [replace(state, tasks=found)]


def distance(problem: Problem, weight: Floats, tasks: Floats) -> float:
    """The distance of an allocation from the definition of PS-DSF: 0 if it is exact.

    The largest of: how much a capacity, limit, number of tasks or spread is exceeded, relative;
    and for each job and class where it may run, how far the nearest thing is from stopping it: the
    part that is left of its tasks or of its places where it spreads, or, for a resource there or a
    limit, the part that is left or the part that somebody with a larger virtual share holds
    (or how much larger that is, if less).
    """
    return _distance(_cluster(problem, weight), tasks)


def _distance(cluster: _Cluster, tasks: Floats) -> float:
    problem = cluster.problem
    total = tasks.sum(axis=1)
    finite = np.isfinite(problem.tasks)
    own = np.full(total.shape, np.inf)
    own[finite] = 1.0 - total[finite] / problem.tasks[finite]
    worst = float(max(0.0, np.max(-own, initial=0.0), np.max(-tasks, initial=0.0)))
    for i, limit in enumerate(problem.tree.limits):
        jobs, unit = cluster.capped[i], cluster.under_limit[i]
        if len(jobs):
            part = problem.demand[jobs, limit.resource] * total[jobs] / limit.amount
            worst = max(worst, float(part.sum()) - 1.0)
            own[jobs] = np.minimum(own[jobs], _unstopped(part, total[jobs] / unit))
    for c in range(tasks.shape[1]):
        users = np.flatnonzero(cluster.alone[:, c] > 0)
        away = own[users].copy()
        places = np.where(problem.spread[users], 1.0 - tasks[users, c] / problem.count[c], np.inf)
        worst = max(worst, float(np.max(-places, initial=0.0)))
        away = np.minimum(away, places)
        share = total[users] / cluster.alone[users, c]
        for r in range(problem.demand.shape[1]):
            needs: Bools = problem.demand[users, r] > 0
            if needs.any():
                part = problem.demand[users, r] * tasks[users, c] / cluster.capacity[c, r]
                worst = max(worst, float(part.sum()) - 1.0)
                away[needs] = np.minimum(away[needs], _unstopped(part[needs], share[needs]))
        worst = max(worst, float(np.max(away, initial=0.0)))
    return worst


def _unstopped(part: Floats, share: Floats) -> Floats:
    """The distance of each from being stopped by what all hold parts of, given their shares."""
    left = 1.0 - part.sum()
    # relative[n, m]: how much larger the share of m is than that of n
    largest = np.maximum(share[None, :], share[:, None])
    relative = np.divide(
        share[None, :] - share[:, None], largest, out=np.zeros_like(largest), where=largest > 0
    )
    wronged: Floats = np.maximum(left, np.minimum(part[None, :], relative).max(axis=1))
    return wronged
