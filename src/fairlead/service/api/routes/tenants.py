"""Tenants: list, show, put."""

from __future__ import annotations

from fractions import Fraction

from starlette.responses import Response

from fairlead.model.errors import Mistake
from fairlead.model.names import compress
from fairlead.model.quantity import written_plain
from fairlead.model.tenant import Tenant
from fairlead.service.api.live import ServiceView
from fairlead.service.api.queries import Name
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.strict import meant_by_all, refuse_names
from fairlead.service.api.visit import Enter
from fairlead.service.requests import PutTenant as Put
from fairlead.service.requests import Role
from fairlead.wire.errors import ErrorKind
from fairlead.wire.tenants import PutTenant, TenantDetail, TenantRow, Tenants

Known = tuple[Tenant, int]
"""A tenant, and its jobs that are not over."""


async def list_tenants(visit: Enter) -> Response:
    """All tenants."""
    found = await visit.read(_all)
    return visit.answer(Tenants(tenants=[_row(visit, known) for known in found]))


async def show_tenant(visit: Enter, tenant: Name) -> Response:
    """One tenant."""
    return await _shown(visit, tenant)


async def put_tenant(visit: Enter, tenant: Name) -> Response:
    """Makes a tenant, or changes it."""
    asked = await visit.asked(PutTenant)
    most = visit.api.settings.listed_names
    if asked.pool is not None and meant_by_all(asked.pool) > most:
        raise refuse_names(most)
    made = Tenant(
        tenant,
        weight=asked.weight,
        pool=asked.pool,
        parent=asked.parent,
        limit=asked.limit,
        user=asked.user,
    )
    await visit.ask(Put(visit.caller, made))
    return await _shown(visit, tenant)


async def _shown(visit: Enter, name: str) -> Response:
    known, below = await visit.read(lambda live: _one(live, name))
    return visit.answer(TenantDetail(**_row(visit, known).model_dump(), below=below))


def _row(visit: Enter, known: Known) -> TenantRow:
    tenant, jobs = known
    return TenantRow(
        name=tenant.name,
        parent=tenant.parent,
        weight=None
        if tenant.pool is not None
        else written_plain(Fraction(1) if tenant.weight is None else tenant.weight),
        pool=None if tenant.pool is None else list(compress(tenant.pool)),
        limit={name: written_plain(amount) for name, amount in tenant.limit.items()},
        user=tenant.user if visit.caller.role is Role.ADMIN else None,
        jobs=jobs,
    )


def _all(live: ServiceView) -> list[Known]:
    tenants, totals = live.records.tenants, live.records.totals
    # A job without a tenant is its own: it is a tenant as long as it is there.
    names = {*tenants, *(name for name, total in totals.items() if total.jobs)}
    return [_known(live, name) for name in sorted(names)]


def _known(live: ServiceView, name: str) -> Known:
    total = live.records.totals.get(name)
    return live.records.tenants.get(name) or Tenant(name), total.jobs if total else 0


def _one(live: ServiceView, name: str) -> tuple[Known, list[str]]:
    tenants, total = live.records.tenants, live.records.totals.get(name)
    if name not in tenants and not (total and total.jobs):
        raise RefusalError(
            ErrorKind.NOT_FOUND,
            mistakes=[Mistake(f'there is no tenant "{name}"', "an admin can make it")],
        )
    below = sorted(one.name for one in tenants.values() if one.parent == name)
    return _known(live, name), below
