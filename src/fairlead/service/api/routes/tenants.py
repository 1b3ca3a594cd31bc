"""Tenants: list, show, put."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from fairlead.model.names import compress
from fairlead.model.quantity import write_plain
from fairlead.model.tenant import Tenant
from fairlead.service.api.entering import Enter
from fairlead.service.api.queries import (
    Filter,
    Limit,
    Name,
    Rank,
    RankCursor,
    page,
    ranked_page,
    read_rank,
)
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.service_view import ServiceView
from fairlead.service.api.strict import count_in_list, refuse_names
from fairlead.service.api.visibility import as_seen
from fairlead.service.requests import PutTenant as Put
from fairlead.service.requests import PutTenants as PutAll
from fairlead.wire.errors import ErrorKind
from fairlead.wire.tenants import (
    PutTenant,
    PutTenants,
    TenantDetail,
    TenantOrder,
    TenantRow,
    Tenants,
)

Known = tuple[Tenant, int]
"""A tenant, and its jobs that are not over."""

WEIGHED = 10**6
"""Parts of a weight by which tenants are ordered."""


async def list_tenants(
    context: Enter,
    prefix: Annotated[Filter, Query(description="names that begin so")] = None,
    parent: Annotated[Filter, Query(description="those right below this one")] = None,
    order: Annotated[
        TenantOrder, Query(description="jobs: those with most first; weight: the heaviest first")
    ] = TenantOrder.NAME,
    cursor: RankCursor = None,
    limit: Limit = None,
) -> Response:
    """Tenants: a page where a `limit` or a `cursor` is given, else all."""
    after = read_rank(cursor, ranked=order is not TenantOrder.NAME)
    every = limit is None and cursor is None
    most = None if every else page(limit, context.api.settings)

    def look(view: ServiceView) -> tuple[list[Known], Rank | None]:
        known = [_to_wire(view, name) for name in _names(view) if name.startswith(prefix or "")]
        ranks = [_rank(one, order) for one in known if parent in (None, one[0].parent)]
        shown, following = ranked_page(ranks, after, most)
        return [_to_wire(view, rank.name) for rank in shown], following

    found, following = await context.read(look)
    ranked = order is not TenantOrder.NAME
    after_these = None if following is None else following.to_cursor(ranked=ranked)
    return context.answer(
        Tenants(tenants=[_row(context, known) for known in found], next=after_these)
    )


async def show_tenant(context: Enter, tenant: Name) -> Response:
    """One tenant."""
    return await _show(context, tenant)


async def put_tenant(context: Enter, tenant: Name) -> Response:
    """Makes a tenant, or changes it."""
    asked = await context.read_body(PutTenant)
    await context.ask(Put(context.caller, _build_tenant(context, tenant, asked)))
    return await _show(context, tenant)


async def put_tenants(context: Enter) -> Response:
    """Makes or changes several tenants, and shows all."""
    asked = await context.read_body(PutTenants)
    made = tuple(_build_tenant(context, each.name, each) for each in asked.tenants)
    await context.ask(PutAll(context.caller, made))
    found = await context.read(lambda view: [_to_wire(view, name) for name in sorted(_names(view))])
    return context.answer(Tenants(tenants=[_row(context, known) for known in found]))


def _build_tenant(context: Enter, name: str, asked: PutTenant) -> Tenant:
    """The tenant that a body means. Raises RefusalError and InputError."""
    most = context.api.settings.listed_names
    if asked.pool is not None and count_in_list(asked.pool) > most:
        raise refuse_names(most)
    return Tenant(
        name,
        weight=asked.weight,
        pool=asked.pool,
        parent=asked.parent,
        limit=asked.limit,
        user=asked.user,
    )


async def _show(context: Enter, name: str) -> Response:
    known, below = await context.read(lambda view: _one(view, name))
    return context.answer(TenantDetail(**_row(context, known).model_dump(), below=below))


def _row(context: Enter, known: Known) -> TenantRow:
    tenant, jobs = known
    row = TenantRow(
        name=tenant.name,
        parent=tenant.parent,
        weight=None
        if tenant.pool is not None
        else write_plain(Fraction(1) if tenant.weight is None else tenant.weight),
        pool=None if tenant.pool is None else list(compress(tenant.pool)),
        limit={name: write_plain(amount) for name, amount in tenant.limit.items()},
        user=tenant.user,
        jobs=jobs,
    )
    return as_seen(row, context.caller)


def _names(view: ServiceView) -> set[str]:
    tenants, totals = view.records.tenants, view.records.totals
    # A job without a tenant is its own: it is a tenant as long as it is there.
    return {*tenants, *(name for name, total in totals.items() if total.jobs)}


def _rank(known: Known, order: TenantOrder) -> Rank:
    """The place of a tenant in the order; one whose pool says its weight has none."""
    tenant, jobs = known
    if order is TenantOrder.JOBS:
        return Rank(-jobs, tenant.name)
    if order is TenantOrder.WEIGHT:
        weight = Fraction(1) if tenant.weight is None else tenant.weight
        return Rank(0 if tenant.pool is not None else -int(weight * WEIGHED), tenant.name)
    return Rank(0, tenant.name)


def _to_wire(view: ServiceView, name: str) -> Known:
    total = view.records.totals.get(name)
    return view.records.tenants.get(name) or Tenant(name), total.jobs if total else 0


def _one(view: ServiceView, name: str) -> tuple[Known, list[str]]:
    tenants, total = view.records.tenants, view.records.totals.get(name)
    if name not in tenants and not (total and total.jobs):
        what = f'there is no tenant "{name}"'
        raise RefusalError(ErrorKind.NOT_FOUND, what, "an admin can make it")
    below = sorted(one.name for one in tenants.values() if one.parent == name)
    return _to_wire(view, name), below
