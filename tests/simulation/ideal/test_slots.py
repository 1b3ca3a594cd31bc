"""The ideal schedulers of equal tasks are as good as the best of all allocations."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.simulation.ideal.kinds import Kind
from fairlead.simulation.ideal.slots import Slots

Vector = tuple[float, ...]


@st.composite
def rooms(draw: st.DrawFn) -> tuple[list[int], list[list[bool]], list[int], list[float]]:
    """Slots of each machine; who may use which; tasks; what a task adds to a level."""
    machines = draw(st.integers(1, 4))
    jobs = draw(st.integers(1, 4))
    slots = draw(st.lists(st.integers(0, 2), min_size=machines, max_size=machines))
    usable = [
        draw(st.lists(st.booleans(), min_size=machines, max_size=machines)) for _ in range(jobs)
    ]
    tasks = draw(st.lists(st.integers(1, 4), min_size=jobs, max_size=jobs))
    return slots, usable, tasks, [1.0] * jobs


def best(slots: list[int], usable: list[list[bool]], least: list[int], most: list[int]) -> Vector:
    """The largest sorted vector of tasks, of all that can be placed, by trying."""
    found: Vector = ()
    for counts in product(*(range(low, high + 1) for low, high in zip(least, most, strict=True))):
        vector = tuple(sorted(float(count) for count in counts))
        if vector > found and places(list(slots), usable, list(counts)):
            found = vector
    return found


def places(slots: list[int], usable: list[list[bool]], counts: list[int]) -> bool:
    """Whether so many tasks of each job fit, by trying."""
    job = next((j for j, count in enumerate(counts) if count), None)
    if job is None:
        return True
    counts[job] -= 1
    for machine, room in enumerate(slots):
        if room and usable[job][machine]:
            slots[machine] -= 1
            fits = places(slots, usable, counts)
            slots[machine] += 1
            if fits:
                counts[job] += 1
                return True
    counts[job] += 1
    return False


def room_of(kind: Kind, slots: list[int]) -> Slots:
    return Slots(kind, np.arange(len(slots)), np.array(slots), len(slots))


def held(room: Slots, jobs: int) -> list[int]:
    on = room.on_classes()
    return [int(on[job].sum()) if job in on else 0 for job in range(jobs)]


@pytest.mark.parametrize("kind", list(Kind))
@given(given=rooms())
def test_all_who_come_together_get_the_best_allocation(
    kind: Kind, given: tuple[list[int], list[list[bool]], list[int], list[float]]
) -> None:
    slots, usable, tasks, units = given
    room = room_of(kind, slots)
    for job, row in enumerate(usable):
        room.join(job, np.array(row), tasks[job], units[job])
    room.decide()
    vector = tuple(sorted(float(count) for count in held(room, len(tasks))))
    assert vector == best(slots, usable, [0] * len(tasks), tasks)


@given(given=rooms())
def test_preemption_is_at_the_best_after_every_job_that_comes(
    given: tuple[list[int], list[list[bool]], list[int], list[float]],
) -> None:
    slots, usable, tasks, units = given
    room = room_of(Kind.PREEMPTION, slots)
    for job, row in enumerate(usable):
        room.join(job, np.array(row), tasks[job], units[job])
        room.decide()
        present = tasks[: job + 1]
        vector = tuple(sorted(float(count) for count in held(room, job + 1)))
        assert vector == best(slots, usable[: job + 1], [0] * len(present), present)


@given(given=rooms())
def test_migration_is_the_best_that_keeps_what_runs(
    given: tuple[list[int], list[list[bool]], list[int], list[float]],
) -> None:
    slots, usable, tasks, units = given
    room = room_of(Kind.MIGRATION, slots)
    for job, row in enumerate(usable):
        before = [*held(room, job), 0]
        room.join(job, np.array(row), tasks[job], units[job])
        room.decide()
        after = held(room, job + 1)
        assert all(now >= then for now, then in zip(after, before, strict=True))
        vector = tuple(sorted(float(count) for count in after))
        assert vector == best(slots, usable[: job + 1], before, tasks[: job + 1])


@given(given=rooms(), ends=st.lists(st.integers(0, 100), max_size=6))
def test_tasks_that_end_leave_every_kind_within_its_slots(
    given: tuple[list[int], list[list[bool]], list[int], list[float]], ends: list[int]
) -> None:
    slots, usable, tasks, units = given
    for kind in Kind:
        room = room_of(kind, slots)
        where: dict[int, list[int]] = {job: [] for job in range(len(tasks))}

        def note(room: Slots = room, where: dict[int, list[int]] = where) -> None:
            for placed in room.decide():
                for _ in range(placed.tasks):
                    where[placed.job].append(placed.machine)
                for _ in range(-placed.tasks):
                    where[placed.job].pop()

        for job, row in enumerate(usable):
            room.join(job, np.array(row), tasks[job], units[job])
            note()
        for draw in ends:
            running = [job for job, machines in where.items() if machines]
            if not running:
                break
            job = running[draw % len(running)]
            room.end(job, where[job].pop(0))
            note()
            on = room.on_classes()
            total = sum(on.values(), np.zeros(len(slots), np.int64))
            assert (total <= np.array(slots)).all()
            assert all(not on[j][~np.array(usable[j])].any() for j in on)
            assert held(room, len(tasks)) == [len(where[j]) for j in range(len(tasks))]


def test_a_job_that_comes_late_gets_a_slot_by_moving_another() -> None:
    room = room_of(Kind.MIGRATION, [1, 1])
    room.join(0, np.array([True, True]), 1, 1.0)
    room.decide()
    room.join(1, np.array([True, False]), 1, 1.0)
    room.decide()
    assert held(room, 2) == [1, 1]


def test_without_migration_what_runs_stays_in_the_way() -> None:
    room = room_of(Kind.RESTRICTED, [1, 1])
    room.join(0, np.array([True, True]), 1, 1.0)
    room.decide()
    room.join(1, np.array([True, False]), 1, 1.0)
    room.decide()
    assert held(room, 2) == [1, 0]


def test_preemption_takes_from_who_has_more_and_migration_does_not() -> None:
    for kind, expected in ((Kind.PREEMPTION, [2, 2]), (Kind.MIGRATION, [4, 0])):
        room = room_of(kind, [1, 1, 1, 1])
        room.join(0, np.ones(4, np.bool_), 8, 1.0)
        room.decide()
        room.join(1, np.ones(4, np.bool_), 8, 1.0)
        room.decide()
        assert held(room, 2) == expected


def test_periodic_gives_a_slot_to_whom_the_target_has_there() -> None:
    room = room_of(Kind.PERIODIC, [1, 1])
    room.join(0, np.ones(2, np.bool_), 8, 1.0)
    room.decide()
    room.join(1, np.ones(2, np.bool_), 8, 1.0)
    room.decide()
    assert held(room, 2) == [2, 0]
    target = room.target
    assert target is not None
    (his,) = np.flatnonzero(target.on_classes()[1])
    room.end(0, 1 - int(his))  # the other one: it goes back, as Choosy's section 7.2 tells
    room.decide()
    assert held(room, 2) == [2, 0]
    room.end(0, int(his))
    room.decide()
    assert held(room, 2) == [1, 1]


def test_a_task_that_stays_gets_the_first_machine_in_the_order_that_is_given() -> None:
    for order, expected in ((None, 0), (np.array([2, 0, 1]), 2)):
        room = Slots(Kind.RESTRICTED, np.zeros(3, np.int64), np.ones(3, np.int64), 1, order)
        room.join(0, np.ones(1, np.bool_), 1, 1.0)
        (placed,) = room.decide()
        assert placed.machine == expected
        room.end(0, expected)
        room.join(1, np.ones(1, np.bool_), 1, 1.0)
        assert [placed.machine for placed in room.decide()] == [expected]
