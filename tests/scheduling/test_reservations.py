"""For whom machines are reserved: for large tasks that smaller ones keep out, and never at the
expense of who has less."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import Event, JobSubmitted, MachineJoined, TenantChanged
from fairlead.scheduling.options import Options
from fairlead.scheduling.state.ids import Unit
from tests.reference import online_line
from tests.scheduling.agreement import failure
from tests.scheduling.draw import draw
from tests.scheduling.loop import run

SECOND = 10**6
SMALL = Job("small", {"cpu": 1}, tenant="s")
LARGE = Job("large", {"cpu": 4}, tenant="l")
CPU = tuple(Machine(f"m{i}", {"cpu": 4}) for i in range(4))
FOUND_OUT = 5
"""The seed of a sequence in which a machine is left out for whom others run there."""


def held(
    *jobs: Job,
    large: int,
    limit: tuple[str, int] | None = None,
    filling: bool = True,
) -> dict[str, float]:
    """How many tasks of each job run on average in the second half of two hours. Those of large
    ones take `large` seconds, all others 100 on average; a tenant has a limit of CPUs."""
    # Not checked: that takes most of the time, and whole worlds are checked elsewhere.
    core = Core([Unit("cpu")], options=Options(filling=filling))
    events: list[Event] = [MachineJoined(0, machine) for machine in CPU]
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


def test_who_is_held_back_by_a_limit_keeps_what_it_may_have() -> None:
    assert held(SMALL, LARGE, large=20, limit=("l", 8)) == {"small": 8, "large": 2}


def test_few_small_tasks_at_a_limit_do_not_keep_large_ones_out() -> None:
    assert held(SMALL, LARGE, large=20, limit=("s", 3))["large"] > 2


def test_a_reference_that_leaves_out_no_machine_for_others_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = draw(FOUND_OUT)
    assert failure(case) is None
    monkeypatch.setattr(online_line, "others", lambda *_: False)
    assert failure(case) is not None
