"""Small workloads with everything that is awkward: for tests, not for studies."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from fairlead.model.constraint import Label, Operator, Requirement
from fairlead.model.errors import InputError
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.scheduling.state.terms import Listed, NotListed, Term
from fairlead.simulation.workload import Ints, MachineEvent, MachineTable, Resource, Words, Workload
from fairlead.simulation.workloads.draws import SECOND, Shape, Stream, Times, numbers
from fairlead.simulation.workloads.jobs import Jobs, stream

END = 60
"""Seconds in which machines change and jobs come."""

KINDS: tuple[FrozenMap[Label], ...] = (
    FrozenMap(),
    FrozenMap({"zone": "a"}),
    FrozenMap({"zone": "b"}),
    FrozenMap({"zone": "b", "fast": "yes"}),
)
"""Labels that machines may have."""


def generate(
    *,
    name: str = "random",
    machines: int = 6,
    jobs: int = 20,
    churn: bool = True,
    gangs: bool = True,
    tenants: bool = True,
    prefers: bool = True,
    pools: bool = False,
    seed: int = 0,
) -> Workload:
    """Machines that come and go, tenants in a tree, gangs, spread, ties, zeros, no way to run.

    Each of `churn`, `gangs` (and spread), `tenants` and `prefers` can be left out. With `pools`
    the tenants below another one have machines of their own instead of weights.
    """
    if machines < 1 or jobs < 1:
        raise InputError(f"`{name}` without machines or jobs", "write at least 1")
    draw = numbers(seed, Stream.MACHINES)
    resources = int(draw.integers(1, 4))
    names = tuple(f"m{number}" for number in range(machines))
    people = _tenants(numbers(seed, Stream.OTHER)) if tenants else ()
    made = _jobs(jobs, resources, len(people), gangs=gangs, prefers=prefers, seed=seed)
    if pools and made.tenant is not None:
        people = _with_pools(people, names)
        # A job of the tenant on top would stand beside pools, and weighs 1.
        made = replace(made, tenant=np.where(made.tenant == 0, 1, made.tenant))
    # Constant times are whole seconds, so that tasks often end together and when jobs come.
    times = Times(Shape.UNIFORM, vary=0.9) if draw.random() < 0.5 else Times(Shape.CONSTANT)
    return Workload(
        name=name,
        resources=tuple(
            Resource(called, unit)
            for called, unit in (
                ("cpu", Fraction(1, 2)),
                ("memory", Fraction(2**30)),
                ("disk", Fraction(1)),
            )[:resources]
        ),
        machines=_machines(names, resources, draw, churn=churn),
        tenants=people,
        terms=_terms(names),
        batches=stream(made, times, seed),
        notes=(
            "All numbers are drawn for tests and mean nothing.",
            "Some jobs may find no machine that they can run on.",
        ),
        jobs=jobs,
        tasks=int(made.tasks.sum()),
    )


def _terms(names: tuple[str, ...]) -> tuple[Term, ...]:
    """A term of each kind; bit k of a job's needs is term k."""
    return (
        Requirement("zone", Operator.EQUAL, ("a",)),
        Requirement("zone", Operator.NOT_EQUAL, ("a",)),
        Requirement("fast", Operator.EXISTS),
        Listed(frozenset(names[::2])),
        NotListed(frozenset(names[:1])),
    )


def _machines(
    names: tuple[str, ...], resources: int, draw: np.random.Generator, *, churn: bool
) -> MachineTable:
    """All machines at time 0, or later where they come and go: they join, change, leave, join
    again."""
    labels = tuple(KINDS[kind] for kind in draw.integers(0, len(KINDS), len(names)).tolist())
    rows: list[tuple[int, int, MachineEvent, list[int]]] = []
    for machine in range(len(names)):
        capacity = draw.integers(0, 9, resources)
        capacity[draw.integers(0, resources)] += 1  # a machine has something
        late = churn and draw.random() < 0.3
        time = int(draw.integers(0, END)) * SECOND if late else 0
        rows.append((time, machine, MachineEvent.ADD, capacity.tolist()))
        while churn and draw.random() < 0.5:
            time += int(draw.integers(1, 20)) * SECOND
            if draw.random() < 0.5:
                capacity = draw.integers(0, 9, resources)
                rows.append((time, machine, MachineEvent.UPDATE, capacity.tolist()))
                continue
            rows.append((time, machine, MachineEvent.REMOVE, capacity.tolist()))
            time += int(draw.integers(1, 20)) * SECOND
            rows.append((time, machine, MachineEvent.ADD, capacity.tolist()))
    rows.sort(key=lambda row: row[0])  # stable: the events of a machine stay in their order
    return MachineTable(
        names=names,
        labels=labels,
        time=np.array([row[0] for row in rows], np.int64),
        machine=np.array([row[1] for row in rows], np.int64),
        kind=np.array([row[2] for row in rows], np.int64),
        capacity=np.array([row[3] for row in rows], np.int64),
    )


def _tenants(draw: np.random.Generator) -> tuple[Tenant, ...]:
    """A tree of two levels with weights, and a limit."""
    weights = [Fraction(int(draw.integers(1, 4)), int(draw.integers(1, 3))) for _ in range(4)]
    limit = {"cpu": int(draw.integers(1, 8))} if draw.random() < 0.5 else None
    return (
        Tenant("top", weight=weights[0]),
        Tenant("left", weight=weights[1], parent="top"),
        Tenant("right", weight=weights[2], parent="top", limit=limit),
        Tenant("beside", weight=weights[3]),
    )


def _with_pools(people: tuple[Tenant, ...], names: tuple[str, ...]) -> tuple[Tenant, ...]:
    """The tenants below another one with every second machine each, instead of weights."""
    top, left, right, beside = people
    return (
        top,
        replace(left, weight=None, pool=names[::2]),
        replace(right, weight=None, pool=names[1::2] or names[:1]),
        beside,
    )


def _jobs(
    jobs: int, resources: int, tenants: int, *, gangs: bool, prefers: bool, seed: int
) -> Jobs:
    draw = numbers(seed, Stream.DEMANDS)
    tasks = draw.integers(1, 7, jobs)
    demand: Ints = draw.integers(0, 5, (jobs, resources))
    nothing = demand.sum(1) == 0
    demand[nothing, draw.integers(0, resources, int(nothing.sum()))] = 1
    gang = np.where(draw.random(jobs) < 0.3, draw.integers(1, tasks + 1), 1)
    mean = draw.integers(1, 20, jobs)
    # Soft terms come after all other draws, so that leaving them out changes nothing else.
    hard, spread, submit = _bits(draw, jobs), draw.random(jobs) < 0.2, draw.integers(0, 120, jobs)
    tenant = draw.integers(-1, max(tenants, 1), jobs)
    told = np.where(draw.random(jobs) < 0.5, mean * SECOND, 0)
    soft, patience = _bits(draw, jobs), draw.integers(0, 20, jobs) * SECOND
    return Jobs(
        # Half-seconds in the minute: some jobs come together, and when tasks end.
        submit=np.sort(submit) * (SECOND // 2),
        demand=demand,
        tasks=tasks,
        mean=mean.astype(np.float64),
        needs=hard,
        spread=spread & gangs,
        gang=gang if gangs else None,
        tenant=tenant if tenants else None,
        prefers=soft if prefers else None,
        patience=patience if prefers else None,
        expected=told,
    )


def _bits(draw: np.random.Generator, jobs: int) -> Words:
    """Needs (J, 1) of few of the five terms, never both of the two that exclude each other."""
    bits = draw.random((jobs, 5)) < 0.2
    bits[:, 1] &= ~bits[:, 0]
    return np.asarray((bits @ (1 << np.arange(5)))[:, None].astype(np.uint64))
