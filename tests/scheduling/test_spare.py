"""What others may have of a reserved machine: what is free beyond the tasks counted on there."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.scheduling.core import Core
from fairlead.scheduling.dump import dump, load
from fairlead.scheduling.events import (
    Event,
    JobSubmitted,
    MachineChanged,
    MachineDrained,
    MachineJoined,
    TaskFinished,
    TimePassed,
)
from fairlead.scheduling.options import Options
from fairlead.scheduling.state.ids import Unit
from fairlead.scheduling.why.values import ReservedForOthers
from tests.reference import online_line
from tests.scheduling.agreement import failure
from tests.scheduling.draw import draw
from tests.scheduling.test_dump import without

SECOND = 10**6
UNITS = (Unit("cpu", Fraction(1, 10)), Unit("gpu", Fraction(1, 4), 4))
FOUND_OUT = 56
"""The seed of a sequence in which a task has what is free beside a reservation."""


def core_with(*told: Event, filling: bool = True) -> Core:
    core = Core(UNITS, options=Options(reserve_after=SECOND, filling=filling), checked=True)
    for event in told:
        core.apply(event)
    core.decide()
    return core


def reserved(large: Job, capacity: dict[str, Fraction | int], filling: bool = True) -> Core:
    """A machine full of tasks of one CPU, which is reserved for `large`; then these end one after
    the other."""
    joined = MachineJoined(0, Machine("m", capacity))
    core = core_with(joined, JobSubmitted(0, Job("ones", {"cpu": 1}, tasks=4)), filling=filling)
    assert core.why("ones").running == 4
    core.handle(JobSubmitted(SECOND, large))
    core.handle(TimePassed(3 * SECOND))
    assert core.state.machine["reserved"][0] == core.ids.jobs["large"]
    return core


def started(core: Core, *told: Event) -> list[str]:
    for event in told:
        core.apply(event)
    return [each.job for each in core.decide()]


def small(name: str, time: int, **demand: float | Fraction | int) -> Event:
    return JobSubmitted(time * SECOND, Job(name, demand, tasks=1))


LARGE = Job("large", {"cpu": 3}, tasks=1)


def ended(time: int, *tasks: int) -> list[Event]:
    return [TaskFinished(time * SECOND, "ones", task) for task in tasks]


def test_of_what_is_missing_nobody_else_gets_any() -> None:
    core = reserved(LARGE, {"cpu": Fraction(9, 2)})
    assert started(core, small("half", 4, cpu=Fraction(1, 2))) == []
    [reason] = [r for r in core.why("half").reasons if isinstance(r, ReservedForOthers)]
    assert reason.whom == (("large", 1),)
    assert started(core, *ended(5, 0, 1)) == []
    assert started(core, *ended(6, 2)) == ["large", "half"]


def test_a_gang_that_spreads_costs_no_more_than_its_tasks() -> None:
    names = [f"m{i}" for i in range(5)]
    told: list[Event] = [MachineJoined(0, Machine(name, {"cpu": 1})) for name in names]
    told.append(JobSubmitted(0, Job("endless", {"cpu": 1}, machines=["m0"])))
    core = core_with(*told)
    gang = Job("gang", {"cpu": Fraction(1, 10)}, tasks=5, gang=5, spread=True)
    core.handle(JobSubmitted(SECOND, gang))
    core.handle(JobSubmitted(SECOND, Job("others", {"cpu": Fraction(3, 10)}, machines=names[1:])))
    core.handle(TimePassed(9 * SECOND))
    assert core.why("others").running == 4 * 3
    assert started(core, TaskFinished(9 * SECOND, "endless", 0)) == ["gang"] * 5


def test_who_wants_nothing_of_what_is_missing_is_let_in() -> None:
    large = Job("large", {"cpu": 2, "gpu": 2}, tasks=1)
    told = [MachineJoined(0, Machine("m", {"cpu": 8, "gpu": 2}))]
    core = core_with(*told, JobSubmitted(0, Job("parts", {"gpu": Fraction(1, 2)}, tasks=4)))
    core.handle(JobSubmitted(SECOND, large))
    core.handle(TimePassed(3 * SECOND))
    assert core.state.machine["reserved"][0] == core.ids.jobs["large"]
    assert started(core, small("cpus", 4, cpu=6)) == ["cpus"]
    assert started(core, small("more", 4, cpu=1)) == []
    assert started(core, small("gpu", 5, gpu=Fraction(1, 4))) == []
    [reason] = [r for r in core.why("gpu").reasons if isinstance(r, ReservedForOthers)]
    assert reason.whom == (("large", 1),)


def test_whole_devices_that_are_counted_on_stay_whole() -> None:
    large = Job("large", {"cpu": 3, "gpu": 1}, tasks=1)
    core = reserved(large, {"cpu": 4, "gpu": 2})
    assert started(core, small("whole", 4, gpu=1)) == ["whole"]
    assert started(core, small("half", 4, gpu=Fraction(1, 2))) == []
    assert started(core, TaskFinished(5 * SECOND, "whole", 0)) == ["half"]
    assert started(core, small("other", 6, gpu=Fraction(1, 2))) == ["other"]
    assert started(core, small("third", 7, gpu=Fraction(1, 2))) == []
    assert started(core, *ended(8, 0, 1, 2)) == ["large"]


def test_of_devices_of_which_parts_are_counted_on_nobody_else_gets_any() -> None:
    large = Job("large", {"cpu": 3, "gpu": Fraction(1, 4)}, tasks=1)
    core = reserved(large, {"cpu": 4, "gpu": 2})
    assert started(core, small("whole", 4, gpu=1)) == []
    assert started(core, *ended(5, 0, 1, 2)) == ["large", "whole"]


@pytest.mark.parametrize("filling", [True, False])
def test_an_older_version_kept_whole_machines(filling: bool) -> None:
    core = reserved(LARGE, {"cpu": 4, "gpu": 1}, filling)
    assert started(core, small("gpu", 4, gpu=1)) == ["gpu"] * filling


def test_a_dump_that_does_not_say_what_is_counted_on_is_read() -> None:
    core = reserved(LARGE, {"cpu": 4})
    load(without(dump(core), "machine.wanted")).check()


def test_a_reference_that_keeps_whole_machines_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = draw(FOUND_OUT)
    assert failure(case) is None
    monkeypatch.setattr(online_line, "leaves", lambda *_: False)
    assert failure(case) is not None


def test_nobody_takes_parts_of_devices_while_too_few_are_whole() -> None:
    """Else each quarter that ends would be somebody's again, and no device ever whole."""
    parts, whole = Job("ones", {"gpu": Fraction(1, 4)}), Job("whole", {"gpu": 1}, tasks=1)
    core = core_with(MachineJoined(0, Machine("m", {"gpu": 2})), JobSubmitted(0, parts))
    assert core.why("ones").running == 8
    core.handle(JobSubmitted(SECOND, whole))
    core.handle(TimePassed(3 * SECOND))
    assert core.state.machine["reserved"][0] == core.ids.jobs["whole"]
    for task in range(3):
        assert started(core, *ended(4, task)) == []
    assert started(core, *ended(5, 3)) == ["whole"]


def beside_wide(cpus: int) -> Core:
    """A machine of 8 CPUs, full with a task of 5 and three of 1, is reserved for one of so many;
    more of 1 wait."""
    told = [MachineJoined(0, Machine("m", {"cpu": 8})), small("wide", 0, cpu=5)]
    core = core_with(*told, JobSubmitted(0, Job("ones", {"cpu": 1})))
    core.handle(JobSubmitted(SECOND, Job("large", {"cpu": cpus}, tasks=1)))
    core.handle(TimePassed(3 * SECOND))
    assert core.state.machine["reserved"][0] == core.ids.jobs["large"]
    return core


WIDE = TaskFinished(9 * SECOND, "wide", 0)


def test_what_must_end_in_any_case_is_not_waited_for_with_idle_room() -> None:
    """Beside 5 of 8 CPUs 6 never fit: until those are free 2 are left for others."""
    core = beside_wide(6)
    assert started(core, *ended(4, 0)) == []
    assert started(core, *ended(5, 1)) == ["ones"]
    assert started(core, *ended(6, 2)) == ["ones"]
    assert started(core, WIDE) == ["large"]


def test_what_it_would_fit_beside_need_not_end() -> None:
    core = beside_wide(3)
    for task in range(2):
        assert started(core, *ended(4 + task, task)) == []
    assert started(core, *ended(6, 2)) == ["large"]


def test_what_a_gang_counts_on_there_is_more_than_one_task() -> None:
    """Beside 5 of 8 CPUs one task of 2 fits, but not both that are counted on: the third CPU that
    becomes free is of no use to them before all 5 are."""
    told = [MachineJoined(0, Machine("m", {"cpu": 8})), small("wide", 0, cpu=5)]
    core = core_with(*told, JobSubmitted(0, Job("ones", {"cpu": 1}, machines=["m"])))
    core.handle(JobSubmitted(SECOND, Job("gang", {"cpu": 2}, tasks=2, gang=2)))
    core.handle(TimePassed(3 * SECOND))
    assert core.state.machine["reserved"][0] == core.ids.jobs["gang"]
    for task in range(2):
        assert started(core, *ended(4 + task, task)) == []
    assert started(core, *ended(6, 2)) == ["ones"]
    assert started(core, WIDE) == ["gang", "gang", "ones", "ones", "ones"]


def test_a_gang_finds_what_fits_beside_a_task_that_stays() -> None:
    """Beside 4 of 8 CPUs one of its tasks of 3 fits, and the other one starts elsewhere: the room
    for the one is nobody else's, though two of them never fit while those 4 are held."""
    told = [MachineJoined(0, Machine("m", {"cpu": 8})), small("wide", 0, cpu=4)]
    core = core_with(*told, JobSubmitted(0, Job("ones", {"cpu": 1}, machines=["m"])))
    core.handle(JobSubmitted(SECOND, Job("gang", {"cpu": 3}, tasks=2, gang=2)))
    core.handle(TimePassed(3 * SECOND))
    assert core.state.machine["reserved"][0] == core.ids.jobs["gang"]
    for task in range(3):
        assert started(core, *ended(4 + task, task)) == []
    assert started(core, *ended(7, 3)) == ["ones"]
    beyond = MachineJoined(8 * SECOND, Machine("n", {"cpu": 3}))
    assert started(core, beyond) == ["gang", "gang"]


def test_others_are_asked_when_more_must_end_though_no_more_is_free() -> None:
    """When the task of 8 ends one of 11 starts in its place, whose next one the machine stays
    reserved for. That one must end first: what is left beside it is anybody's."""
    core = Core(UNITS[:1], options=Options(reserve_after=SECOND), checked=True)
    for name, cpus in (("far", 11), ("m", 15)):
        core.apply(MachineJoined(0, Machine(name, {"cpu": cpus})))
    for name, cpus in (("eight", 8), ("seven", 7)):
        core.apply(JobSubmitted(0, Job(name, {"cpu": cpus}, tasks=1, machines=["m"])))
    core.apply(JobSubmitted(0, Job("large", {"cpu": 11}, tasks=3)))
    assert started(core) == ["eight", "seven", "large"]
    core.apply(MachineDrained(0, "far"))
    core.handle(MachineChanged(0, Machine("m", {"cpu": 20})))
    core.handle(TimePassed(3 * SECOND))
    assert core.state.machine["reserved"][1] == core.ids.jobs["large"]
    assert started(core, small("two", 4, cpu=2)) == []
    over = [TaskFinished(5 * SECOND, name, 0) for name in ("eight", "large")]
    assert started(core, *over) == ["large", "two"]


def test_with_what_must_end_all_becomes_free_that_it_holds() -> None:
    """Also of what would do beside it."""
    units = (Unit("cpu"), Unit("memory"))
    core = Core(units, options=Options(reserve_after=SECOND), checked=True)
    core.apply(MachineJoined(0, Machine("m", {"cpu": 8, "memory": 8})))
    core.apply(JobSubmitted(0, Job("wide", {"cpu": 5, "memory": 2}, tasks=1)))
    core.apply(JobSubmitted(0, Job("ones", {"cpu": 1, "memory": 2})))
    core.decide()
    core.handle(JobSubmitted(SECOND, Job("large", {"cpu": 4, "memory": 2}, tasks=1)))
    core.handle(TimePassed(3 * SECOND))
    assert started(core, *ended(4, 0)) == ["ones"]
    assert started(core, WIDE) == ["large"]


NEED_IT = 77
"""The seed of a sequence in which somebody has room beside what must end."""


def test_a_reference_that_lets_it_stand_idle_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    case = draw(NEED_IT)
    assert failure(case) is None
    monkeypatch.setattr(online_line, "must_end", lambda _world, job, *_: [0] * len(job.demand))
    assert failure(case) is not None
