"""Whose turn it is, and next, where another scheduler places."""

from __future__ import annotations

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling import events
from fairlead.scheduling.core import Core
from fairlead.scheduling.placement.registry import ELSEWHERE
from fairlead.scheduling.reading.line import line_of
from fairlead.scheduling.state.ids import Unit


def core_of(*jobs: Job) -> Core:
    core = Core([Unit("cpu")], placement=ELSEWHERE)
    for name, weight in (("a", 1), ("b", 2)):
        core.handle(events.TenantChanged(0, Tenant(name, weight=weight)))
    core.handle(events.MachineJoined(0, Machine("m", {"cpu": 8})))
    for job in jobs:
        core.handle(events.JobSubmitted(1, job))
    return core


def job(name: str, tenant: str, tasks: int = 1, gang: int = 1) -> Job:
    return Job(name, {"cpu": 1}, tenant=tenant, tasks=tasks, gang=gang)


def test_tenants_take_turns_by_their_weights() -> None:
    names = ["a1", "a2", "b1", "b2", "b3", "b4"]
    core = core_of(*(job(name, name[0]) for name in names))
    before = core.digest()
    assert line_of(core) == ["a1", "b1", "b2", "a2", "b3", "b4"]
    assert core.digest() == before


def test_who_holds_something_comes_later_and_a_gang_counts_as_a_whole() -> None:
    core = core_of(job("held", "b", 6), job("b1", "b"), job("a1", "a", 2, gang=2), job("a2", "a"))
    for task in range(6):
        core.handle(events.TaskPlaced(2, "held", task, "m"))
    assert line_of(core) == ["a1", "a2", "b1"]


def test_behind_the_turns_that_are_gone_through_levels_decide() -> None:
    core = core_of(*(job(f"a{i}", "a") for i in range(4)), *(job(f"b{i}", "b") for i in range(4)))
    line = line_of(core, turns=2)
    assert line[:2] == ["a0", "b0"]
    assert line[2:] == ["b1", "b2", "b3", "a1", "a2", "a3"]


def test_what_can_never_run_has_no_turn_and_without_machines_nobody_has() -> None:
    core = core_of(Job("huge", {"cpu": 99}, tenant="a", tasks=1), job("b1", "b"))
    assert line_of(core) == ["b1"]
    core.handle(events.MachineLeft(2, "m"))
    assert line_of(core) == []
