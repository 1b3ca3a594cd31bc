"""Compiles what a service needs of the core, before anybody waits for it: by a small world."""

from __future__ import annotations

import gc
from collections.abc import Callable

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling import events
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import Event
from fairlead.scheduling.ids import Unit
from fairlead.scheduling.kernels.compiling import watched
from fairlead.scheduling.options import Options
from fairlead.scheduling.placement.registry import DEFAULT


def warm(told: Callable[[int, int], None], placement: str = DEFAULT) -> None:
    """Compiles, or loads, all kernels that events and decisions meet with this rule; rare ones
    apart. `told` hears again and again how many of about how many functions are there."""
    units, options = [Unit("cpu"), Unit("gpu")], Options(preempt_after=1)
    # The compiler makes much and leaves little: looking for it took a ninth of the time.
    collects = gc.isenabled()
    gc.disable()
    try:
        with watched(told):
            core = Core(units, placement=placement, options=options)
            for event in _small_world():
                core.handle(event)
            core.why("long")
    finally:
        if collects:
            gc.enable()


def _small_world() -> list[Event]:
    """A little of all that happens."""
    capacity = {"cpu": 4, "gpu": 1}
    return [
        events.TenantChanged(0, Tenant("team", weight=2)),
        events.TenantChanged(0, Tenant("person", parent="team", limit={"cpu": 8})),
        events.MachineJoined(1, Machine("one", capacity)),
        events.MachineJoined(1, Machine("two", capacity)),
        events.JobSubmitted(2, Job("long", {"cpu": 2}, tenant="person", tasks=9)),
        events.JobSubmitted(3, Job("short", {"cpu": 1, "gpu": 1}, tasks=1)),
        events.TaskStarted(4, "long", 0),
        events.TaskStarted(4, "long", 1),
        events.TaskStarted(4, "long", 2),
        events.TaskFinished(5, "long", 0),
        events.TaskFailed(5, "long", 1),
        events.TaskLost(5, "long", 2),
        events.JobChanged(6, "long", 12),
        events.MachineDrained(7, "two"),
        events.MachineDrained(8, "two", back=True),
        events.JobCancelled(9, "short"),
        events.TimePassed(10),
    ]
