"""Every illegal transition, walked through the core: a sentence, and nothing has changed."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import pytest

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling import events
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import Event
from fairlead.scheduling.state.ids import Unit
from fairlead.scheduling.transitions import (
    MachineChange,
    MachineState,
    TaskChange,
    TaskState,
    machine_after,
    task_after,
)

Report = Callable[[int, str, int], Event]

REPORTS: dict[TaskChange, Report] = {
    TaskChange.STARTED: events.TaskStarted,
    TaskChange.FINISHED: events.TaskFinished,
    TaskChange.FAILED: events.TaskFailed,
    TaskChange.LOST: events.TaskLost,
    TaskChange.STOPPED: events.TaskStopped,
}
"""The changes that engines report; the others are decisions of the core."""

NODE = Machine("node", {"cpu": 3})
WAYS: dict[MachineChange, Event] = {
    MachineChange.JOINED: events.MachineJoined(9, NODE),
    MachineChange.DRAINED: events.MachineDrained(9, "node"),
    MachineChange.BACK: events.MachineDrained(9, "node", back=True),
    MachineChange.CHANGED: events.MachineChanged(9, Machine("node", {"cpu": 2})),
    MachineChange.LEFT: events.MachineLeft(9, "node"),
}


def new_core() -> Core:
    return Core([Unit("cpu", Fraction(1))], policy="tsf", checked=True)


def core_with_task(state: TaskState, cancelled: bool) -> Core | None:
    """A core in which task 0 of job `j` is in this state, and another task of the job on its
    machine, so that the job is not over. None where a cancelled job has no such task."""
    core = new_core()
    core.apply(events.MachineJoined(0, NODE))
    core.handle(events.JobSubmitted(0, Job("j", {"cpu": 1}, tasks=3)))
    reach: dict[TaskState, list[Event]] = {
        TaskState.WAITING: [events.MachineDrained(1, "node"), events.TaskLost(1, "j", 0)],
        TaskState.LAUNCHED: [],
        TaskState.RUNNING: [events.TaskStarted(1, "j", 0)],
        TaskState.STOPPING: [events.JobCancelled(1, "j")],
        TaskState.FINISHED: [events.TaskFinished(1, "j", 0)],
        TaskState.FAILED: [events.TaskFailed(1, "j", 0)],
        TaskState.DROPPED: [events.JobCancelled(1, "j"), events.TaskStopped(1, "j", 0)],
    }
    if cancelled and state in (TaskState.WAITING, TaskState.LAUNCHED, TaskState.RUNNING):
        return None
    for event in reach[state]:
        core.handle(event)
    if cancelled and state in (TaskState.FINISHED, TaskState.FAILED):
        core.handle(events.JobCancelled(2, "j"))
    return core


def refused(core: Core, event: Event) -> str:
    """The sentence with which the event is refused; empty where it is taken."""
    before = core.digest()
    try:
        core.apply(event)
    except InputError as error:
        assert core.digest() == before
        assert core.decide() == []
        return str(error)
    assert core.digest() != before
    return ""


@pytest.mark.parametrize("cancelled", [False, True])
@pytest.mark.parametrize(("state", "change"), [*itertools.product(TaskState, REPORTS)])
def test_a_task_changes_as_the_table_says(
    state: TaskState, change: TaskChange, cancelled: bool
) -> None:
    core = core_with_task(state, cancelled)
    if core is None:
        return
    sentence = refused(core, REPORTS[change](9, "j", 0))
    assert bool(sentence) == (task_after(state, change, cancelled) is None)
    if sentence:
        assert "j" in sentence
        assert "\n" not in sentence


@pytest.mark.parametrize(("state", "change"), [*itertools.product(MachineState, WAYS)])
def test_a_machine_changes_as_the_table_says(state: MachineState, change: MachineChange) -> None:
    core = new_core()
    reach: dict[MachineState, list[Event]] = {
        MachineState.ABSENT: [],
        MachineState.UP: [events.MachineJoined(0, NODE)],
        MachineState.DRAINING: [events.MachineJoined(0, NODE), events.MachineDrained(0, "node")],
        MachineState.GONE: [events.MachineJoined(0, NODE), events.MachineLeft(0, "node")],
    }
    for event in reach[state]:
        core.handle(event)
    # Under the name of a machine that is gone, another one may join.
    before = MachineState.ABSENT if state is MachineState.GONE else state
    sentence = refused(core, WAYS[change])
    assert bool(sentence) == (machine_after(before, change) is None)
    if sentence:
        assert "node" in sentence
        assert "\n" not in sentence


TOO_FINE = {"cpu": Fraction(1, 3)}
WRONG: dict[str, Event] = {
    "time goes back": events.TimePassed(4),
    "a job that is there": events.JobSubmitted(9, Job("j", {"cpu": 1})),
    "an unknown resource": events.JobSubmitted(9, Job("k", {"cpu": 1, "fpga": 1})),
    "a job finer than the unit": events.JobSubmitted(9, Job("k", TOO_FINE)),
    "a machine finer than the unit": events.MachineJoined(9, Machine("m", TOO_FINE)),
    "a change finer than the unit": events.MachineChanged(9, Machine("node", TOO_FINE)),
    "a machine with an unknown resource": events.MachineJoined(9, Machine("m", {"fpga": 1})),
    "less tasks than have started": events.JobChanged(9, "j", 2),
    "no tasks": events.JobChanged(9, "j", 0),
    "a change of an unknown job": events.JobChanged(9, "k", 9),
    "an unknown job is cancelled": events.JobCancelled(9, "k"),
    "a task of an unknown job": events.TaskFinished(9, "k", 0),
    "a task that never was": events.TaskFinished(9, "j", 77),
    "a tenant below an unknown one": events.TenantChanged(9, Tenant("t", parent="nobody")),
    "a tenant that moves": events.TenantChanged(9, Tenant("low")),
    "a limit finer than the unit": events.TenantChanged(9, Tenant("t", limit=TOO_FINE)),
    "advice of a rank below 0": events.AdviceChanged(9, (events.Advice("j", ("node",), -1, 0),)),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_makes_no_sense_is_refused_with_a_sentence(what: str) -> None:
    core = new_core()
    for event in (
        events.MachineJoined(0, NODE),
        events.TenantChanged(0, Tenant("top")),
        events.TenantChanged(0, Tenant("low", parent="top")),
        events.JobSubmitted(5, Job("j", {"cpu": 1}, tasks=5, tenant="low")),
    ):
        core.handle(event)
    sentence = refused(core, WRONG[what])
    assert sentence
    assert "\n" not in sentence
