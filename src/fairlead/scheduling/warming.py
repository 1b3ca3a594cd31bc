"""Compiles what a service needs of the core, before anybody waits for it: by a small world."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.compiling import report_compiling
from fairlead.garbage import not_collecting
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.scheduling import events
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Stop
from fairlead.scheduling.events import Event
from fairlead.scheduling.kernels.change.limits import ease_all
from fairlead.scheduling.options import Options
from fairlead.scheduling.placement.registry import DEFAULT, ELSEWHERE
from fairlead.scheduling.reconfigure import reconfigure
from fairlead.scheduling.state.ids import Unit


def warm(told: Callable[[int, int], None], placement: str = DEFAULT) -> None:
    """Compiles, or loads, every kernel that a core with this rule can meet: nobody waits for one
    later, whatever happens (tests/scheduling/test_warming.py). `told` hears before and after each
    function that is compiled how many of about how many are there."""
    with not_collecting(), report_compiling(told):
        core = _core(placement)
        core.decide()  # two thirds of it all, while `warm_events` may do the rest elsewhere
        for event in (*_beginning(), *_work(), *_end()):
            core.handle(event)
        core.wake()
        core.why("long")
        _give_advice(core)
        _stop_for_guarantee(_core(placement))
        _hear_of_placed(_core(ELSEWHERE))
        ease_all(core.state.handle)  # as where a snapshot of an older version is read
        # The core goes on under another policy, as after a start with other settings.
        reconfigure(core, 12, "drf", core.placement.name, core.options).decide()


def warm_events() -> None:
    """Compiles what events need that no decision comes before, so that another process that does
    `warm` at the same time finds it when it comes there."""
    with not_collecting():
        core = _core(DEFAULT)
        # Being told of advice weighs the tenants, as a decision does.
        for event in (*_beginning(), events.AdviceChanged(4, ()), *_end()):
            core.apply(event)
        core.wake()


def _core(placement: str) -> Core:
    units = [Unit("cpu"), Unit("gpu")]
    return Core(units, placement=placement, options=Options(preempt_after=1))


def _beginning() -> list[Event]:
    capacity = {"cpu": 4, "gpu": 1}
    return [
        events.TenantChanged(0, Tenant("team", weight=2)),
        events.TenantChanged(0, Tenant("person", parent="team", limit={"cpu": 8})),
        events.MachineJoined(1, Machine("one", capacity)),
        events.MachineJoined(1, Machine("two", capacity)),
        events.JobSubmitted(2, Job("long", {"cpu": 2}, tenant="person", tasks=9)),
        events.JobSubmitted(3, Job("short", {"cpu": 1, "gpu": 1}, tasks=1)),
        events.JobSubmitted(3, Job("huge", {"cpu": 99}, tasks=1)),
    ]


def _work() -> list[Event]:
    return [
        events.TaskStarted(4, "long", 0),
        events.TaskStarted(4, "long", 1),
        events.TaskStarted(4, "long", 2),
        events.TaskFinished(5, "long", 0),
        events.TaskFailed(5, "long", 1),
        events.TaskLost(5, "long", 2),
    ]


def _end() -> list[Event]:
    return [
        events.JobChanged(6, "long", 12),
        events.MachineDrained(7, "two"),
        events.MachineDrained(8, "two", back=True),
        events.MachineChanged(8, Machine("two", {"cpu": 6, "gpu": 1})),
        events.MachineLeft(8, "two"),
        events.JobCancelled(9, "short"),
        events.JobCancelled(9, "huge"),  # nothing of it runs: it is forgotten
        events.TimePassed(10),
    ]


def _give_advice(core: Core) -> None:
    """Gives advice: a rule that follows it decides by it, and others hear of it, too."""
    target = events.Advice("long", ("one",), 0, 1_000_000)
    core.handle(events.AdviceChanged(11, (target,)))


def _stop_for_guarantee(core: Core) -> None:
    """A task is stopped for a job that is below its guarantee, whose place is kept until then."""
    core.apply(events.MachineJoined(0, Machine("one", {"cpu": 2})))
    core.handle(events.JobSubmitted(0, Job("greedy", {"cpu": 1}, tasks=2)))
    for task in range(2):
        core.apply(events.TaskStarted(1, "greedy", task))
    core.apply(events.JobSubmitted(2, Job("owed", {"cpu": 1}, tasks=1)))
    core.handle(events.GuaranteesChanged(3, FrozenMap({"owed": 1})))
    [stop] = [each for each in core.handle(events.TimePassed(9)) if isinstance(each, Stop)]
    core.why("greedy")  # beside a machine that is another one's
    core.handle(events.TaskStopped(10, stop.job, stop.task))


def _hear_of_placed(core: Core) -> None:
    """Another scheduler starts a task."""
    core.apply(events.MachineJoined(0, Machine("one", {"cpu": 2})))
    core.apply(events.JobSubmitted(0, Job("theirs", {"cpu": 1}, tasks=1)))
    core.apply(events.TaskPlaced(1, "theirs", 0, "one"))
