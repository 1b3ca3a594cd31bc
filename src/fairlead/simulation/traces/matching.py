"""The machines that satisfy each term, and how many of them each job of a batch may use."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from fairlead.scheduling.state.terms import Listed, NotListed, Term
from fairlead.simulation.workload import Bools, Ints, MachineEvent, MachineTable, Words, Workload

_WORDS = 4_000_000  # of sets of machines that are in memory at a time


def at_start(machines: MachineTable) -> Ints:
    """The rows of the table that hold the capacities of the machines that are there first: those
    of the earliest time, without machines that are removed at that time."""
    if not len(machines.time):
        return np.zeros(0, dtype=np.int64)
    rows = np.flatnonzero(machines.time == machines.time[0])
    last = dict(zip(machines.machine[rows].tolist(), rows.tolist(), strict=True))
    found = np.array(sorted(last.values()), dtype=np.int64)
    there: Ints = found[machines.kind[found] != MachineEvent.REMOVE]
    return there


class Matching:
    """The machines that are there first, as sets in bits: one for each term, and one for each
    amount of a resource that some machine has."""

    def __init__(self, machines: MachineTable, terms: Sequence[Term]) -> None:
        rows = at_start(machines)
        self.machines = len(rows)
        there = machines.machine[rows]
        satisfying = [_satisfying(machines, there, term) for term in terms]
        self.counts = [int(found.sum()) for found in satisfying]
        """The number of machines that satisfy each term."""
        self._terms = [_set(found) for found in satisfying]
        self._all = _set(np.ones(len(rows), dtype=np.bool_))
        self._amounts: list[Ints] = []
        self._at_least: list[Words] = []
        for capacity in machines.capacity[rows].T:
            amounts = np.unique(capacity)
            sets = [_set(capacity >= amount) for amount in amounts.tolist()]
            none = np.zeros_like(self._all)  # beyond the largest amount
            self._amounts.append(amounts)
            self._at_least.append(np.stack([*sets, none]))

    def usable(self, needs: Words, demand: Ints) -> tuple[Ints, Ints]:
        """For each job, how many machines satisfy all that it needs; and how many of these hold a
        task when they are empty."""
        eligible = np.zeros(len(needs), dtype=np.int64)
        holding = np.zeros(len(needs), dtype=np.int64)
        step = max(1, _WORDS // max(1, len(self._all)))
        for start in range(0, len(needs), step):
            here = slice(start, start + step)
            sets = np.tile(self._all, (len(needs[here]), 1))
            for number, machines in enumerate(self._terms[: 64 * needs.shape[1]]):
                bit = np.uint64(1 << (number % 64))
                sets[(needs[here, number // 64] & bit) != 0] &= machines
            eligible[here] = np.bitwise_count(sets).sum(axis=1)
            for place, amounts in enumerate(self._amounts):
                least = np.searchsorted(amounts, demand[here, place])
                sets &= self._at_least[place][least]
            holding[here] = np.bitwise_count(sets).sum(axis=1)
        return eligible, holding


def never_placed(workload: Workload) -> tuple[int, int]:
    """How many jobs, and tasks of theirs, the machines cannot hold even when they are empty: a task
    fits on none, or too few of a gang fit together. (0, 0) where machines come and go."""
    machines = workload.machines
    if len(machines.time) != len(machines.names):
        return 0, 0
    terms, satisfying = list[Term](), list[Bools]()
    jobs = tasks = 0
    for batch in workload.batches():
        for term in (*(workload.terms if not terms else ()), *batch.terms):
            terms.append(term)
            satisfying.append(_satisfying(machines, machines.machine, term))
        # Most machines are like others, and most jobs: each is looked at once.
        alike, count = np.unique(
            np.column_stack([machines.capacity, *satisfying]), axis=0, return_counts=True
        )
        width = batch.demand.shape[1]
        capacity, satisfied = alike[:, :width], alike[:, width:] != 0
        rows = np.column_stack([batch.needs.view(np.int64), batch.demand, batch.gang, batch.spread])
        kinds, kind = np.unique(rows, axis=0, return_inverse=True)
        kind = kind.reshape(-1)
        never = np.zeros(len(kinds), dtype=np.bool_)
        needs, starts = np.unique(kinds[:, : batch.needs.shape[1]], axis=0, return_index=True)
        for words, (start, stop) in zip(needs, pairwise([*starts, len(kinds)]), strict=True):
            bits = np.unpackbits(words.view(np.uint8), bitorder="little")[: len(satisfying)]
            usable = satisfied[:, : len(bits)][:, bits != 0].all(axis=1)
            here = kinds[start:stop]
            demand, gang = here[:, -2 - width : -2], here[:, -2]
            most = np.where(here[:, -1], 1, gang)
            held = _held(capacity[usable], count[usable], demand, most)
            never[start:stop] = held < gang
        jobs += int(never[kind].sum())
        tasks += int(batch.tasks[never[kind]].sum())
    return jobs, tasks


def _held(capacity: Ints, count: Ints, demand: Ints, most: Ints) -> Ints:
    """How many tasks of each demand so many machines of each capacity hold, none of them more than
    `most`: sums of all that fits may be too large."""
    held = np.zeros(len(demand), dtype=np.int64)
    step = max(1, _WORDS // max(1, len(capacity)))
    for start in range(0, len(demand), step):
        here = slice(start, start + step)
        room = np.tile(most[here], (len(capacity), 1))
        for has, asked in zip(capacity.T, demand[here].T, strict=True):
            fit = has[:, None] // np.maximum(asked, 1)
            room = np.where(asked > 0, np.minimum(room, fit), room)
        held[here] = count @ room
    return held


def _set(members: Bools) -> Words:
    """The machines as bits, in whole words."""
    octets = np.packbits(members)
    whole = np.zeros(-(-len(octets) // 8) * 8, dtype=np.uint8)
    whole[: len(octets)] = octets
    return whole.view(np.uint64)


def _satisfying(machines: MachineTable, there: Ints, term: Term) -> Bools:
    """Tests for each of these machines whether it satisfies the term."""
    if isinstance(term, (Listed, NotListed)):
        named = np.array([machines.names[number] in term.machines for number in there.tolist()])
        return np.logical_xor(named.astype(np.bool_), isinstance(term, NotListed))
    # Equal labels are one object, mostly; each is looked at once.
    known: dict[int, bool] = {}
    found = []
    for number in there.tolist():
        labels = machines.labels[number]
        if id(labels) not in known:
            known[id(labels)] = term.matches(labels)
        found.append(known[id(labels)])
    return np.array(found, dtype=np.bool_)
