"""The input of ideal schedulers: all jobs of a workload at once, in arrays, and their scales."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairlead.model.errors import InputError
from fairlead.model.machine import Machine
from fairlead.scheduling.state.scales import Classes as Alike
from fairlead.scheduling.state.scales import Scaler
from fairlead.scheduling.state.terms import Term, satisfies
from fairlead.sharing.policy import Policy
from fairlead.sharing.present import Classes, classes_of
from fairlead.simulation.ideal.machines import Turn, rows_of
from fairlead.simulation.workload import (
    Bools,
    Floats,
    Ints,
    JobBatch,
    MachineTable,
    Words,
    Workload,
)

BITS = 64
NEVER = 1 << 62


@dataclass(frozen=True)
class Instance:
    """All jobs (J) in order of submission, and the machines (M): a row for each that there ever is,
    and for each capacity that it ever has."""

    workload: Workload
    terms: tuple[Term, ...]
    machine: Ints  # (M,) index into the workload's machine names
    capacity: Ints  # (M, R)
    satisfied: Words  # (M, W)
    names: tuple[str, ...]  # (J,)
    submit: Ints
    tenant: Ints
    demand: Ints  # (J, R)
    tasks: Ints
    needs: Words  # (J, W)
    spread: Bools
    gang: Ints
    durations: tuple[Ints, ...]  # (J,) of each task, or a single one for all
    classes: Classes
    holds: Ints  # (J, C) whole tasks that a machine of the class holds, 0 where they may not run
    turns: tuple[Turn, ...]
    steady: bool  # all machines are there from one moment on
    scaler: Scaler
    example: Ints  # (C,) a machine of each class: it is open to the same jobs as the others

    def scale(self, jobs: Ints, present: Bools) -> Floats:
        """The scales of these jobs on the machines that are there."""
        count = np.bincount(self.classes.of_machine[present], minlength=len(self.example))
        some = np.flatnonzero(count)
        there = Alike(
            self.capacity[self.example[some]],
            self.satisfied[self.example[some]],
            count[some],
            self.example[some],
        )
        if not len(some):
            return np.zeros(len(jobs))
        names = tuple(self.names[job] for job in jobs.tolist())
        rows = self.demand[jobs], self.needs[jobs], self.spread[jobs]
        scale: Floats = self.scaler.scales(*rows, there, names).scale
        return scale

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """(C,) the machines of each class."""
        order = np.argsort(self.classes.of_machine, kind="stable")
        ends = np.cumsum(np.bincount(self.classes.of_machine, minlength=len(self.example)))
        return tuple(tuple(some.tolist()) for some in np.split(order, ends[:-1]))

    def duration(self, job: int, task: int) -> int:
        """The duration of a task, in microseconds."""
        times = self.durations[job]
        return int(times[task] if len(times) > 1 else times[0])


def build_instance(workload: Workload, policy: Policy) -> Instance:
    """The workload in arrays. Raises InputError for gangs, of which the exact allocation knows
    nothing."""
    batches = tuple(workload.batches())
    terms = (*workload.terms, *(term for batch in batches for term in batch.terms))
    words = max(1, -(-len(terms) // BITS))
    demand = np.concatenate(
        [np.zeros((0, len(workload.resources)), np.int64), *(b.demand for b in batches)]
    )
    needs = np.concatenate(
        [np.zeros((0, words), np.uint64), *(_wide(b.needs, words) for b in batches)]
    )
    gang = _join([b.gang for b in batches])
    if (gang > 1).any():
        raise InputError(
            f"`{workload.name}` has gangs, and no ideal is known for them: exact shares are of"
            " tasks that can be divided, which cannot start together or not at all",
            "leave --ideal out, or the gangs",
        )
    tasks = _join([b.tasks for b in batches])
    rows = rows_of(workload)
    machine, capacity = rows.machine, rows.capacity
    satisfied = satisfied_terms(workload.machines, terms, words)[machine]
    classes = classes_of(capacity, satisfied, demand, needs)
    spread = np.concatenate([np.zeros(0, np.bool_), *(b.spread for b in batches)])
    # One machine of each class stands for all.
    example = np.unique(classes.of_machine, return_index=True)[1]
    scaler = Scaler(
        policy,
        tuple(resource.name for resource in workload.resources),
        np.array([resource.piece for resource in workload.resources], np.int64),
    )
    holds = scaler.holds(demand, spread, capacity[example])
    submit = _join([b.submit for b in batches])
    return Instance(
        workload=workload,
        terms=terms,
        machine=machine,
        capacity=capacity,
        satisfied=satisfied,
        names=_names(batches),
        submit=submit,
        tenant=_join([b.tenant for b in batches]),
        demand=demand,
        tasks=tasks,
        needs=needs,
        spread=spread,
        gang=gang,
        durations=tuple(
            batch.durations[start:end]
            for batch in batches
            for start, end in zip(batch.first[:-1], batch.first[1:], strict=True)
        ),
        classes=classes,
        holds=np.where(classes.allowed[classes.need], holds, 0.0).astype(np.int64),
        turns=rows.turns,
        steady=rows.steady and (submit.min(initial=NEVER) >= rows.turns[0].time),
        scaler=scaler,
        example=example,
    )


def satisfied_terms(machines: MachineTable, terms: tuple[Term, ...], words: int) -> Words:
    """(names, W) the bits of the terms that each named machine satisfies."""
    bits = np.zeros((len(machines.names), words), np.uint64)
    for index, (name, labels) in enumerate(zip(machines.names, machines.labels, strict=True)):
        machine = Machine(name, {}, labels)
        for k, term in enumerate(terms):
            if satisfies(machine, term):
                bits[index, k // BITS] |= np.uint64(1 << (k % BITS))
    return bits


def _wide(needs: Words, words: int) -> Words:
    wide = np.zeros((len(needs), words), np.uint64)
    wide[:, : needs.shape[1]] = needs
    return wide


def _join(columns: list[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *columns])


def _names(batches: tuple[JobBatch, ...]) -> tuple[str, ...]:
    names: list[str] = []
    for batch in batches:
        start = len(names)
        names += batch.names or [str(start + place) for place in range(len(batch))]
    return tuple(names)
