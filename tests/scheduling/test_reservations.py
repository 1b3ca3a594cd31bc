"""For whom machines are reserved: for large tasks that smaller ones keep out, and never at the
expense of who has less."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import (
    Event,
    JobSubmitted,
    MachineChanged,
    MachineJoined,
    TaskFinished,
    TenantChanged,
    TimePassed,
)
from fairlead.scheduling.kernels.change.in_line import KINDS
from fairlead.scheduling.options import Options
from fairlead.scheduling.state.ids import Unit
from tests.reference import online_line
from tests.scheduling.agreement import failure, make_core
from tests.scheduling.draw import Case, draw
from tests.scheduling.loop import run

SECOND = 10**6
SMALL = Job("small", {"cpu": 1}, tenant="s", where="zone = cpu")
LARGE = Job("large", {"cpu": 4}, tenant="l", where="zone = cpu")
CPU = tuple(Machine(f"m{i}", {"cpu": 4}, {"zone": "cpu"}) for i in range(4))
GPU = Machine("g", {"cpu": 4}, {"zone": "gpu"})
FOUND_OUT = 5
"""The seed of a sequence in which a machine is left out for whom others run there."""
NEXT_ASKED = 0
"""The seed of one in which nothing can be reserved for the first in line, but for another."""


def held(
    *jobs: Job,
    large: int,
    machines: Sequence[Machine] = CPU,
    limit: tuple[str, int] | None = None,
    filling: bool = True,
) -> dict[str, float]:
    """How many tasks of each job run on average in the second half of two hours. Those of large
    ones take `large` seconds, all others 100 on average; a tenant has a limit of CPUs."""
    # Not checked: that takes most of the time, and whole worlds are checked elsewhere.
    core = Core([Unit("cpu")], options=Options(filling=filling))
    events: list[Event] = [MachineJoined(0, machine) for machine in machines]
    for name in dict.fromkeys(job.tenant for job in jobs):
        assert name is not None
        most = {"cpu": limit[1]} if limit is not None and limit[0] == name else {}
        events.append(TenantChanged(0, Tenant(name, limit=most)))
    events += [JobSubmitted(SECOND if job is LARGE else 0, job) for job in jobs]
    random, end = Random(1), 7200 * SECOND

    def duration(job: str, _task: int) -> int:
        return (large if job == "large" else random.randint(1, 200)) * SECOND

    seen = run(core, events, duration, end)
    sums = dict.fromkeys((job.name for job in jobs), 0)
    moments = [*zip(seen.times, seen.running, strict=True), (end, seen.running[-1])]
    for (time, running), (until, _) in pairwise(moments):
        for name in sums:
            sums[name] += running[name] * max(0, until - max(time, end // 2))
    return {name: total / (end // 2) for name, total in sums.items()}


@pytest.mark.parametrize("large", [10, 100])
def test_who_has_more_takes_no_machine_from_who_has_less(large: int) -> None:
    assert held(SMALL, LARGE, large=large) == {"small": 8, "large": 2}


def test_an_older_version_took_them_and_what_it_left_goes_on_so() -> None:
    assert held(SMALL, LARGE, large=10, filling=False)["large"] < 1


def test_the_next_in_line_has_its_turn_where_nothing_can_be_reserved_for_the_first() -> None:
    alone = Job("alone", {"cpu": 1}, tenant="a", where="zone = gpu")
    jobs = (SMALL, LARGE, alone)
    fair = {"small": 8, "large": 2, "alone": 4}
    assert held(*jobs, large=100, machines=(*CPU, GPU)) == fair
    blocked = held(*jobs, large=100, machines=(*CPU, GPU), filling=False)
    assert blocked["large"] == 1, "as long as it has less than the one that is alone"


def test_many_that_are_alike_are_asked_as_one() -> None:
    alone = [Job(f"alone{i}", {"cpu": 1}, tenant="a", where="zone = gpu") for i in range(KINDS + 4)]
    found = held(SMALL, LARGE, *alone, large=100, machines=(*CPU, GPU))
    assert found["large"] == 2


def test_where_each_end_makes_room_alone_nothing_is_reserved() -> None:
    core = Core([Unit("cpu")], options=Options(reserve_after=SECOND))
    events: list[Event] = [MachineJoined(0, Machine(f"m{i}", {"cpu": 2})) for i in range(4)]
    events += [JobSubmitted(0, Job(f"j{i}", {"cpu": 1})) for i in range(5)]
    random = Random(3)
    seen = run(core, events, lambda *_: random.randint(1, 200) * SECOND, 1000 * SECOND)
    assert len(seen.times) > 50
    assert core.state.header[0]["reservations"] == 0
    assert core.wake() is None


def test_who_is_held_back_by_a_limit_keeps_what_it_may_have() -> None:
    assert held(SMALL, LARGE, large=20, limit=("l", 8)) == {"small": 8, "large": 2}


def test_few_small_tasks_at_a_limit_do_not_keep_large_ones_out() -> None:
    assert held(SMALL, LARGE, large=20, limit=("s", 3))["large"] > 2


@pytest.mark.parametrize("first", [[], [TimePassed(5 * SECOND)]])
def test_a_reservation_stays_where_its_machine_changes_and_still_serves(
    first: list[Event],
) -> None:
    """Just as the job takes others than it prefers; it would get none now, as tasks that came
    meanwhile are of who has less."""
    liked, other = (Machine("m0", {"cpu": 8}, {"zone": zone}) for zone in "ba")
    small = Job("small", {"cpu": 1}, tenant="s", machines=["m0"], tasks=8)
    large = Job("large", {"cpu": 8}, tenant="l", prefer="zone = b", prefer_for=5)
    more = Job("more", {"cpu": 1}, tenant="s", tasks=8)
    instants: list[list[Event]] = [
        [TenantChanged(0, Tenant("l")), TenantChanged(0, Tenant("s", weight=1000))],
        [MachineJoined(0, liked), MachineJoined(0, Machine("m1", {"cpu": 8}, {"zone": "b"}))],
        [JobSubmitted(0, small)],
        [JobSubmitted(0, large)],
        [TimePassed(2 * SECOND)],
        [JobSubmitted(3 * SECOND, more)],
        [*first, MachineChanged(5 * SECOND, other)],
        [TaskFinished(6 * SECOND, "small", 0)],
    ]
    case = Case(0, "drf", "best-fit", SECOND, 60 * SECOND, True, tuple(map(tuple, instants)))
    assert failure(case) is None
    core, owners, launched = make_core(case), [], []
    for instant in case.instants:
        for event in instant:
            core.apply(event)
        launched = core.decide()
        owners.append(core.state.machine[0]["reserved"])
    assert owners[-4:] == [1] * 4
    assert launched == []


def test_a_reference_that_leaves_out_no_machine_for_others_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = draw(FOUND_OUT)
    assert failure(case) is None
    monkeypatch.setattr(online_line, "others", lambda *_: False)
    assert failure(case) is not None


def test_a_reference_that_asks_nobody_behind_the_first_in_line_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = draw(NEXT_ASKED)
    assert failure(case) is None
    monkeypatch.setattr(online_line, "KINDS", 1)
    assert failure(case) is not None
