"""The first entries of a service that starts, whether its journal is new or not."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.model.errors import InputError, Mistake
from fairlead.model.tenant import Tenant
from fairlead.scheduling.events import TenantChanged
from fairlead.service.loop.step import Step
from fairlead.service.recovery.configuration import (
    CORE_CHANGED,
    change_of,
    changed_core,
    start_body,
)
from fairlead.service.settings import Settings


def begin(draft: Step, settings: Settings) -> None:
    """The first entries of a service that starts. Raises InputError where the core cannot go on as
    the settings want it to."""
    start = draft.records.start
    change = None if start is None else change_of(start, settings)
    if change is not None:
        draft.change_core(changed_core(draft.core, draft.time, change), CORE_CHANGED, change)
    draft.note("service_started", **start_body(draft.core.ids.units, settings))
    _tell_tenants(draft, settings.tenants)


def _tell_tenants(draft: Step, tenants: Sequence[Tenant]) -> None:
    """Tells the core of tenants that are new or differ, parents first."""
    waiting = list(tenants)
    told: set[str] = set()
    names = {tenant.name for tenant in tenants}
    while waiting:
        ready = [each for each in waiting if each.parent not in names or each.parent in told]
        if not ready:
            raise InputError(Mistake("tenants are below one another in a circle", "break it"))
        for tenant in ready:
            told.add(tenant.name)
            if draft.records.tenants.get(tenant.name) != tenant:
                draft.tell(TenantChanged(draft.time, tenant))
        waiting = [each for each in waiting if each.name not in told]
