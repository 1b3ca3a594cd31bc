"""The input in arrays of the checker's own making: it uses nothing of the solver's."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np
import numpy.typing as npt
from flint import fmpq

from fairlead.model.choosing import Choosing
from fairlead.model.constraint import Label, Selector
from fairlead.model.errors import CertificateError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.never import never_run
from fairlead.model.shares import MachineClass
from fairlead.sharing.certificate.arithmetic import rational

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Whole = npt.NDArray[np.object_]
Names = tuple[str, ...]
Constraint = tuple[Selector, Names | None, Names]

NONE = Fraction(0)


@dataclass(frozen=True)
class Classes:
    """Classes of machines that no job can tell apart: what one of them has, how many they are."""

    capacity: Floats  # (C, R)
    count: Floats  # (C,)
    holds: Floats  # (J, C) tasks on one empty machine, constraints ignored
    usable: Bools  # (J, C)
    column: dict[int, int]  # from the number in the proof
    one: Whole  # (C, R) what one machine has, in parts

    @property
    def runs(self) -> Bools:
        """(J,) the jobs that can run on some of the machines."""
        runs: Bools = self.usable.max(axis=1, initial=False)
        return runs

    @property
    def total(self) -> Floats:
        """(C, R) what the machines of each class have together."""
        return self.capacity * self.count[:, None]

    @property
    def all(self) -> Whole:
        """(C, R) the same exactly, in parts."""
        counts = np.array([int(number) for number in self.count], dtype=object)
        found: Whole = self.one * counts[:, None]
        return found

    def alone(self) -> Classes:
        """One machine that is a class by itself, of the only one of these."""
        return replace(self, count=np.ones(1))

    def only(self, column: int) -> Classes:
        at = slice(column, column + 1)
        number = next(n for n, c in self.column.items() if c == column)
        return Classes(
            self.capacity[at],
            self.count[at],
            self.holds[:, at],
            self.usable[:, at],
            {number: 0},
            self.one[at],
        )


@dataclass(frozen=True)
class Seen:
    """The jobs and the machines. Only resources that a job demands are looked at."""

    resources: tuple[str, ...]
    resource: dict[str, int]
    names: tuple[str, ...]
    job: dict[str, int]
    demand: Floats  # (J, R)
    tasks: Floats  # (J,) inf where unlimited
    spread: Bools  # (J,)
    machines: tuple[Machine, ...]
    machine: dict[str, int]
    kind: Ints  # (M,) machines of one kind are alike to every job
    kinds: tuple[int, ...]  # a machine of each kind
    allowed: Bools  # (J, K) by a job's constraint; by none where it can never run
    parts: tuple[int, ...]  # (R,) parts that make one of a resource
    need: Whole  # (J, R) what a task takes, in parts
    capacity: Floats  # (K, R) what a machine of each kind has
    one: Whole  # (K, R) the same, in parts
    number: tuple[fmpq | None, ...]  # (J,) of tasks, None where unlimited

    def classes(self, named: Sequence[MachineClass], pool: frozenset[str] | None = None) -> Classes:
        """The named classes; with `pool`, only the machines in it are counted. Raises
        CertificateError where a job can tell two machines of a class apart."""
        first, count = [], []
        column: dict[int, int] = {}
        for number, each in enumerate(named):
            if each.index in column:
                raise CertificateError(f"two classes of machines have the number {each.index}")
            column[each.index] = number
            try:
                at = [self.machine[name] for name in each.machines]
            except KeyError as error:
                raise CertificateError(
                    f"class {each.index} names the machine {error.args[0]}, which does not exist"
                ) from None
            if not at:
                raise CertificateError(f"class {each.index} has no machines")
            kinds = self.kind[at]
            if np.any(kinds != kinds[0]):
                other = each.machines[int(np.argmax(kinds != kinds[0]))]
                raise CertificateError(
                    f"a job can tell the machines {each.machines[0]} and {other} of class"
                    f" {each.index} apart"
                )
            first.append(int(kinds[0]))
            count.append(len(at) if pool is None else sum(name in pool for name in each.machines))
        return self._classes(first, np.array(count, dtype=float), column)

    def partition(self, named: Sequence[MachineClass]) -> None:
        """Raises CertificateError where the named classes are not a partition of the machines."""
        found = [name for each in named for name in each.machines]
        if len(set(found)) != len(found):
            twice = next(name for name in found if found.count(name) > 1)
            raise CertificateError(f"the machine {twice} is in two places of the classes")
        if missing := self.machine.keys() - set(found):
            raise CertificateError(f"the machine {min(missing)} is in no class")
        if unknown := set(found) - self.machine.keys():
            raise CertificateError(f"the classes name {min(unknown)}, which is no machine")

    @cached_property
    def all_kinds(self) -> Classes:
        count = np.bincount(self.kind, minlength=len(self.kinds)).astype(float)
        return self._classes(list(range(len(self.kinds))), count, {})

    def pooled(self) -> Classes:
        """One machine that holds everything, open to every job that can run somewhere."""
        apart = self.all_kinds
        runs = apart.runs[:, None]
        capacity = apart.total.sum(axis=0)[None, :]
        holds = tasks_in(self.demand, capacity)
        one = apart.all.sum(axis=0, keepdims=True)
        return Classes(capacity, np.ones(1), holds, runs & (holds > 0), {0: 0}, one)

    def _classes(self, kinds: list[int], count: Floats, column: dict[int, int]) -> Classes:
        capacity = self.capacity[kinds]
        holds = tasks_in(self.demand, capacity)
        holds[self.spread] = np.minimum(holds[self.spread], 1.0)
        usable = self.allowed[:, kinds] & (holds > 0)
        return Classes(capacity, count, holds, usable, column, self.one[kinds])


def tasks_in(demand: Floats, capacity: Floats) -> Floats:
    """(J, C) the tasks that fit into each capacity."""
    fit = np.full((len(demand), len(capacity)), np.inf)
    for r in range(demand.shape[1]):
        jobs = np.flatnonzero(demand[:, r])
        fit[jobs] = np.minimum(fit[jobs], capacity[:, r] / demand[jobs, r][:, None])
    return fit


def see(cluster: Cluster, jobs: Sequence[Job]) -> Seen:
    resources = tuple(sorted({r for job in jobs for r, need in job.demand.items() if need}))
    constraints: dict[Constraint, int] = {}
    of_job = [
        constraints.setdefault((job.where, job.machines, job.exclude), len(constraints))
        for job in jobs
    ]
    kind, kinds, allowed = _kinds(cluster.machines, resources, tuple(constraints))
    names = tuple(job.name for job in jobs)
    never = never_run(cluster, jobs)
    may = allowed[of_job] if jobs else np.zeros((0, len(kinds)), dtype=bool)
    may[[j for j, name in enumerate(names) if name in never]] = False
    there = [[cluster.machines[k].capacity.get(r, NONE) for r in resources] for k in kinds]
    takes = [[job.demand.get(r, NONE) for r in resources] for job in jobs]
    parts = tuple(
        lcm(*(row[at].denominator for rows in (there, takes) for row in rows))
        for at in range(len(resources))
    )
    return Seen(
        resources=resources,
        resource={r: index for index, r in enumerate(resources)},
        names=names,
        job={name: index for index, name in enumerate(names)},
        demand=_doubles(takes, len(resources)),
        tasks=np.array([np.inf if job.tasks is None else float(job.tasks) for job in jobs]),
        spread=np.array([job.spread for job in jobs], dtype=bool),
        machines=cluster.machines,
        machine={machine.name: index for index, machine in enumerate(cluster.machines)},
        kind=kind,
        kinds=kinds,
        allowed=may,
        parts=parts,
        need=_in_parts(takes, parts),
        capacity=_doubles(there, len(resources)),
        one=_in_parts(there, parts),
        number=tuple(None if job.tasks is None else rational(job.tasks) for job in jobs),
    )


def _doubles(amounts: Sequence[Sequence[Fraction]], columns: int) -> Floats:
    near = [[each.numerator / each.denominator for each in row] for row in amounts]
    return np.array(near, dtype=float).reshape(len(amounts), columns)


def _in_parts(amounts: Sequence[Sequence[Fraction]], parts: Sequence[int]) -> Whole:
    """As in whole numbers of parts. The solver's side has the same of its own: nothing is shared
    with what is checked."""
    found = np.zeros((len(amounts), len(parts)), dtype=object)
    for at, row in enumerate(amounts):
        for r, each in enumerate(row):
            found[at, r] = each.numerator * (parts[r] // each.denominator)
    return found


def _kinds(
    machines: Sequence[Machine], resources: Sequence[str], constraints: Sequence[Constraint]
) -> tuple[Ints, tuple[int, ...], Bools]:
    """For each machine its kind, a machine of each kind, and which constraint allows which."""
    keys = sorted({part.key for where, _, _ in constraints for part in where.requirements})
    lists = {names: frozenset(names) for _, *both in constraints for names in both if names}
    on: dict[str, list[int]] = {}
    for number, names in enumerate(lists.values()):
        for name in names:
            on.setdefault(name, []).append(number)

    # Many machines share one object for their capacity and one for their labels: what such an
    # object says is looked at once.
    amounts: dict[int, int] = {}
    texts: dict[int, int] = {}
    numbers: dict[Hashable, int] = {}
    group_of: dict[tuple[int, int, tuple[int, ...]], int] = {}
    group = np.empty(len(machines), dtype=np.int64)
    first: list[int] = []
    for index, machine in enumerate(machines):
        capacity, labels = id(machine.capacity), id(machine.labels)
        if capacity not in amounts:
            value = tuple(machine.capacity.get(r, NONE) for r in resources)
            amounts[capacity] = numbers.setdefault(value, len(numbers))
        if labels not in texts:
            text = tuple(_text(machine.labels.get(key)) for key in keys)
            texts[labels] = numbers.setdefault(text, len(numbers))
        signature = (amounts[capacity], texts[labels], tuple(on.get(machine.name, ())))
        number = group_of.setdefault(signature, len(group_of))
        if number == len(first):
            first.append(index)
        group[index] = number

    example = [machines[index] for index in first]
    choosing = Choosing(machine.labels for machine in example)
    allowed = np.zeros((len(constraints), len(example)), dtype=bool)
    for row, (where, only, never) in enumerate(constraints):
        allowed[row, choosing.chosen(where)] = True
        if only is not None:
            allowed[row] &= [only != () and m.name in lists[only] for m in example]
        if never:
            allowed[row] &= [m.name not in lists[never] for m in example]

    kind_of: dict[tuple[int, bytes], int] = {}
    kinds: list[int] = []
    column: list[int] = []
    kind_of_group = np.empty(len(example), dtype=np.int64)
    for number, (capacity, _, _) in enumerate(group_of):
        kind = kind_of.setdefault((capacity, allowed[:, number].tobytes()), len(kind_of))
        if kind == len(kinds):
            kinds.append(first[number])
            column.append(number)
        kind_of_group[number] = kind
    return kind_of_group[group], tuple(kinds), allowed[:, column]


def _text(label: Label | None) -> Hashable:
    # The number 5.10 equals 5.1, but is another version.
    return None if label is None else (type(label), str(label))
