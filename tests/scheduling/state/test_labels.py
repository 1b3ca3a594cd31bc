"""Every core that goes on from another one knows how scarce machines are, as that one does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Launch
from fairlead.scheduling.dump import dump, load
from fairlead.scheduling.events import JobSubmitted, MachineChanged, MachineJoined, MachineLeft
from fairlead.scheduling.options import Options
from fairlead.scheduling.reading.core_copy import copy_core
from fairlead.scheduling.reconfigure import reconfigure
from fairlead.scheduling.state.ids import Unit

WAYS: dict[str, Callable[[Core], Core]] = {
    "dumped": lambda core: load(dump(core)),
    "copied": copy_core,
    "changed": lambda core: reconfigure(core, 1, "drf", "scarce-last", Options()),
}


def machine(number: int, model: str) -> Machine:
    """A machine, of which nobody asks for the label."""
    return Machine(f"m{number}", {"cpu": 1}, {"model": model})


def cluster(rule: str = "scarce-last", *, more: int = 0) -> Core:
    """One machine of the model a, then three of b. A machine with many labels has gone."""
    core = Core([Unit("cpu")], placement=rule)
    labels = {f"key{i}": i for i in range(5)}
    core.handle(MachineJoined(0, Machine("gone", {"cpu": 1}, labels)))
    core.handle(MachineLeft(0, "gone"))
    for number in range(4):
        core.handle(MachineJoined(0, machine(number, "b" if number else "a")))
    for number in range(4, 4 + more):
        core.handle(MachineJoined(0, machine(number, "b")))
    return core


def ends(core: Core, tasks: int) -> list[str]:
    """Where the tasks of a new job are launched."""
    found = core.handle(JobSubmitted(2, Job("j", {"cpu": 1}, tasks=tasks)))
    return [each.machine for each in found if isinstance(each, Launch)]


@pytest.mark.parametrize("way", WAYS)
def test_it_decides_the_same(way: str) -> None:
    assert ends(cluster(), 4) == ["m1", "m2", "m3", "m0"]
    assert ends(WAYS[way](cluster()), 4) == ["m1", "m2", "m3", "m0"]


@pytest.mark.parametrize("way", WAYS)
def test_so_it_does_where_machines_came_since_the_last_decision(way: str) -> None:
    core = cluster()
    for number in range(4, 8):
        core.apply(MachineJoined(0, machine(number, "a")))
    assert ends(WAYS[way](core), 3) == ["m0", "m4", "m5"]


@pytest.mark.parametrize("way", WAYS)
def test_what_one_of_them_learns_later_the_other_does_not(way: str) -> None:
    core = cluster(more=70)
    other = WAYS[way](core)
    for number in range(100, 200):
        other.handle(MachineJoined(1, machine(number, "a")))
    other.handle(MachineChanged(1, machine(1, "c")))
    assert ends(core, 2) == ["m1", "m2"]
    assert ends(other, 2) == ["m0", "m100"]


@pytest.mark.parametrize("way", WAYS)
def test_machines_that_are_gone_count_for_nothing(way: str) -> None:
    core = cluster()
    for number in range(100, 300):
        core.handle(MachineJoined(0, machine(number, "a")))
    for number in range(100, 300):
        core.handle(MachineLeft(0, f"m{number}"))
    assert ends(WAYS[way](core), 1) == ["m1"]


def test_a_core_that_begins_to_go_by_scarcity_knows_it() -> None:
    core = cluster("best-fit")
    assert ends(reconfigure(core, 1, "tsf", "scarce-last", Options()), 1) == ["m1"]
