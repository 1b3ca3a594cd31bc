"""Inputs of a step beside requests: the engine's news, an adviser's answers, what is due."""

from __future__ import annotations

from fairlead.engines.credible import heard
from fairlead.engines.interface import Lost
from fairlead.scheduling.core import Core
from fairlead.service.fairness.monitor import FairnessMonitor
from fairlead.service.fairness.observer import Counted, Observer
from fairlead.service.loop.adopting import Adoption
from fairlead.service.loop.engine_link import EngineLink, EngineNews
from fairlead.service.loop.machines import Machines
from fairlead.service.loop.reports import take_report
from fairlead.service.loop.retention import due, forget_old
from fairlead.service.loop.step import QUIET, Step
from fairlead.service.records.book import Records


def collect_inputs(
    step: Step,
    news: EngineNews,
    machines: Machines,
    watch: FairnessMonitor | None,
    observer: Observer,
    adoption: Adoption,
) -> None:
    """Tells the core of all of it."""
    for attempt in news.gone:
        step.mark_attempt_gone(attempt)
    for report in news.reports:
        if not take_report(step, report):
            observer.count(Counted.LATE_REPORTS)
        elif isinstance(report, Lost) and report.machine_at_fault:
            machines.in_trouble(step, step.machine_of(report.attempt), heard(report.why))
    if news.view is not None:
        adoption.take_ends(step, news.view)
    if news.nodes is not None:
        machines.look(step, news.nodes)
    if news.view is not None:
        own = (tenant.name for tenant in machines.settings.tenants)
        adoption.take_rest(step, news.view, own)
    if watch is not None:
        for event in watch.events(step.time):
            step.apply(event)
    forget_old(step, machines.settings.retention)


def next_time(
    core: Core,
    records: Records,
    link: EngineLink,
    machines: Machines,
    watch: FairnessMonitor | None,
) -> int:
    """The time at which there may be an input though the engine reports nothing."""
    retry = link.wake()
    times = [core.wake(), machines.wake() if retry is None else retry]
    times += [due(records, machines.settings.retention), records.time + QUIET]
    if watch is not None:
        times.append(watch.wake())
    return min(time for time in times if time is not None)
