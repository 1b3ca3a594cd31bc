"""The pairs of job and class that some exact placement uses, and prices that rule out the rest."""

from __future__ import annotations

import numpy as np

from fairlead.sharing.problem.problem import Bools, Floats, Ints, Problem
from fairlead.sharing.solvers.linear import INFINITY, Program

# A pair that no placement uses costs at least 1, every other 0: what is between is rounding.
_HALF = 0.5


def support(problem: Problem, tasks: Floats, pairs: Bools) -> Floats:
    """(J, C) the reduced cost of each of these pairs, by prices under which a pair costs nothing
    exactly if some placement uses it that gives every job as many tasks as `tasks` (J, C) does,
    on these pairs alone; 0 for all other pairs.

    A cost is in parts of the job's tasks. One linear program: a placement grown by a factor of at
    least 1 in which as many pairs as possible have a part of at least 1.
    """
    cost = np.zeros(pairs.shape)
    each = tasks.sum(axis=1)
    kinds, kind = _kinds(problem, pairs, each)
    total = np.bincount(kind[kind >= 0], each[kind >= 0], minlength=len(kinds))
    first = np.array(kinds, dtype=np.int64)
    at_kind, at_class = np.nonzero(pairs[first])
    if not at_kind.size:
        return cost
    jobs, classes, resources = len(first), len(problem.count), len(problem.resources)
    capacity = (problem.capacity * problem.count[:, None]).ravel()
    scarce = capacity > 0
    row_of = np.full(capacity.shape, -1)
    row_of[scarce] = jobs + np.arange(int(scarce.sum()))
    spreads = np.flatnonzero(problem.spread[first[at_kind]])
    rows = jobs + int(scarce.sum()) + len(spreads)
    # Per pair: its job's row, its class's resources, and its own where the job spreads.
    entry_column = [np.arange(len(at_kind))]
    entry_row = [at_kind]
    entry = [np.ones(len(at_kind))]
    for r in range(resources):
        use = problem.demand[first[at_kind], r] * total[at_kind]
        column = np.flatnonzero(use > 0)
        cell = at_class[column] * resources + r
        entry_column.append(column)
        entry_row.append(row_of[cell])
        entry.append(use[column] / capacity[cell])
    members = np.bincount(kind[kind >= 0], minlength=jobs)
    room = problem.count[at_class[spreads]] * members[at_kind[spreads]]
    entry_column.append(spreads)
    entry_row.append(rows - len(spreads) + np.arange(len(spreads)))
    entry.append(total[at_kind[spreads]] / room)
    column, row = np.concatenate(entry_column), np.concatenate(entry_row)
    value = np.concatenate(entry)
    order = np.argsort(column, kind="stable")
    column, row, value = column[order], row[order], value[order]
    start = np.searchsorted(column, np.arange(len(at_kind)))
    # Each pair twice: its first part, up to 1, counts; what goes beyond does not.
    program = Program(np.where(np.arange(rows) < jobs, 1.0, -INFINITY), np.ones(rows))
    none = np.zeros(len(at_kind))
    program.add_columns(none - 1.0, none + 1.0, start, row, value)
    program.add_columns(none, np.full(len(at_kind), INFINITY), start, row, value)
    # By how much the factor is above 1: every right-hand side grows with it.
    grown = np.array([INFINITY])
    whole = np.arange(rows)
    program.add_columns(np.zeros(1), grown, np.zeros(1, dtype=np.int64), whole, -np.ones(rows))
    dual = program.solve().row_dual
    reduced = -np.add.reduceat(dual[row] * value, start)
    reduced = np.where(reduced > _HALF, reduced, 0.0)
    table = np.zeros((jobs, classes))
    table[at_kind, at_class] = reduced
    alive = kind >= 0
    cost[alive] = table[kind[alive]]
    return cost


def _kinds(problem: Problem, pairs: Bools, each: Floats) -> tuple[list[int], Ints]:
    """The first job of each kind and each job's kind: alike in demand and pairs; -1 for a job
    without tasks or pairs."""
    known: dict[tuple[bytes, bytes, bool], int] = {}
    kinds: list[int] = []
    kind = np.full(len(each), -1, dtype=np.int64)
    for j in np.flatnonzero((each > 0) & pairs.any(axis=1)):
        key = (problem.demand[j].tobytes(), pairs[j].tobytes(), bool(problem.spread[j]))
        if key not in known:
            known[key] = len(kinds)
            kinds.append(int(j))
        kind[j] = known[key]
    return kinds, kind
