"""Rivals of a job: jobs that could use a machine that it could use, and that come first."""

from __future__ import annotations

import numpy as np

from fairlead.scheduling.kernels.memory.state import State
from fairlead.scheduling.state.distinct_rows import alike
from fairlead.scheduling.why.never import counts
from fairlead.sharing.problem.problem import Bools, Ints


def could_use(state: State, jobs: Ints, machines: Ints) -> Bools:
    """Of the jobs in these slots, which could run a task on one of the machines in those, were it
    empty. Jobs that need the same, and machines that are alike, are looked at once."""
    if not len(jobs) or not len(machines):
        return np.zeros(len(jobs), bool)
    offer = (state.satisfies[machines].view(np.int64), state.capacity[machines])
    examples = machines[alike(np.hstack(offer))[0]]
    satisfies = state.satisfies[examples]
    needs, demand = state.needs[jobs], state.demand[jobs]
    kinds, kind = alike(np.hstack((needs.view(np.int64), demand)))
    large: dict[bytes, Bools] = {}
    able = np.zeros(len(kinds), bool)
    for number, at in enumerate(kinds.tolist()):
        key = demand[at].tobytes()
        if key not in large:
            large[key] = counts(state, examples, demand[at], empty=True).min(axis=1) > 0
        allowed = ((satisfies & needs[at]) == needs[at]).all(axis=1)
        able[number] = bool((allowed & large[key]).any())
    found: Bools = able[kind]
    return found
