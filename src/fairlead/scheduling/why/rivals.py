"""Rivals of a job: jobs that could use a machine that it could use, and that come first."""

from __future__ import annotations

import numpy as np

from fairlead.scheduling.kernels.memory.state import Records, State
from fairlead.scheduling.kernels.memory.tables import UNLIMITED
from fairlead.scheduling.state.distinct_rows import alike
from fairlead.scheduling.state.rows import limits, machines_there
from fairlead.scheduling.why.never import counts, fit_together
from fairlead.sharing.problem.problem import Bools, Ints


def could_use(state: State, jobs: Ints, machines: Ints) -> Bools:
    """Of the jobs in these slots, which could run a task on one of the machines in those, were all
    empty. Whoever can never run, for its limit or its gang, could not. Jobs that need the same, and
    machines that are alike, are looked at once."""
    if not len(jobs) or not len(machines):
        return np.zeros(len(jobs), bool)
    every = machines_there(state)
    offer = (state.satisfies[every].view(np.int64), state.capacity[every])
    examples, of = alike(np.hstack(offer))
    many = np.bincount(of, minlength=len(examples))
    mine = np.zeros(len(examples), bool)
    mine[of[np.isin(every, machines)]] = True
    examples = every[examples]
    satisfies = state.satisfies[examples]
    needs, demand, job = state.needs[jobs], state.demand[jobs], state.job[jobs]
    size = together(job)
    rest = np.stack((size, job["spread"], job["tenant"]), axis=1).astype(np.int64)
    kinds, kind = alike(np.hstack((needs.view(np.int64), demand, rest)))
    room: dict[bytes, Ints] = {}
    able = np.zeros(len(kinds), bool)
    for number, at in enumerate(kinds.tolist()):
        key = demand[at].tobytes()
        if key not in room:
            room[key] = counts(state, examples, demand[at], empty=True).min(axis=1)
        allowed = ((satisfies & needs[at]) == needs[at]).all(axis=1)
        able[number] = (
            bool((allowed & mine & (room[key] > 0)).any())
            and fit_together(room[key], bool(job["spread"][at]), many * allowed) >= size[at]
            and not any(
                demand[at, r] * size[at] > limit
                for _, r, limit in limits(state, int(job["tenant"][at]), demand[at])
            )
        )
    found: Bools = able[kind]
    return found


def together(jobs: Records) -> Ints:
    """How many tasks of each of these rows of jobs start together next."""
    unlimited = (jobs["total"] == UNLIMITED) & (jobs["cancelled"] == 0)
    size: Ints = np.where(unlimited | (jobs["waiting"] >= jobs["gang"]), jobs["gang"], 1)
    return size
