"""Devices in whole tasks: a part is on a single device, by every rule, or the parts are refused."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from random import Random

import pytest

from fairlead.model.allocation import Allocation
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.shares import Tasks
from fairlead.model.tenant import Tenant
from fairlead.sharing.allocate import allocate
from fairlead.sharing.rules.whole_names import whole_names

COUNTABLE = (("0.5", "0.25"), ("0.6",), ("0.3",), ("0.1", "0.5"), ("0.3", "0.15"), ("0.125", "0.5"))


def shared(cluster: Cluster, jobs: Sequence[Job], rule: str = "tsf") -> Allocation:
    return allocate(cluster, jobs, rule, Tasks.WHOLE)


@cache
def put_on(needs: tuple[Fraction, ...], free: tuple[Fraction, ...]) -> bool:
    """Whether the tasks can be put on devices with so much left (in order), by trying every way."""
    if not needs:
        return True
    first, rest = needs[0], needs[1:]
    if first >= 1:
        empty = [at for at, room in enumerate(free) if room == 1]
        left = tuple(room for at, room in enumerate(free) if at not in empty[: int(first)])
        return len(empty) >= first and put_on(rest, left)
    return any(
        put_on(rest, tuple(sorted((*free[:at], room - first, *free[at + 1 :]))))
        for at, room in enumerate(free)
        if room >= first and room not in free[:at]
    )


def needs_on(packing: Sequence[tuple[str, int]], by_name: dict[str, Job]) -> tuple[Fraction, ...]:
    needs = [by_name[name].demand["gpu"] for name, tasks in packing for _ in range(tasks)]
    return tuple(sorted(needs, reverse=True))


def test_no_task_is_on_parts_of_two_devices() -> None:
    cluster = Cluster([Machine(f"g{i}", {"gpu": 2}) for i in range(2)], devices=["gpu"])
    (job,) = shared(cluster, [Job("a", {"gpu": "0.6"}, tasks=9)]).jobs
    assert (job.tasks, job.alone) == (4, 4)
    alike = Cluster(cluster.machines)  # not a device: any amounts
    (job,) = shared(alike, [Job("a", {"gpu": "0.6"}, tasks=9)]).jobs
    assert job.tasks == 6


@pytest.mark.parametrize("seed", range(8))
def test_drawn_parts_fit_and_leave_no_room_for_more(seed: int) -> None:
    random = Random(seed)
    devices = {f"g{i}": random.randint(1, 3) for i in range(random.randint(1, 2))}
    cluster = Cluster([Machine(name, {"gpu": n}) for name, n in devices.items()], devices=["gpu"])
    wanted = random.choices([*random.choice(COUNTABLE), "1", "2"], k=random.randint(1, 3))
    jobs = {f"j{i}": Job(f"j{i}", {"gpu": need}) for i, need in enumerate(wanted)}
    found = shared(cluster, list(jobs.values()))
    assert found.whole is not None
    machines = {group.index: group.machines for group in found.classes}
    used = dict.fromkeys(machines, 0)
    for packing in found.whole.packings:
        used[packing.machine_class] += int(packing.machines)
        free = (Fraction(1),) * devices[machines[packing.machine_class][0]]
        needs = needs_on(packing.jobs, jobs)
        assert put_on(needs, free), (devices, wanted, packing)
        for job in jobs.values():
            more = tuple(sorted([*needs, job.demand["gpu"]], reverse=True))
            assert not put_on(more, free), (devices, wanted, packing, job)
    for index, number in used.items():
        unused = len(machines[index]) > number
        fits = min(job.demand["gpu"] for job in jobs.values()) <= devices[machines[index][0]]
        assert not (unused and fits)


@pytest.mark.parametrize("rule", ["tsf", *whole_names()])
def test_parts_that_cannot_be_counted_are_refused_by_all_rules(rule: str) -> None:
    cluster = Cluster([Machine("g", {"gpu": 2})], devices=["gpu"])
    jobs = [Job("a", {"gpu": "0.5"}, tasks=2), Job("b", {"gpu": "0.3"}, tasks=2)]
    right = "parts of gpu that do not divide each other: b asks for 0.3 and a asks for 0.5"
    with pytest.raises(InputError, match=right):
        shared(cluster, jobs, rule)
    with pytest.raises(InputError, match=r'job "a", demand, gpu: a task asks for 1\.5, and gpu'):
        shared(cluster, [Job("a", {"gpu": "1.5"}, tasks=2)], rule)


def test_on_single_devices_parts_are_as_amounts() -> None:
    cluster = Cluster([Machine("g", {"gpu": 1})], devices=["gpu"])
    jobs = [Job("a", {"gpu": "0.6"}, tasks=1), Job("b", {"gpu": "0.4"}, tasks=1)]
    assert [job.tasks for job in shared(cluster, jobs).jobs] == [1, 1]


def test_a_limit_counts_what_tasks_ask_for() -> None:
    cluster = Cluster(
        [Machine("g", {"gpu": 2})], [Tenant("t", limit={"gpu": "0.9"})], devices=["gpu"]
    )
    (job,) = shared(cluster, [Job("a", {"gpu": "0.3"}, tenant="t", tasks=6)]).jobs
    assert job.tasks == 3
