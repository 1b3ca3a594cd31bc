"""The fold of what is neither a job nor a machine: tenants, tokens, the service itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from fairlead.scheduling import events
from fairlead.scheduling.decisions import Decision
from fairlead.scheduling.events import Event
from fairlead.service.journal.entry import Entry
from fairlead.service.records.book import Records
from fairlead.service.records.people import Start, TokenRecord
from fairlead.service.requests import Role


def tenant_changed(records: Records, _entry: Entry, said: Event | Decision | None) -> None:
    """A tenant is new, or another one of its name."""
    tenant = cast(events.TenantChanged, said).tenant
    records.tenants[tenant.name] = tenant


def token_made(records: Records, entry: Entry, _said: Event | Decision | None) -> None:
    """A token is known by its hash."""
    body = entry.body
    records.tokens[body["name"]] = TokenRecord(
        body["name"], Role(body["role"]), body["tenant"], body["salt"], body["hash"], entry.time
    )


def token_revoked(records: Records, entry: Entry, _said: Event | Decision | None) -> None:
    """A token is no more."""
    del records.tokens[entry.body["name"]]


def service_started(records: Records, entry: Entry, _said: Event | Decision | None) -> None:
    """What the service was started with."""
    body: dict[str, Any] = entry.body
    records.start = Start(
        time=entry.time,
        version=body["version"],
        schema=body["schema"],
        policy=body["policy"],
        placement=body["placement"],
        options=body["options"],
        units=body["units"],
    )


def core_changed(records: Records, entry: Entry, _said: Event | Decision | None) -> None:
    """The core decides by something else from now on."""
    if records.start is None:
        raise ValueError("no service has started")
    body: dict[str, Any] = entry.body
    records.start = replace(
        records.start,
        policy=body["policy"],
        placement=body["placement"],
        options=body["options"],
    )
