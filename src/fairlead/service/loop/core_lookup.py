"""How things stand in the core at this moment, within a step too."""

from __future__ import annotations

from fairlead.scheduling.core import Core
from fairlead.scheduling.transitions import MachineState, TaskState


def task_state(core: Core, job: str, task: int) -> TaskState | None:
    """The state of a task that is on a machine; None if it is on none."""
    slot = core.ids.jobs.get(job)
    if slot is None:
        return None
    at = core.ids.tasks[slot].get(task)
    if at is None:
        return None
    state = TaskState(int(core.state.task[at]["state"]))
    return None if state is TaskState.WAITING else state


def machine_state(core: Core, name: str) -> MachineState:
    """The state of a machine."""
    slot = core.ids.machines.get(name)
    if slot is None:
        return MachineState.ABSENT
    return MachineState(int(core.state.machine[slot]["state"]))


def is_cancelled(core: Core, job: str) -> bool:
    """Whether a job is there and was cancelled."""
    slot = core.ids.jobs.get(job)
    return slot is not None and bool(core.state.job[slot]["cancelled"])
