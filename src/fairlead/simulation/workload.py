"""A workload: machines, tenants and a stream of jobs with their durations, in arrays.

This is what loaders and generators give and what the simulator runs. Jobs come in batches, so that
a trace of any length needs the memory of a few batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fairlead.model.constraint import Label
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.scheduling.state.terms import Term

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Resource:
    """A resource, counted in whole multiples of `unit`. `device`: it comes in pieces of
    `piece` units each (one GPU is a piece of 1000 units of 1/1000)."""

    name: str
    unit: Fraction
    piece: int = 0  # 0: not a device

    @property
    def device(self) -> bool:
        """Does it come in pieces?"""
        return self.piece > 0


class MachineEvent(IntEnum):
    """Events of a machine. The values are those of Google's traces."""

    ADD = 0
    REMOVE = 1
    UPDATE = 2


@dataclass(frozen=True)
class MachineTable:
    """Machine events in order of time. `machine[i]` indexes `names` and `labels`."""

    names: tuple[str, ...]
    labels: tuple[FrozenMap[Label], ...]  # per machine
    time: Ints  # (N,) microseconds
    machine: Ints  # (N,)
    kind: Ints  # (N,) MachineEvent
    capacity: Ints  # (N, R) in units

    @cached_property
    def labelled(self) -> dict[str, list[tuple[Label, list[int]]]]:
        """By its key each label that is there, and the machines that have it. Numbers that are
        written in other ways, such as 1 and 1.0, are other labels."""
        found: dict[str, dict[str | tuple[str], tuple[Label, list[int]]]] = {}
        for machine, labels in enumerate(self.labels):
            for key, label in labels.items():
                written = label if isinstance(label, str) else (str(label),)
                alike = found.setdefault(key, {})
                if written in alike:
                    alike[written][1].append(machine)
                else:
                    alike[written] = label, [machine]
        return {key: list(alike.values()) for key, alike in found.items()}


def always_there(
    names: tuple[str, ...], labels: tuple[FrozenMap[Label], ...], capacity: Ints
) -> MachineTable:
    """Machines that join at time 0 and stay."""
    machines = len(names)
    return MachineTable(
        names=names,
        labels=labels,
        time=np.zeros(machines, np.int64),
        machine=np.arange(machines),
        kind=np.full(machines, MachineEvent.ADD, np.int64),
        capacity=capacity,
    )


@dataclass(frozen=True)
class JobBatch:
    """Jobs in order of submission, and the durations of their tasks.

    `needs` has one bit for each of the workload's terms (word k // 64, bit k % 64): the job needs
    the terms whose bits are set. `terms` are those that this batch adds to the workload's.
    Tasks of job i have durations[first[i]:first[i + 1]], in the order of their numbers; a job
    whose tasks all take the same time may give a single one instead (first[i + 1] - first[i] == 1).
    """

    names: tuple[str, ...] | None  # None: jobs are called by their place in the stream, "0", "1" …
    submit: Ints  # (J,) microseconds, not decreasing, also from batch to batch
    tenant: Ints  # (J,) index into the workload's tenants; -1: the job is its own tenant
    demand: Ints  # (J, R) in units
    tasks: Ints  # (J,)
    needs: Words  # (J, W)
    spread: Bools  # (J,)
    gang: Ints  # (J,) 1: no gang
    durations: Ints  # (D,) microseconds
    first: Ints  # (J + 1,)
    prefers: Words | None = None  # (J, W) soft terms
    patience: Ints | None = None  # (J,) microseconds to wait for them
    expected: Ints | None = None  # (J,) durations told to the scheduler (backfill); 0: not told
    terms: tuple[Term, ...] = ()

    def __len__(self) -> int:
        return len(self.submit)


def plain_batch(
    submit: Ints,
    demand: Ints,
    tasks: Ints,
    durations: Ints,
    *,
    names: tuple[str, ...] | None = None,
    first: Ints | None = None,
    tenant: Ints | None = None,
    needs: Words | None = None,
    spread: Bools | None = None,
    gang: Ints | None = None,
    **more: Any,
) -> JobBatch:
    """Jobs of which only what is said is special: else each is its own tenant, may use every
    machine, has one duration, no gang, and does not spread."""
    count = len(submit)
    return JobBatch(
        names=names,
        submit=submit,
        demand=demand,
        tasks=tasks,
        durations=durations,
        first=np.arange(count + 1, dtype=np.int64) if first is None else first,
        tenant=np.full(count, -1, dtype=np.int64) if tenant is None else tenant,
        needs=np.zeros((count, 0), dtype=np.uint64) if needs is None else needs,
        spread=np.zeros(count, dtype=np.bool_) if spread is None else spread,
        gang=np.ones(count, dtype=np.int64) if gang is None else gang,
        **more,
    )


@dataclass(frozen=True)
class Workload:
    """The input of a run. `batches()` starts the stream of jobs anew each time.

    `notes` say what was found, what was missing and what was assumed (option = value), one
    sentence each: nothing is invented silently.
    """

    name: str
    resources: tuple[Resource, ...]
    machines: MachineTable
    batches: Callable[[], Iterator[JobBatch]]
    tenants: tuple[Tenant, ...] = ()  # a parent before its children
    terms: tuple[Term, ...] = ()
    notes: tuple[str, ...] = ()
    jobs: int | None = None  # where known before the run, for the progress bar
    tasks: int | None = None
    options: FrozenMap[str] = field(default_factory=FrozenMap)  # the assumptions, as named options

    @cached_property
    def parents(self) -> Ints:
        """(T,) the tenant above each, -1 at the top."""
        index = {tenant.name: place for place, tenant in enumerate(self.tenants)}
        above = [-1 if t.parent is None else index[t.parent] for t in self.tenants]
        return np.array(above, np.int64)

    @cached_property
    def limits(self) -> Ints:
        """(T, R) what the tenants may hold, in units; -1 where there is no limit."""
        found = np.full((len(self.tenants), len(self.resources)), -1, np.int64)
        for place, tenant in enumerate(self.tenants):
            for column, resource in enumerate(self.resources):
                if resource.name in tenant.limit:
                    found[place, column] = int(tenant.limit[resource.name] / resource.unit)
        return found
