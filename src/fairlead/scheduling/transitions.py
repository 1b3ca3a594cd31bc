"""The legal transitions of a task and of a machine, as tables. The docs' diagrams come from them.

The values of the enums are indices: `task_table()` is what arrays and compiled code use.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum


class TaskState(IntEnum):
    """Where a task stands. A task that waits and one that is over hold nothing."""

    WAITING = 0
    LAUNCHED = 1  # a machine was told to start it
    RUNNING = 2
    STOPPING = 3  # told to stop; it holds its machine until it has
    FINISHED = 4
    FAILED = 5
    DROPPED = 6  # taken back before it ended: its job was cancelled or shrank


class TaskChange(IntEnum):
    """Transitions of a task: decisions (launch, stop, drop) and what engines report."""

    LAUNCH = 0
    STARTED = 1
    FINISHED = 2
    FAILED = 3
    LOST = 4
    STOP = 5
    STOPPED = 6
    DROP = 7


class MachineState(IntEnum):
    """Where a machine stands. One that comes back under an old name is a new one."""

    ABSENT = 0
    UP = 1
    DRAINING = 2  # takes no more tasks; those on it go on
    GONE = 3


class MachineChange(IntEnum):
    JOINED = 0
    DRAINED = 1
    BACK = 2  # the event MachineDrained with `back`
    CHANGED = 3
    LEFT = 4


HELD = (TaskState.LAUNCHED, TaskState.RUNNING, TaskState.STOPPING)
"""A task in one of these states is on a machine."""

OVER = (TaskState.FINISHED, TaskState.FAILED, TaskState.DROPPED)
"""Nothing happens any more to a task in one of these states."""

TASK: Mapping[tuple[TaskState, TaskChange], TaskState] = {
    (TaskState.WAITING, TaskChange.LAUNCH): TaskState.LAUNCHED,
    (TaskState.WAITING, TaskChange.DROP): TaskState.DROPPED,
    (TaskState.LAUNCHED, TaskChange.STARTED): TaskState.RUNNING,
    # An engine may report the end of a task without ever having reported its start.
    (TaskState.LAUNCHED, TaskChange.FINISHED): TaskState.FINISHED,
    (TaskState.LAUNCHED, TaskChange.FAILED): TaskState.FAILED,
    (TaskState.LAUNCHED, TaskChange.LOST): TaskState.WAITING,
    (TaskState.LAUNCHED, TaskChange.STOP): TaskState.STOPPING,
    (TaskState.RUNNING, TaskChange.FINISHED): TaskState.FINISHED,
    (TaskState.RUNNING, TaskChange.FAILED): TaskState.FAILED,
    (TaskState.RUNNING, TaskChange.LOST): TaskState.WAITING,
    (TaskState.RUNNING, TaskChange.STOP): TaskState.STOPPING,
    # It may end by itself before the word to stop reaches it.
    (TaskState.STOPPING, TaskChange.FINISHED): TaskState.FINISHED,
    (TaskState.STOPPING, TaskChange.FAILED): TaskState.FAILED,
    (TaskState.STOPPING, TaskChange.LOST): TaskState.WAITING,
    (TaskState.STOPPING, TaskChange.STOPPED): TaskState.WAITING,
}

CANCELLED: Mapping[tuple[TaskState, TaskChange], TaskState] = {
    (TaskState.STOPPING, TaskChange.LOST): TaskState.DROPPED,
    (TaskState.STOPPING, TaskChange.STOPPED): TaskState.DROPPED,
}
"""Where a task of a cancelled job goes elsewhere than TASK says."""

MACHINE: Mapping[tuple[MachineState, MachineChange], MachineState] = {
    (MachineState.ABSENT, MachineChange.JOINED): MachineState.UP,
    (MachineState.UP, MachineChange.DRAINED): MachineState.DRAINING,
    (MachineState.UP, MachineChange.CHANGED): MachineState.UP,
    (MachineState.UP, MachineChange.LEFT): MachineState.GONE,
    (MachineState.DRAINING, MachineChange.BACK): MachineState.UP,
    (MachineState.DRAINING, MachineChange.CHANGED): MachineState.DRAINING,
    (MachineState.DRAINING, MachineChange.LEFT): MachineState.GONE,
}

ILLEGAL = -1


def task_after(state: TaskState, change: TaskChange, cancelled: bool = False) -> TaskState | None:
    """The state after the change, of a task whose job was `cancelled` or not; None if illegal."""
    after = TASK.get((state, change))
    return CANCELLED.get((state, change), after) if cancelled else after


def machine_after(state: MachineState, change: MachineChange) -> MachineState | None:
    """The state after the change; None if illegal."""
    return MACHINE.get((state, change))


def task_table(cancelled: bool = False) -> tuple[tuple[int, ...], ...]:
    """`task_table()[state][change]` is the state after the change, ILLEGAL where there is none."""
    rows = []
    for state in TaskState:
        afters = (task_after(state, change, cancelled) for change in TaskChange)
        rows.append(tuple(ILLEGAL if after is None else int(after) for after in afters))
    return tuple(rows)
