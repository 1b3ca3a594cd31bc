"""What a step takes in beside requests: what the engine says, what was computed, what is due."""

from __future__ import annotations

from fairlead.engines.interface import Lost
from fairlead.scheduling.core import Core
from fairlead.service.fairness.monitor import FairnessMonitor
from fairlead.service.fairness.observer import Counted, Observer
from fairlead.service.loop.engine_link import EngineLink, Heard
from fairlead.service.loop.machines import Machines
from fairlead.service.loop.reports import take_report
from fairlead.service.loop.retention import due, forget_old
from fairlead.service.loop.step import Step
from fairlead.service.records.book import Records


def collect_inputs(
    draft: Step, heard: Heard, machines: Machines, watch: FairnessMonitor | None, observer: Observer
) -> None:
    """Tells the core of all of it."""
    for attempt in heard.gone:
        draft.mark_attempt_gone(attempt)
    for report in heard.reports:
        if not take_report(draft, report):
            observer.counted(Counted.LATE_REPORTS)
        elif isinstance(report, Lost) and report.machine_at_fault:
            machines.in_trouble(draft, draft.machine_of(report.attempt), report.why)
    if heard.nodes is not None:
        machines.look(draft, heard.nodes)
    if watch is not None:
        for event in watch.events(draft.time):
            draft.tell(event)
    forget_old(draft, machines.settings.retention)


def next_time(
    core: Core,
    records: Records,
    reach: EngineLink,
    machines: Machines,
    watch: FairnessMonitor | None,
) -> int | None:
    """When there may be anything to take in though the engine reports nothing."""
    retry = reach.wake()
    times = [core.wake(), machines.wake() if retry is None else retry]
    times.append(due(records, machines.settings.retention))
    if watch is not None:
        times.append(watch.wake())
    return min((time for time in times if time is not None), default=None)
