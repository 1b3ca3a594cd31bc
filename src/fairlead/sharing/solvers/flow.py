"""All levels of many groups that need one resource: divide and conquer by minimum cuts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from fairlead.sharing.problem import Bools, Floats, Ints
from fairlead.sharing.rise import Rise, Risen
from fairlead.sharing.solvers.exact import exact
from fairlead.sharing.solvers.scaled import Program

# SciPy's flows are 32-bit integers.
_LARGEST = 2**31 - 2
# So many classes for each group are tried before all that it can use.
_FEW = 8


@dataclass(frozen=True)
class Piece:
    """Groups that use up these classes and stop there together."""

    groups: Ints
    classes: Ints
    risen: Risen


def divide(problem: Rise) -> list[Piece] | None:
    """The pieces from the lowest level up, each exact; groups of a piece can use, outside it,
    classes of earlier pieces only, which proves that no level could be higher. None where
    integers are too coarse to find them. Everyone rises and `use` has one column."""
    weight = problem.use[:, 0] * problem.rate
    capacity = problem.capacity[:, 0]
    pieces: list[Piece] = []
    waiting = [(np.arange(len(weight)), np.flatnonzero(problem.pairs.any(axis=0)))]
    while waiting:
        groups, classes = waiting.pop()
        inside = np.ix_(groups, classes)
        pairs = problem.pairs[inside]
        demand = weight[groups] * (capacity[classes].sum() / weight[groups].sum())
        flow, low = _flow(demand, pairs, capacity[classes])
        if low is None:
            risen = _exact(problem, groups, classes, flow / weight[groups, None])
            if risen is None:
                return None
            pieces.append(Piece(groups, classes, risen))
            continue
        low_groups, low_classes = low
        waiting.append((groups[~low_groups], classes[~low_classes]))
        waiting.append((groups[low_groups], classes[low_classes]))
    return pieces if _ascending(problem, pieces) else None


def _ascending(problem: Rise, pieces: list[Piece]) -> bool:
    levels = np.array([piece.risen.level for piece in pieces])
    of_class = np.full(len(problem.capacity), -1)
    for number, piece in enumerate(pieces):
        of_class[piece.classes] = number
    used = all(
        of_class[problem.pairs[piece.groups].any(axis=0)].max() <= number
        for number, piece in enumerate(pieces)
    )
    return used and bool((np.diff(levels) >= 0).all())


def _flow(
    demand: Floats, pairs: Bools, capacity: Floats
) -> tuple[Floats, tuple[Bools, Bools] | None]:
    """What each group has of each class if all demands can be met, else who is in the way: groups
    that together want more than the classes that they can use, and those classes."""
    if pairs.shape[1] == 1:
        return demand[:, None], None
    scale = _LARGEST / max(float(capacity.sum()), float(demand.sum())) / 2
    # Rounded so that what can be met exactly can be met in integers too.
    wanted = np.floor(demand * scale).astype(np.int64)
    there = np.ceil(capacity * scale).astype(np.int64)
    if pairs.sum() > 2 * _FEW * len(demand):
        some = _some(pairs)
        flow = _maximum(wanted, some, there)
        if flow.sum() == wanted.sum():
            return flow / scale, None
    flow = _maximum(wanted, pairs, there)
    if flow.sum() == wanted.sum():
        return flow / scale, None
    reached = flow.sum(axis=1) < wanted
    classes = np.zeros(len(there), dtype=np.bool_)
    while True:
        more = pairs[reached].any(axis=0)
        if (more == classes).all():
            return flow / scale, (reached, classes)
        classes = more
        reached = reached | (flow[:, classes] > 0).any(axis=1)


def _some(pairs: Bools) -> Bools:
    """A few pairs of each group, evenly over all classes: its n-th ones, a different n each."""
    rank = np.cumsum(pairs, axis=1) - 1
    number = pairs.sum(axis=1, keepdims=True)
    step = np.maximum(number // _FEW, 1)
    shift = np.arange(len(pairs))[:, None]
    chosen: Bools = pairs & ((rank + shift) % step == 0)
    return chosen


def _maximum(wanted: Ints, pairs: Bools, there: Ints) -> Ints:
    """(groups, classes) a maximum flow."""
    groups, classes = pairs.shape
    row, column = np.nonzero(pairs)
    # Nodes: the source, groups, classes, the sink; edges in order of their tails.
    sink = groups + classes + 1
    heads = np.concatenate(
        [np.arange(1, groups + 1), column + groups + 1, np.full(classes, sink)]
    ).astype(np.int32)
    most = np.concatenate([wanted, np.minimum(wanted[row], there[column]), there])
    degree = np.concatenate([[groups], pairs.sum(axis=1), np.ones(classes, dtype=int), [0]])
    starts = np.concatenate([[0], degree.cumsum()]).astype(np.int32)
    graph = csr_array((most.astype(np.int32), heads, starts), shape=(sink + 1, sink + 1))
    found = maximum_flow(graph, 0, sink).flow
    block = found[1 : groups + 1, groups + 1 : sink]
    flow = np.zeros(pairs.shape, dtype=np.int64)
    tail, head = block.nonzero()
    flow[tail, head] = np.maximum(block.data[block.data != 0], 0)
    return flow


def _exact(problem: Rise, groups: Ints, classes: Ints, share: Floats) -> Risen | None:
    """The piece with its level to the last digit: all that it has by all that it weighs."""
    part = Rise(
        use=problem.use[groups],
        pairs=problem.pairs[np.ix_(groups, classes)],
        capacity=problem.capacity[classes],
        most_on=problem.most_on[np.ix_(groups, classes)],
        base=problem.base[groups],
        rate=problem.rate[groups],
    )
    program = Program(part)
    level = float(part.capacity.sum() / (part.use[:, 0] @ part.rate)) / program.level_unit
    z = share * part.rate[:, None] / program.unit[:, None]
    price = part.capacity / part.capacity.sum() * program.number * level
    group = program.cost(price)[:, 0]
    tight = np.ones(price.shape, dtype=np.bool_)
    return exact(program, z, price, group, level, part.pairs & (z > 0), tight)
