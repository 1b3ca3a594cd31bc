"""Rivals of a job: jobs that could use a machine that it could use, and that come first."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fairlead.scheduling.kernels.memory.state import State, Words
from fairlead.scheduling.kernels.memory.tables import UNLIMITED
from fairlead.scheduling.state.distinct_rows import alike
from fairlead.scheduling.state.rows import machines_there
from fairlead.scheduling.state.scales import FIFO, Scaler, parting_words
from fairlead.scheduling.why.never import MOST
from fairlead.sharing.present import over_limit
from fairlead.sharing.problem.problem import Bools, Ints

AT_ONCE = 1 << 18
"""Pairs of kinds of jobs and of machines that are looked at at once."""


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
    allowed, by_needs = _allowed(state.needs, jobs, state.satisfies[examples])
    job, demand = columns(state, jobs), state.demand[jobs]
    rest = np.stack((together(job), job["spread"], job["tenant"], by_needs), axis=1)
    kinds, kind = alike(np.hstack((demand, rest.astype(np.int64))))
    able = np.concatenate(
        [
            _able(state, jobs[part], allowed[by_needs[part]], examples, many, mine)
            for part in np.array_split(kinds, len(kinds) * len(examples) // AT_ONCE + 1)
        ]
    )
    found: Bools = able[kind]
    return found


def _allowed(needs: Words, jobs: Ints, satisfies: Words) -> tuple[Bools, Ints]:
    """(K, C) the different sets of machines that these jobs, each with its needs (W,), may use, and
    which one each may (J,). What all machines satisfy, or as many, parts no jobs: a tenant can
    submit thousands that differ in nothing else."""
    parting, words = parting_words(needs, jobs, satisfies)
    different, of = alike(parting.view(np.int64))
    may = np.ones((len(different), len(satisfies)), bool)
    for column, word in enumerate(words.tolist()):
        may &= parting[different, column, None] & ~satisfies[:, word] == 0
    sets, of_set = alike(np.packbits(may, axis=1))
    return may[sets], of_set[of]


def _able(
    state: State, jobs: Ints, allowed: Bools, machines: Ints, many: Ints, mine: Bools
) -> Bools:
    """Which of these jobs, each allowed on some of the machines in these slots (J, C), so `many` of
    each, could run a task on one that is `mine`."""
    job, demand = columns(state, jobs), state.demand[jobs]
    size, spread = together(job), job["spread"] > 0
    fit = Scaler(FIFO, (), state.unit).whole_ones(demand, spread, state.capacity[machines])
    fit = np.where(allowed, np.minimum(fit, MOST), 0)
    over = over_limit(state.limit, state.tenant["parent"], job["tenant"], demand, size)
    able: Bools = (fit[:, mine] > 0).any(axis=1) & (fit @ many >= size) & ~over
    return able


def columns(state: State, jobs: Ints) -> Mapping[str, Ints]:
    """What is looked at of the jobs in these slots: whole rows take ten times as long."""
    names = ("total", "cancelled", "waiting", "gang", "spread", "tenant")
    return {name: state.job[name][jobs] for name in names}


def together(jobs: Mapping[str, Ints]) -> Ints:
    """How many tasks of each of these jobs start together next."""
    unlimited = (jobs["total"] == UNLIMITED) & (jobs["cancelled"] == 0)
    size: Ints = np.where(unlimited | (jobs["waiting"] >= jobs["gang"]), jobs["gang"], 1)
    return size
