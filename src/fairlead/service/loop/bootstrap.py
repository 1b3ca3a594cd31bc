"""The first entries of a service that starts, whether its journal is new or not."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.model.errors import InputError
from fairlead.model.tenant import Tenant
from fairlead.scheduling.events import TenantChanged
from fairlead.service.loop.step import Step
from fairlead.service.recovery.configuration import (
    CORE_CHANGED,
    SERVICE_STARTED,
    change_of,
    reconfigure_core,
    start_body,
)
from fairlead.service.settings import Settings


def begin(step: Step, settings: Settings) -> None:
    """The first entries of a service that starts. Raises InputError where the core cannot go on as
    the settings want it to."""
    start = step.records.start
    change = None if start is None else change_of(start, settings)
    if change is not None:
        step.change_core(reconfigure_core(step.core, step.time, change), CORE_CHANGED, change)
    step.note(SERVICE_STARTED, **start_body(step.core.ids.units, settings))
    _apply_tenants(step, settings.tenants)


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
