"""One resource: Choosy's offline filling, level by level, with SciPy's maximum flow per step.

Users are sources of what a level gives them, classes of machines are sinks of what they have. Each
round starts from a level that is too high; a maximum flow that does not fill all users shows a cut,
the users in it can have at most what their classes have, and that is the next level to try.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from benchmarks.baselines.pairs import runnable
from fairlead.sharing.problem.problem import Bools, Floats, Problem

LARGEST = 2**30  # the whole flow, in units; SciPy counts in 32 bits


def max_flow(problem: Problem, scale: Floats, weight: Floats) -> Floats:
    """Each job's share divided by its weight. The problem has one resource that all demand."""
    if len(problem.resources) != 1:
        raise ValueError("a flow carries one resource only")
    rate = scale * weight * problem.demand[:, 0]  # resource for one unit of share
    room = problem.count * problem.capacity[:, 0]
    network = _Network(problem.usable, room)
    active = runnable(problem)
    held = np.zeros(len(rate))  # resource of those that are frozen
    levels = np.zeros(len(rate))
    while active.any():
        cut = runnable(problem)
        level = np.inf
        while True:
            reached = problem.usable[cut].any(axis=0)
            lower = (room[reached].sum() - held[cut & ~active].sum()) / rate[cut & active].sum()
            if not lower < level:
                break
            level = lower
            tighter = network.unfilled(np.where(active, level * rate, held))
            if not (tighter & active).any():
                break
            cut = tighter
        frozen = cut & active
        held[frozen] = level * rate[frozen]
        levels[frozen] = level
        active &= ~frozen
    return levels


class _Network:
    """Source -> users -> classes -> sink. Only the source's edges change from step to step."""

    def __init__(self, usable: Bools, room: Floats) -> None:
        self.jobs, classes = usable.shape
        self.source, self.sink = self.jobs + classes, self.jobs + classes + 1
        self.unit = LARGEST / room.sum()
        job, machine_class = np.nonzero(usable)
        self.start = np.concatenate(
            [np.full(self.jobs, self.source), job, self.jobs + np.arange(classes)]
        )
        self.end = np.concatenate(
            [np.arange(self.jobs), self.jobs + machine_class, np.full(classes, self.sink)]
        )
        # Rounded up where machines are and down where users want, so that what fits always fills.
        ends = np.ceil(room * self.unit)
        self.rest = np.concatenate([np.full(len(job), LARGEST), ends]).astype(np.int32)

    def unfilled(self, wanted: Floats) -> Bools:
        """The users on the source's side of a minimum cut; nobody if all get what they want."""
        amounts = np.minimum(np.floor(wanted * self.unit), LARGEST).astype(np.int32)
        nodes = self.sink + 1
        graph = sparse.csr_matrix(
            (np.concatenate([amounts, self.rest]), (self.start, self.end)), (nodes, nodes)
        )
        flow = maximum_flow(graph, self.source, self.sink, method="dinic")
        side = np.zeros(nodes, dtype=np.bool_)
        if flow.flow_value < amounts.sum(dtype=np.int64):
            residual = graph - flow.flow
            residual.data = np.maximum(residual.data, 0)
            residual.eliminate_zeros()
            side[breadth_first_order(residual, self.source, return_predecessors=False)] = True
        return side[: self.jobs]
