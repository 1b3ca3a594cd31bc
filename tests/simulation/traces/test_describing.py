"""The numbers of a workload agree with a slow count."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.constraint import Operator, Requirement
from fairlead.model.machine import label_values
from fairlead.model.tenant import Tenant
from fairlead.scheduling.state.terms import Listed, NotListed, Term
from fairlead.simulation.traces.build import in_batches
from fairlead.simulation.traces.describing import PERCENTS, STEPS, Counted, Description, describe
from fairlead.simulation.workload import JobBatch, MachineTable, Resource, Workload
from tests.simulation.traces.same import jobs_of

TERMS: tuple[Term, ...] = (
    Requirement("zone", Operator.EQUAL, ("a",)),
    Requirement("zone", Operator.NOT_EQUAL, ("b",)),
    Listed(frozenset({"m0", "m1"})),
    NotListed(frozenset({"m2"})),
    Requirement("gpu", Operator.EXISTS),
)

LABELS: tuple[dict[str, str], ...] = (
    {},
    {"zone": "a"},
    {"zone": "b", "gpu": "x"},
    {"zone": "a", "gpu": "y"},
)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    draws = np.random.Generator(np.random.PCG64(draw(st.integers(0, 2**32))))
    count, jobs, resources = draw(st.integers(0, 4)), draw(st.integers(0, 8)), 2
    events = count + (draw(st.integers(0, 3)) if count else 0)
    tasks = draws.integers(1, 4, jobs)
    rows = np.where(draws.integers(0, 2, jobs) == 1, tasks, 1)
    every = draws.integers(0, 2 ** len(TERMS), (jobs, 1)) & draws.integers(0, 32, (jobs, 1))
    whole = JobBatch(
        names=None,
        submit=np.sort(draws.integers(0, 50, jobs)),
        tenant=draws.integers(-1, 2, jobs),
        demand=draws.integers(0, 4, (jobs, resources)),
        tasks=tasks,
        needs=every.astype(np.uint64),
        spread=draws.integers(0, 2, jobs) == 1,
        gang=draws.integers(1, 3, jobs),
        durations=draws.integers(0, 30, int(rows.sum())),
        first=np.concatenate(([0], np.cumsum(rows))),
    )
    return Workload(
        name="drawn",
        resources=(Resource("cpu", Fraction(1)), Resource("gpu", Fraction(1, 1000), 1000)),
        machines=MachineTable(
            names=tuple(f"m{place}" for place in range(count)),
            labels=tuple(
                label_values(LABELS[place]) for place in draws.integers(0, len(LABELS), count)
            ),
            time=np.concatenate(
                (np.zeros(count, np.int64), np.sort(draws.integers(0, 2, events - count)))
            ),
            machine=np.concatenate(
                (np.arange(count), draws.integers(0, max(1, count), events - count))
            ),
            kind=np.concatenate((np.zeros(count, np.int64), draws.integers(1, 3, events - count))),
            capacity=draws.integers(0, 4, (events, resources)),
        ),
        tenants=(Tenant("a"), Tenant("b")),
        terms=TERMS,
        batches=in_batches(whole, draw(st.integers(1, 9))),
    )


def present(workload: Workload) -> dict[int, list[int]]:
    """The machines that are there at the earliest time, with their capacities."""
    there: dict[int, list[int]] = {}
    table = workload.machines
    for time, machine, kind, capacity in zip(
        table.time, table.machine, table.kind, table.capacity.tolist(), strict=True
    ):
        if time == table.time[0]:
            there[int(machine)] = capacity
            if kind == 1:
                del there[int(machine)]
    return there


def meets(workload: Workload, machine: int, term: Term) -> bool:
    name = workload.machines.names[machine]
    match term:
        case Listed(machines):
            return name in machines
        case NotListed(machines):
            return name not in machines
        case _:
            return term.matches(workload.machines.labels[machine])


def percentile(values: list[float], percent: int) -> float:
    """The least value that at least so many of a hundred do not exceed."""
    return min(
        value
        for value in values
        if 100 * sum(other <= value for other in values) >= percent * len(values)
    )


def slowly(workload: Workload) -> dict[str, object]:
    jobs = jobs_of(workload)
    there = present(workload)
    eligible, nowhere = [], []
    for job in jobs:
        may = [m for m in there if all(meets(workload, m, term) for term in job["needs"])]
        eligible.append(len(may))
        if not any(
            all(need <= have for need, have in zip(job["demand"], there[m], strict=True))
            for m in may
        ):
            nowhere.append(job)
    durations = [duration for job in jobs for duration in job["durations"]]
    capacity = [sum(amounts[place] for amounts in there.values()) for place in range(2)]
    asked = [sum(job["demand"][place] * job["tasks"] for job in jobs) for place in range(2)]
    return {
        "machines": len(there),
        "capacity": tuple(capacity),
        "configurations": len(
            {(tuple(amounts), workload.machines.labels[m]) for m, amounts in there.items()}
        ),
        "jobs": len(jobs),
        "tasks": len(durations),
        "durations": tuple(percentile(durations, p) for p in PERCENTS) if jobs else None,
        "tasks_of_jobs": tuple(percentile([j["tasks"] for j in jobs], p) for p in PERCENTS)
        if jobs
        else None,
        "demand_vectors": len({tuple(job["demand"]) for job in jobs}),
        "spread_tasks": sum(job["tasks"] for job in jobs if job["spread"]),
        "gang_jobs": sum(job["gang"] > 1 for job in jobs),
        "constrained_jobs": sum(bool(job["needs"]) for job in jobs),
        "terms": [
            (
                sum(term in job["needs"] for job in jobs),
                sum(meets(workload, m, term) for m in there),
            )
            for term in TERMS
        ],
        "eligible": tuple(
            percentile([count * 10**6 // len(there) / 10**6 for count in eligible], p)
            for p in PERCENTS
        )
        if jobs and there
        else None,
        "nowhere": (len(nowhere), sum(job["tasks"] for job in nowhere)) if there else (0, 0),
        "at_once": tuple(a / c if c else None for a, c in zip(asked, capacity, strict=True)),
    }


def as_counted(found: Description) -> dict[str, object]:
    names = (
        "machines", "capacity", "configurations", "jobs", "tasks", "durations", "tasks_of_jobs",
        "demand_vectors", "spread_tasks", "gang_jobs", "constrained_jobs", "eligible", "at_once",
    )  # fmt: skip
    return {
        **{name: getattr(found, name) for name in names},
        "terms": [(jobs, machines) for _, jobs, machines in found.terms],
        "nowhere": (found.nowhere_jobs, found.nowhere_tasks),
    }


@given(workloads())
def test_the_numbers_are_those_of_a_slow_count(workload: Workload) -> None:
    assert as_counted(describe(workload)) == slowly(workload)


@given(workloads())
def test_the_load_is_what_tasks_hold_from_their_submission(workload: Workload) -> None:
    found = describe(workload)
    jobs = jobs_of(workload)
    if not jobs or jobs[0]["submit"] == jobs[-1]["submit"]:
        assert found.load == ()
        return
    assert len(found.load) == STEPS
    for part in found.load:
        for place, share in enumerate(part.share):
            if not found.capacity[place]:
                assert share is None
                continue
            held = sum(
                job["demand"][place]
                * max(0, min(part.end, job["submit"] + d) - max(part.begin, job["submit"]))
                for job in jobs
                for d in job["durations"]
            )
            span = max(1, part.end - part.begin)
            assert share == pytest.approx(held / span / found.capacity[place])


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=20),
    st.lists(st.integers(1, 100), min_size=1, max_size=4),
)
def test_percentiles_are_nearest_ranks(pairs: list[tuple[int, int]], percents: list[int]) -> None:
    counted = Counted()
    for value, count in pairs:
        counted.add(np.array([value]), np.array([count]))
    values: list[float] = [value for value, count in pairs for _ in range(count)]
    wanted = [percentile(values, percent) for percent in percents] if values else None
    assert counted.percentiles(percents) == wanted
