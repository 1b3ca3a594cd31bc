"""Whole tasks that all are of one size are a flow: who gets how many, lexicographically max-min.

Divide and conquer (Groenevelt 1991, Two algorithms for maximizing a separable concave function over
a polymatroid feasible region): give out as many tasks as there is room for, least share first, as
if everybody could go everywhere; where a maximum flow cannot place them, the minimum cut says who
gets no more than what is on its side, and both sides are solved by themselves. Feasible numbers of
tasks are the integer points of a polymatroid, on which this is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heapreplace

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_flow

from fairlead.sharing.problem.problem import Bools, Floats, Ints

# The level is looked for by halving; what is left is given out one by one, exactly.
_HALVINGS = 50
# Relative: so far below the level, rounding errors do not matter.
_SAFE = 1e-9


@dataclass(frozen=True)
class _Part:
    """Jobs and classes that are solved by themselves. What the jobs have elsewhere is `given`."""

    jobs: Ints
    classes: Ints
    given: Ints  # (jobs,)
    room: Ints  # (classes,)


def whole_flow(most_on: Ints, unit: Sequence[Fraction], most: Ints, room: Ints) -> Ints:
    """(J, C) the whole tasks of each job on each class: their shares, tasks / `unit`, are
    lexicographically max-min, and of equal shares the one of the smaller unit, then the earlier
    job, gets its next task first.

    `most_on` (J, C): tasks that a job may have on a class, `most` (J,) in all; `room` (C,) tasks
    that a class holds. All together are below 2^30.
    """
    shape = most_on.shape
    taken = np.zeros(shape, np.int64)
    all_jobs, all_classes = np.arange(shape[0]), np.arange(shape[1])
    parts = [_Part(all_jobs, all_classes, np.zeros(shape[0], np.int64), room.astype(np.int64))]
    while parts:
        part = parts.pop()
        edges = np.minimum(most_on[np.ix_(part.jobs, part.classes)], part.room[None, :])
        reachable = int(part.room[edges.any(axis=0)].sum())
        left = np.minimum(edges.sum(axis=1), most[part.jobs] - part.given)
        own = [unit[j] for j in part.jobs]
        wanted = give_out(reachable, part.given, part.given + left, own) - part.given
        if not wanted.any():
            continue
        flow, cut, behind = _route(edges, wanted, part.room)
        if not cut.any():
            taken[np.ix_(part.jobs, part.classes)] += flow
            continue
        # Those in the cut fill the classes behind it, and all that they may have on the others.
        beyond = np.where(cut[:, None] & ~behind[None, :], edges, 0)
        taken[np.ix_(part.jobs, part.classes)] += beyond
        rest = part.room - beyond.sum(axis=0)
        has = part.given + beyond.sum(axis=1)
        for who, where in ((cut, behind), (~cut, ~behind)):
            if who.any() and where.any():
                parts.append(_Part(part.jobs[who], part.classes[where], has[who], rest[where]))
    return taken


def give_out(tasks: int, least: Ints, most: Ints, unit: Sequence[Fraction]) -> Ints:
    """(J,) how many tasks each has, at least `least` and at most `most`, when so many more are
    given out one by one to whoever has the least share."""
    tasks = min(tasks, int((most - least).sum()))
    size = np.array([float(each) for each in unit])
    low, high = 0.0, float(((most + 1) / size).max())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if int((_below(middle, least, most, size) - least).sum()) <= tasks:
            low = middle
        else:
            high = middle
    has = _below(low * (1 - _SAFE), least, most, size)
    left = tasks - int((has - least).sum())
    rising = np.flatnonzero(has < most).tolist()
    line = [(Fraction(int(has[j])) / unit[j], unit[j], j) for j in rising]
    heapify(line)
    for _ in range(left):
        share, own, j = line[0]
        has[j] += 1
        if has[j] < most[j]:
            heapreplace(line, (share + 1 / own, own, j))
        else:
            heappop(line)
    return has


def _below(level: float, least: Ints, most: Ints, size: Floats) -> Ints:
    """(J,) the tasks of each before which its share is below the level."""
    has: Ints = np.clip(np.ceil(level * size), least, most).astype(np.int64)
    return has


def _route(edges: Ints, wanted: Ints, room: Ints) -> tuple[Ints, Bools, Bools]:
    """The flow (J, C) of as many of these tasks as can be placed; and if not all can, the jobs and
    the classes on the source's side of a minimum cut."""
    jobs, classes = edges.shape
    source, sink = jobs + classes, jobs + classes + 1
    job, on = np.nonzero(edges)
    start = np.concatenate([np.full(jobs, source), job, jobs + np.arange(classes)])
    end = np.concatenate([np.arange(jobs), jobs + on, np.full(classes, sink)])
    capacity = np.concatenate([wanted, edges[job, on], room]).astype(np.int32)
    graph = csr_matrix((capacity, (start, end)), shape=(sink + 1, sink + 1))
    found = maximum_flow(graph, source, sink)
    flow = np.zeros(edges.shape, np.int64)
    flow[job, on] = np.asarray(found.flow[job, jobs + on]).ravel()
    cut: Bools = flow.sum(axis=1) < wanted
    behind = np.zeros(classes, dtype=np.bool_)
    if not cut.any():
        return flow, cut, behind
    spare = edges > flow
    while True:
        wider = np.asarray(spare[cut].any(axis=0))
        more = cut | (flow[:, wider] > 0).any(axis=1)
        if (more == cut).all() and (wider == behind).all():
            return flow, cut, behind
        cut, behind = more, wider
