"""The first entries of a service that starts, whether its journal is new or not.

The first of all stands alone, and is durable before an engine hears of this service: its number
grows with each start, and tells engines who is the newest owner of the journal. Where an older copy
of it was put back engines have heard of more starts than it holds: the number goes on with the
seconds since 1970, of which there are more."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.engines.interface import Attempt, Engine, Lost
from fairlead.engines.observing import Observes
from fairlead.model.errors import InputError
from fairlead.model.tenant import Tenant
from fairlead.scheduling.events import TaskStarted, TenantChanged
from fairlead.scheduling.placement.registry import ELSEWHERE
from fairlead.scheduling.reading.core_copy import freeze
from fairlead.scheduling.reading.lookup import task_state
from fairlead.scheduling.transitions import TaskState
from fairlead.service.loop.reports import may_be_tried, take_report
from fairlead.service.loop.step import Step
from fairlead.service.records.book import Records
from fairlead.service.records.people import Start
from fairlead.service.recovery.configuration import (
    CHOSEN,
    CORE_CHANGED,
    ENGINE_CHANGED,
    SERVICE_STARTED,
    change_of,
    reconfigure_core,
    start_body,
)
from fairlead.service.settings import Settings

UNREADABLE = (
    "another engine had it, whose records cannot be read here (another state folder, or it lost"
    " them): perhaps it was started"
)
GONE = "the engine that had it is gone, as an operator said"
UNHEARD = f"{GONE}, and nobody heard that it had started"
PERHAPS = f"{GONE}: perhaps it was started, and it must run once"
TWICE = f"{GONE}, as well as that it may run twice"


def check_engine(records: Records, engine: Engine) -> None:
    """Raises InputError where jobs of one kind of cluster would be taken for another's: those that
    another scheduler runs cannot be run here, and jobs of ours are not to be found there."""
    start, observes = records.start, isinstance(engine, Observes)
    if start is None or start.engine is None:
        return
    observed = start.placement == ELSEWHERE
    if observed is not observes or (observes and not engine.knows(start.engine)):
        raise InputError(
            f"the journal is of {start.engine!r}"
            f"{', whose jobs another scheduler places' if observed else ''}, and the engine is"
            f" {engine.name}",
            "name another state folder with --state, or the engine that it was",
        )


def take_over(step: Step, settings: Settings, engine: Engine, restored: bool) -> Step:
    """Writes down that this service owns the journal from now on. What the core follows stays as
    it was until `begin`, which is tried on a copy first: what cannot be is refused before anything
    is written. Returns that one, for right after this step is durable. Raises InputError."""
    tried = Step(freeze(step.core).core, step.records, step.time, ahead=1)
    tried.core.checked = step.core.checked
    begin(tried, settings, engine, restored)
    body, before = start_body(step.core.ids.units, settings), step.records.start
    if before is not None:
        body |= {name: getattr(before, name) for name in CHOSEN}
        if restored:
            body["owner"] = max(before.owner + 1, step.time // 1_000_000)
    step.note(SERVICE_STARTED, **body)
    return tried


def begin(step: Step, settings: Settings, engine: Engine, restored: bool) -> None:
    """Changes what the settings and the engine change of what the journal holds, and what it means
    that an older copy of it was put back. Raises InputError where the core cannot go on as the
    settings want it to."""
    start = step.records.start
    change = None if start is None else change_of(start, settings)
    if change is not None:
        step.change_core(reconfigure_core(step.core, step.time, change), CORE_CHANGED, change)
    _apply_tenants(step, settings.tenants)
    if start is not None and not engine.knows(start.engine):
        _give_up(step, start)
    elif restored:
        _begin_what_must_run_once(step)
    if start is None or start.engine != engine.identity:
        step.note(ENGINE_CHANGED, engine=engine.identity)


def _begin_what_must_run_once(step: Step) -> None:
    """What was launched before the copy was made may have started since, and is over if the engine
    knows nothing of it: so it is not launched again where it must run once."""
    for machine in list(step.records.machines.values()):
        for (number, task), attempt in list(machine.held.items()):
            job = step.records.jobs[number]
            state = task_state(step.core, job.name, task)
            if state is TaskState.LAUNCHED and not may_be_tried(job.job):
                event = TaskStarted(step.time, job.name, task)
                step.apply(event, id=job.id, attempt=attempt, started=None)


def _give_up(step: Step, start: Start) -> None:
    """All attempts that another engine had are lost, perhaps started. Where an operator has said
    that it is gone, nothing starts there any more, and what may run again costs no retry where
    nobody heard of a start. What must run once is started again only where he has said that."""
    for machine in list(step.records.machines.values()):
        for (job, task), number in list(machine.held.items()):
            attempt, once = Attempt(job, task, number), not may_be_tried(step.records.jobs[job].job)
            perhaps, why = True, UNREADABLE
            if start.may_run_twice and once:
                why = TWICE
            elif start.engine_gone:
                perhaps, why = once, PERHAPS if once else UNHEARD
            lost = Lost(attempt, perhaps, why, machine_at_fault=False)
            take_report(step, lost, may_run_twice=start.may_run_twice and once)
        for attempt in machine.given_up:
            step.mark_attempt_gone(attempt)


def _apply_tenants(step: Step, tenants: Sequence[Tenant]) -> None:
    """Tells the core of tenants that are new or differ, parents first."""
    waiting = list(tenants)
    told: set[str] = set()
    names = {tenant.name for tenant in tenants}
    while waiting:
        ready = [each for each in waiting if each.parent not in names or each.parent in told]
        if not ready:
            raise InputError("tenants are below one another in a circle", "break it")
        for tenant in ready:
            told.add(tenant.name)
            if step.records.tenants.get(tenant.name) != tenant:
                step.apply(TenantChanged(step.time, tenant))
        waiting = [each for each in waiting if each.name not in told]
