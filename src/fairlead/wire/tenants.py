"""Tenants, as the API shows them and takes them."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from pydantic import Field

from fairlead.wire.shape import Amounts, Count, RequestBody, ResponseBody


class TenantOrder(Enum):
    """The order of a list of tenants."""

    NAME = "name"
    JOBS = "jobs"
    WEIGHT = "weight"


class TenantRow(ResponseBody):
    """A tenant. `weight` is null where a pool says it. `user` is shown to admins only."""

    name: str
    parent: str | None = None
    weight: str | None = None
    pool: list[str] | None = Field(default=None, description="machines, in ranges")
    limit: Amounts = Field(default_factory=dict)
    user: str | None = None
    jobs: Count = Field(default=0, description="unfinished jobs of its own")


class Tenants(ResponseBody):
    """Tenants: all of them, or a page."""

    schema_: Literal["fairlead.tenants/1"] = Field(default="fairlead.tenants/1", alias="schema")
    tenants: list[TenantRow]
    next: str | None = None


class TenantDetail(TenantRow):
    """One tenant, and the names of those below it."""

    schema_: Literal["fairlead.tenant/1"] = Field(default="fairlead.tenant/1", alias="schema")
    below: list[str] = Field(default_factory=list)


class PutTenant(RequestBody):
    """What a tenant is from now on: a field left out means none, as in a file. The parent of a
    tenant that is there stays."""

    parent: str | None = None
    weight: int | float | str | None = None
    pool: list[str] | None = None
    limit: dict[str, int | float | str] = Field(default_factory=dict)
    user: str | None = None


class NamedTenant(PutTenant):
    """A tenant with its name."""

    name: str


class PutTenants(RequestBody):
    """Tenants, each after the one that it is below where both are new."""

    tenants: list[NamedTenant] = Field(min_length=1)
