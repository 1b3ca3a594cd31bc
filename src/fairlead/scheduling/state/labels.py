"""Labels as numbers, and how scarce the machines are that have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from fairlead.model.constraint import Label
from fairlead.scheduling.kernels.memory.state import THERE, Ints, State

STEPS = 16
"""Parts of a doubling in which rarity is counted."""


@dataclass
class Labels:
    """The labels of machines. `numbers`, from 1 on, are those of pairs of a key and a
    value; `table` (slots and more, most labels of one) has those of each machine, then 0."""

    numbers: dict[tuple[str, Label], int] = field(default_factory=dict)
    table: Ints = field(default_factory=lambda: np.zeros((64, 1), np.int64))

    def put(self, m: int, labels: Mapping[str, Label]) -> None:
        """The machine in this slot has these labels, and no others."""
        self._reach(m + 1, len(labels))
        self.table[m] = 0
        self.table[m, : len(labels)] = [
            self.numbers.setdefault(label, len(self.numbers) + 1) for label in labels.items()
        ]

    def rows(self, machines: int) -> Ints:
        """(machines, most labels of one) the numbers of the labels of the machines in the first so
        many slots, then 0. One that nothing was said of has none."""
        self._reach(machines, 0)
        return self.table[:machines]

    def _reach(self, machines: int, labels: int) -> None:
        rows, width = self.table.shape
        if machines > rows or labels > width:
            more = max(machines, 2 * rows) - rows if machines > rows else 0
            self.table = np.pad(self.table, [(0, more), (0, max(0, labels - width))])

    def copy(self) -> Labels:
        """A table of one's own."""
        return Labels(dict(self.numbers), self.table.copy())


def scarcity(state: State, labels: Labels) -> Ints:
    """(machines,) how scarce each is: the sum of how rare each resource and each label that it has
    is among the machines that are there, whether anybody asks for it or not. The least scarce one
    of them has 0.

    What a job asks for is on every machine that it may use, and is added to all of them. So is a
    label with another value on every machine, such as a name."""
    machines = int(state.header[0]["machines"])
    there = np.isin(state.machine["state"][:machines], THERE)
    present, rows = int(there.sum()), labels.rows(machines)
    labelled = _rarity(np.bincount(rows[there].ravel(), minlength=len(labels.numbers) + 1), present)
    labelled[0] = 0
    owned = _rarity(state.have, present)
    found: Ints = labelled[rows].sum(axis=1) + (state.capacity[:machines] > 0) @ owned
    return found - (found[there].min() if present else 0)


def _rarity(counts: Ints, present: int) -> Ints:
    """Of each number of machines the doublings up to all that are there, in STEPS parts of one,
    rounded up: 0 where all have something. Logarithms, so that what two halves of the machines
    have is not as rare as what a single one has; integers, so that they are the same everywhere."""
    each, at = np.unique(counts, return_inverse=True)
    of_all = max(present**STEPS - 1, 0)
    found = [(of_all // max(count, 1) ** STEPS).bit_length() for count in each.tolist()]
    return np.array(found, np.int64)[at]
