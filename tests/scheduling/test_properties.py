"""The papers' claims about the online algorithm: Choosy's Theorem 4, starvation, TSF's Table II and
the case of k-DF 6.3."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random

import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Launch
from fairlead.scheduling.events import Event, JobSubmitted, MachineJoined, TaskFinished
from fairlead.scheduling.options import Options
from fairlead.scheduling.state.ids import Unit
from fairlead.sharing.allocate import allocate
from tests.scheduling.loop import run

SECOND = 10**6
CPU = Unit("cpu", Fraction(1, 2))


def optimum(machines: list[Machine], jobs: list[Job]) -> dict[str, float]:
    """The tasks of each job in the exact max-min fair allocation of the machines."""
    found = allocate(Cluster(machines), jobs, policy="cmmf(resource=cpu)")
    return {share.name: share.tasks for share in found.jobs}


def below(running: Counter[str], best: dict[str, float]) -> float:
    """The most by which any job is below its optimum."""
    return max(tasks - running[job] for job, tasks in best.items())


def start_and_end(seed: int) -> tuple[float, float, int]:
    """By how much any job is below its optimum at the start and after many tasks have ended, and
    the number of jobs."""
    random = Random(seed)
    count = random.randint(2, 4)
    machines = [Machine(f"m{i}", {"cpu": 1}) for i in range(random.randint(40, 70))]
    names = [machine.name for machine in machines]
    jobs = [
        Job(f"j{i}", {"cpu": 1}, machines=random.sample(names, random.randint(20, len(names))))
        for i in range(count)
    ]
    # Not checked: that takes most of the time, and whole worlds are checked elsewhere.
    core = Core([CPU], policy="cmmf(resource=cpu)", placement="first-fit")
    held: list[tuple[str, int]] = []

    def tell(event: Event) -> None:
        held.extend((d.job, d.task) for d in core.handle(event) if isinstance(d, Launch))

    for machine in machines:
        tell(MachineJoined(0, machine))
    # Who comes first holds all that it may use: a start far from what is fair.
    for job in random.sample(jobs, count):
        tell(JobSubmitted(0, job))
    best = optimum(machines, jobs)
    start = below(Counter(job for job, _ in held), best)
    for _ in range(12 * len(machines)):
        name, task = held.pop(random.randrange(len(held)))
        tell(TaskFinished(0, name, task))
    end = below(Counter(job for job, _ in held), best)
    return start, end, count


def test_nobody_stays_more_than_2n_below_its_optimum() -> None:
    # Choosy, Theorem 4: one task a machine, unlimited, unweighted jobs, from any start.
    found = [start_and_end(seed) for seed in range(6)]
    assert all(end <= 2 * count for _, end, count in found)
    unfair = sum(start > 2 * count for start, _, count in found)
    assert unfair >= 3, "the starts should be unfair, or this shows nothing"


def starving(reserve_after: int | None, each: int = 100) -> Counter[str]:
    """All that runs after an hour on four machines of 1 CPU, where tasks of half a CPU came first
    and end one by one, and tasks of a whole one wait. Later tasks take `each` seconds."""
    # Not checked: that takes most of the time, and whole worlds are checked elsewhere.
    core = Core([CPU], policy="tsf", options=Options(reserve_after=reserve_after))
    events: list[Event] = [MachineJoined(0, Machine(f"m{i}", {"cpu": 1})) for i in range(4)]
    events.append(JobSubmitted(0, Job("small", {"cpu": Fraction(1, 2)})))
    events.append(JobSubmitted(SECOND, Job("large", {"cpu": 1})))

    def duration(job: str, task: int) -> int:
        return (10 + task) * SECOND if job == "small" and task < 8 else each * SECOND

    return run(core, events, duration, 3600 * SECOND).running[-1]


def test_large_tasks_wait_for_ever_behind_small_ones_without_reservations() -> None:
    assert starving(None) == Counter(small=8)


def test_with_reservations_large_tasks_run_as_well() -> None:
    assert starving(60 * SECOND)["large"] > 0


@pytest.mark.parametrize("each", [20, 100])
def test_with_reservations_both_reach_a_half(each: int) -> None:
    # Shorter tasks than the wait: one that ends and starts again in its own place is no progress.
    assert starving(60 * SECOND, each) == Counter(small=4, large=2)


@pytest.fixture(scope="module")
def table_ii() -> dict[str, list[tuple[int, float]]]:
    """The shares over time of the jobs of TSF's Table II, under TSF and best fit."""
    return shares_of_table_ii("tsf", "best-fit")


ALONE = {"1": 75, "2": 100, "3": 100, "4": 75}


def shares_of_table_ii(policy: str, placement: str) -> dict[str, list[tuple[int, float]]]:
    """The share of each job after each instant: tasks that run ÷ those that could run alone."""
    gib = Fraction(1, 2)
    units = [CPU, Unit("memory", gib)]
    core = Core(units, policy=policy, placement=placement, checked=False)
    nodes = [Machine(f"n{i:02d}", {"cpu": 1 if i <= 25 else 2, "memory": 1}) for i in range(1, 51)]
    first = [node.name for node in nodes[:25]]
    mixed = [node.name for node in nodes[:10] + nodes[25:35]]
    half = {"cpu": Fraction(1, 2), "memory": gib}
    one = {"cpu": Fraction(1), "memory": gib}
    events: list[Event] = [MachineJoined(0, node) for node in nodes]
    events += [
        JobSubmitted(0, Job("1", one, tasks=1000)),
        JobSubmitted(10 * SECOND, Job("2", half, tasks=150, machines=first)),
        JobSubmitted(150 * SECOND, Job("3", half, tasks=100, machines=mixed)),
        JobSubmitted(150 * SECOND, Job("4", one, tasks=100, machines=mixed)),
    ]
    mean = {"1": 23.2, "2": 18.3, "3": 21.3, "4": 55.6}
    random = Random(1)

    def duration(job: str, task: int) -> int:
        del task
        return round(mean[job] * random.uniform(0.8, 1.2) * SECOND)

    seen = run(core, events, duration, 240 * SECOND)
    return {
        job: [
            (time, running[job] / alone)
            for time, running in zip(seen.times, seen.running, strict=True)
        ]
        for job, alone in ALONE.items()
    }


def mean_between(shares: list[tuple[int, float]], start: float, end: float) -> float:
    """The mean share over that time, in seconds."""
    inside = [share for time, share in shares if start <= time / SECOND <= end]
    return sum(inside) / len(inside)


@pytest.mark.parametrize(
    ("job", "start", "end", "low", "high"),
    [
        ("1", 30, 70, 0.65, 0.68),
        ("2", 30, 70, 0.48, 0.5),
        ("1", 95, 150, 0.97, 1.0),
        ("1", 185, 240, 0.58, 0.64),
        ("3", 185, 240, 0.17, 17 / 75),
        ("4", 185, 240, 0.17, 17 / 75),
    ],
)
def test_the_phases_of_tables_ii(
    table_ii: dict[str, list[tuple[int, float]]],
    job: str,
    start: float,
    end: float,
    low: float,
    high: float,
) -> None:
    assert low <= mean_between(table_ii[job], start, end) <= high


def test_kdf_starts_as_many_tasks_as_in_section_6_3() -> None:
    sizes = [(27, 8, 64), (16, 8, 32), (4, 8, 96), (3, 16, 128)]
    core = Core([CPU, Unit("memory", Fraction(1))], policy="kdf(k=2)", checked=True)
    events: list[Event] = [
        MachineJoined(0, Machine(f"t{kind}-{i}", {"cpu": cpu, "memory": memory}))
        for kind, (count, cpu, memory) in enumerate(sizes)
        for i in range(count)
    ]
    demand = {"1": (Fraction(5, 2), 3), "2": (Fraction(1), 15), "3": (Fraction(1), 10)}
    arrives = {"1": (0, 450), "2": (40, 150), "3": (50, 80)}
    lasts = {"1": 30, "2": 20, "3": 80}
    for job, (start, tasks) in arrives.items():
        cpu, memory = demand[job]
        made = Job(job, {"cpu": cpu, "memory": memory}, tasks=tasks)
        events.append(JobSubmitted(start * SECOND, made))
    seen = run(core, events, lambda job, _: lasts[job] * SECOND, 60 * SECOND)
    assert seen.at(0) == Counter({"1": 159})
    assert seen.at(40 * SECOND) == Counter({"1": 159, "2": 3})
    assert seen.at(50 * SECOND) == Counter({"1": 159, "2": 3})
    assert seen.done == Counter({"1": 318, "2": 3})
