"""Machines that come, go and change, for ideal schedulers: a row for each size that one has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.simulation.engine.changes import Changes, Kind
from fairlead.simulation.engine.options import Options
from fairlead.simulation.workload import Ints, Workload

NOWHERE = -1
"""Instead of a row: the machine is not there."""


@dataclass(frozen=True)
class Step:
    """A machine that was one row is another from now on; NOWHERE: it comes, or goes."""

    was: int
    now: int


@dataclass(frozen=True)
class Turn:
    """Changes of machines at one moment, in order."""

    time: int
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Rows:
    """A row for each machine and each capacity that it ever has, in the order of the events."""

    machine: Ints  # (M,) index into the workload's machine names
    capacity: Ints  # (M, R)
    turns: tuple[Turn, ...]

    @property
    def steady(self) -> bool:
        """Are all machines there from one moment on, as they always are?"""
        steps = [step for turn in self.turns for step in turn.steps]
        return len(self.turns) <= 1 and all(step.was == NOWHERE for step in steps)


def rows_of(workload: Workload) -> Rows:
    """The rows, and when they come and go. Raises InputError where a machine that is there joins,
    or one that is not there changes or leaves."""
    found: dict[tuple[int, bytes], int] = {}
    machine: list[int] = []
    capacity: list[Ints] = []
    now: dict[int, int] = {}  # machine -> the row that it is
    turns = []
    changes = Changes(workload, Options(), 0)
    while (time := changes.due()) is not None:
        steps = []
        for change in changes.take(time, failing=False):
            was = now.pop(change.machine, NOWHERE)
            row = NOWHERE
            if change.kind is not Kind.LEAVE:
                assert change.capacity is not None  # whoever joins or changes has one
                key = (change.machine, change.capacity.tobytes())
                if key not in found:
                    found[key] = len(found)
                    machine.append(change.machine)
                    capacity.append(change.capacity)
                row = now[change.machine] = found[key]
            if row != was:
                steps.append(Step(was, row))
        turns.append(Turn(time, tuple(steps)))
    return Rows(
        machine=np.array(machine, np.int64),
        capacity=np.array(capacity, np.int64).reshape(-1, len(workload.resources)),
        turns=tuple(turns),
    )
