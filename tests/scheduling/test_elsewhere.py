"""A core where another scheduler places: it launches nothing, and counts what it is told."""

from __future__ import annotations

import random
from contextlib import suppress
from fractions import Fraction

import pytest

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.scheduling import events
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Launch
from fairlead.scheduling.dump import dump, load
from fairlead.scheduling.options import Options
from fairlead.scheduling.placement.registry import ELSEWHERE
from fairlead.scheduling.reading.lookup import next_task, task_state
from fairlead.scheduling.reconfigure import reconfigure
from fairlead.scheduling.state.ids import Unit
from fairlead.scheduling.transitions import TaskState
from tests.scheduling.draw import draw

UNITS = [Unit("cpu"), Unit("memory")]


def core_of(placement: str = ELSEWHERE) -> Core:
    core = Core(UNITS, placement=placement, options=Options(reserve_after=None), checked=True)
    core.handle(events.MachineJoined(0, Machine("m", {"cpu": 4, "memory": 4}, {"zone": "a"})))
    core.handle(events.JobSubmitted(1, Job("j", {"cpu": 3}, tasks=3, where="zone = b")))
    return core


def test_nothing_is_launched_and_a_placed_task_runs() -> None:
    core = core_of()
    core.handle(events.JobSubmitted(2, Job("k", {"cpu": 1}, tasks=2)))
    assert core.decide() == []
    assert next_task(core, "k") == (0, 1)
    assert core.handle(events.TaskPlaced(3, "k", 0, "m")) == []
    assert task_state(core, "k", 0) is TaskState.RUNNING
    assert next_task(core, "k") == (1, 1)
    core.handle(events.TaskLost(4, "k", 0))
    assert next_task(core, "k") == (0, 2)


def test_what_does_not_fit_or_may_not_be_there_counts_too() -> None:
    core = core_of()
    for task in range(3):
        core.handle(events.TaskPlaced(2, "j", task, "m"))
    assert core.state.free[0].tolist() == [4 - 9, 4]
    for task in range(3):
        core.handle(events.TaskFinished(3, "j", task))
    assert core.state.free[0].tolist() == [4, 4]


def test_a_job_that_spreads_may_have_two_parts_on_a_machine() -> None:
    core = core_of()
    core.handle(events.JobSubmitted(2, Job("s", {"cpu": 1}, tasks=4, gang=2, spread=True)))
    for task in range(2):
        core.handle(events.TaskPlaced(3, "s", task, "m"))
    core.handle(events.TaskFinished(4, "s", 0))
    core.handle(events.TaskFinished(4, "s", 1))


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (events.TaskPlaced(2, "j", 1, "m"), "the next task of the job is 0"),
        (events.TaskPlaced(2, "j", 0, "n"), "n"),
        (events.TaskPlaced(2, "k", 0, "m"), "there is no such job"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(event: events.Event, why: str) -> None:
    core = core_of()
    before = core.digest()
    with pytest.raises(InputError, match=why):
        core.apply(event)
    assert core.digest() == before


def test_nothing_waits_nothing_is_placed() -> None:
    core = core_of()
    for task in range(3):
        core.handle(events.TaskPlaced(2, "j", task, "m"))
    with pytest.raises(InputError, match="no task of the job waits"):
        core.apply(events.TaskPlaced(3, "j", 3, "m"))


def test_devices_and_a_core_that_places_take_no_placed_tasks() -> None:
    core = Core([Unit("cpu"), Unit("gpu", piece=1)], placement=ELSEWHERE)
    core.handle(events.MachineJoined(0, Machine("m", {"cpu": 4, "gpu": 4})))
    core.handle(events.JobSubmitted(1, Job("j", {"gpu": 1}, tasks=3)))
    with pytest.raises(InputError, match="which gpu it has is not known"):
        core.apply(events.TaskPlaced(2, "j", 0, "m"))
    with pytest.raises(InputError, match="places tasks itself"):
        core_of("first-fit").apply(events.TaskPlaced(2, "j", 0, "m"))


def test_it_goes_on_as_a_core_that_places_and_back() -> None:
    core = core_of()
    core.handle(events.JobSubmitted(2, Job("k", {"cpu": 3}, tasks=2)))
    for task in range(2):
        core.handle(events.TaskPlaced(3, "j", task, "m"))
    other = reconfigure(core, 4, "tsf", "first-fit", Options(reserve_after=None))
    assert other.decide() == []
    said = [each for task in range(2) for each in other.handle(events.TaskFinished(5, "j", task))]
    assert [each.job for each in said if isinstance(each, Launch)] == ["k"]
    back = reconfigure(other, 6, "tsf", ELSEWHERE, Options())
    assert back.handle(events.TaskFinished(7, "k", 0)) == []
    assert load(dump(back)).digest() == back.digest()


@pytest.mark.parametrize("seed", range(6))
def test_counts_hold_whatever_happens(seed: int) -> None:
    """Sequences as they are drawn for the core, with tasks placed anywhere at any moment."""
    rng = random.Random(seed)
    case = draw(seed)
    units = [Unit("cpu", Fraction(1, 2)), Unit("memory", Fraction(1)), Unit("gpu", Fraction(1, 4))]
    core = Core(units, case.policy, ELSEWHERE, Options(reserve_after=None), checked=True)
    placed = 0
    for instant in case.instants:
        time = core.now
        for event in instant:
            if isinstance(event, events.TimePassed) and event.time < core.now:
                continue
            with suppress(InputError):
                core.apply(event)
        for _ in range(rng.randrange(4)):
            jobs, machines = list(core.ids.jobs), list(core.ids.machines)
            if not jobs or not machines:
                continue
            name = rng.choice(jobs)
            if core.state.job[core.ids.jobs[name]]["waiting"] == 0:
                continue
            number, _ = next_task(core, name)
            core.apply(events.TaskPlaced(max(time, core.now), name, number, rng.choice(machines)))
            placed += 1
        assert not [each for each in core.decide() if isinstance(each, Launch)]
    assert placed
    assert load(dump(core)).digest() == core.digest()
