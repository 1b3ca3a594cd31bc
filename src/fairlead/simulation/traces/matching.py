"""Which machines satisfy which terms, and how many machines each job of a batch may use."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fairlead.model.machine import Machine
from fairlead.scheduling.terms import Listed, NotListed, Term, satisfies
from fairlead.simulation.workload import Bools, Ints, MachineEvent, MachineTable, Words

_CELLS = 4_000_000  # of the tables of jobs by machines that are in memory at a time


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
    """The machines that are there first, in groups that no term and no demand tells apart."""

    def __init__(self, machines: MachineTable, terms: Sequence[Term]) -> None:
        rows = at_start(machines)
        self.machines = len(rows)
        self.counts: list[int] = []
        """How many machines satisfy each term."""
        there = machines.machine[rows]
        holds = np.stack(
            [_satisfying(machines, there, term) for term in terms]
            or [np.zeros(len(rows), dtype=np.bool_)]
        )
        self.counts = [int(row.sum()) for row in holds[: len(terms)]]
        width = -(-len(terms) // 64)
        words = np.zeros((len(rows), width), dtype=np.uint64)
        for number in range(len(terms)):
            bit = np.uint64(1 << (number % 64))
            words[:, number // 64] |= np.where(holds[number], bit, np.uint64(0))
        keys = np.concatenate((words.astype(np.int64), machines.capacity[rows]), axis=1)
        groups, sizes = np.unique(keys, axis=0, return_counts=True)
        self._words: Words = groups[:, :width].astype(np.uint64)
        self._capacity: Ints = groups[:, width:]
        self._sizes: Ints = sizes.astype(np.int64)

    def usable(self, needs: Words, demand: Ints) -> tuple[Ints, Ints]:
        """For each job, how many machines satisfy all that it needs; and how many of these hold a
        task when they are empty."""
        width = self._words.shape[1]
        wide = np.zeros((len(needs), width), dtype=np.uint64)
        wide[:, : needs.shape[1]] = needs[:, :width]
        keys = np.concatenate((wide.astype(np.int64), demand), axis=1)
        distinct, place = np.unique(keys, axis=0, return_inverse=True)
        eligible = np.zeros(len(distinct), dtype=np.int64)
        holding = np.zeros(len(distinct), dtype=np.int64)
        step = max(1, _CELLS // max(1, len(self._sizes)))
        for start in range(0, len(distinct), step):
            here = slice(start, start + step)
            want = distinct[here, :width].astype(np.uint64)
            allowed = ((want[:, None, :] & ~self._words[None, :, :]) == 0).all(axis=2)
            fits = (distinct[here, None, width:] <= self._capacity[None, :, :]).all(axis=2)
            eligible[here] = allowed @ self._sizes
            holding[here] = (allowed & fits) @ self._sizes
        place = place.reshape(-1)
        return eligible[place], holding[place]


def _satisfying(machines: MachineTable, there: Ints, term: Term) -> Bools:
    """Which of these machines satisfy the term."""
    if isinstance(term, (Listed, NotListed)):
        named = np.array([machines.names[number] in term.machines for number in there.tolist()])
        listed = named.astype(np.bool_)
        return np.logical_xor(listed, isinstance(term, NotListed))
    # Equal labels are one object, mostly; each is looked at once.
    known: dict[int, bool] = {}
    found = []
    for number in there.tolist():
        labels = machines.labels[number]
        if id(labels) not in known:
            known[id(labels)] = satisfies(Machine("m", {"any": Fraction(1)}, labels), term)
        found.append(known[id(labels)])
    return np.array(found, dtype=np.bool_)
