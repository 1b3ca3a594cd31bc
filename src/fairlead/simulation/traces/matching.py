"""The machines that satisfy each term, and how many of them each job of a batch may use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairlead.scheduling.state.terms import Listed, NotListed, Term
from fairlead.simulation.workload import Bools, Ints, MachineEvent, MachineTable, Words

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
