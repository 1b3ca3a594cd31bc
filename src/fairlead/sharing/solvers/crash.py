"""A simplex that knows nothing yet starts here: everyone in one place, where there is room."""

from __future__ import annotations

import numpy as np

from fairlead.sharing.problem.problem import Floats
from fairlead.sharing.solvers.step import Basis, StepProblem, largest

# Groups find their places in so many turns at most, unless there are few in each.
_AT_LEAST = 4


def crash(problem: StepProblem, unit: Floats, turns: int) -> Basis:
    """Everyone on the one of its classes that is the least full then, those with the largest
    shares first: right at the level 0, and saves most of the pivots on the way up."""
    group, machine_class = problem.places
    there = np.where(problem.capacity > 0, problem.capacity, np.inf)
    takes = (problem.use * unit[:, None]).take(group, axis=0) / there.take(machine_class, axis=0)
    least = np.minimum.reduceat(largest(takes), problem.first)
    turn = np.empty(len(unit), dtype=np.int64)
    turn[np.argsort(-least, kind="stable")] = np.arange(len(unit))
    order = np.argsort(turn[group], kind="stable")
    group, machine_class, takes = group[order], machine_class[order], takes.take(order, axis=0)
    first = np.searchsorted(turn[group], np.arange(len(unit) + 1))
    load = np.zeros(problem.capacity.shape)
    found = []
    some = max(_AT_LEAST, -(-len(unit) // turns))
    for start in range(0, len(unit), some):
        heads = first[start : start + some + 1]
        begin, end = heads[[0, -1]].tolist()
        at, more = machine_class[begin:end], takes[begin:end]
        full = largest(load.take(at, axis=0) + more)
        least = np.minimum.reduceat(full, heads[:-1] - begin).repeat(heads[1:] - heads[:-1])
        # The first, where several are as good; what is no number is some place, too.
        (chosen,) = (~(full > least)).nonzero()
        chosen = chosen[chosen.searchsorted(heads[:-1] - begin)]
        np.add.at(load, at[chosen], more[chosen])
        found.append(chosen + begin)
    pairs = np.zeros(problem.pairs.shape, dtype=np.bool_)
    basic = np.concatenate(found)
    pairs[group[basic], machine_class[basic]] = True
    return Basis(pairs, np.ones(problem.capacity.shape, dtype=np.bool_))
