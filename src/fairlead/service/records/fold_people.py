"""The fold of what is neither a job nor a machine: tenants, tokens, the service itself."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import cast

from fairlead.scheduling import events
from fairlead.scheduling.decisions import Decision
from fairlead.scheduling.events import Event
from fairlead.service.journal.entry import Entry
from fairlead.service.records.book import Records
from fairlead.service.records.jobs import JobRecord
from fairlead.service.records.people import KeyOwner, KeyRecord, KeyTotals, Start, TokenRecord
from fairlead.service.records.sizes import key_bytes, text_bytes
from fairlead.wire.kinds import Role


def tenant_changed(records: Records, _entry: Entry, content: Event | Decision | None) -> None:
    """A tenant is new, or another one of its name."""
    tenant = cast(events.TenantChanged, content).tenant
    records.tenants[tenant.name] = tenant


def token_made(records: Records, entry: Entry, _content: Event | Decision | None) -> None:
    """A token is known by its hash."""
    body = entry.body
    records.tokens[body["name"]] = TokenRecord(
        body["name"], Role(body["role"]), body["tenant"], body["salt"], body["hash"], entry.time
    )


def token_revoked(records: Records, entry: Entry, _content: Event | Decision | None) -> None:
    """A token is no more."""
    del records.tokens[entry.body["name"]]


def use_key(records: Records, job: JobRecord, request: str) -> None:
    """A job was submitted under a key."""
    assert job.key is not None  # the caller saw it
    at = records.key_owner(job.by, job.key)
    before, totals = records.keys.get(at), records.key_totals.setdefault(at[1], KeyTotals())
    if before is None:
        totals.keys += 1
        totals.bytes += key_bytes(at, ())
        before = records.keys[at] = KeyRecord(request, [], [], job.submitted)
    totals.bytes += text_bytes([job.called])
    before.ids.append(job.id)
    before.names.append(job.called)


def give_key_back(records: Records, job: JobRecord) -> None:
    """A job was taken back in the step in which it was submitted: it never was there."""
    assert job.key is not None  # the caller saw it
    at = records.key_owner(job.by, job.key)
    known = records.keys.get(at)
    if known is None or job.id not in known.ids:
        return
    place = known.ids.index(job.id)
    records.key_totals[at[1]].bytes -= text_bytes([known.names[place]])
    del known.ids[place], known.names[place]
    if not known.ids:
        _drop_key(records, at)


def keys_forgotten(records: Records, entry: Entry, _content: Event | Decision | None) -> None:
    """Keys of submissions up to that time are known no more."""
    last = entry.body["before"]
    for at in list(takewhile(lambda at: records.keys[at].time <= last, records.keys)):
        _drop_key(records, at)


def _drop_key(records: Records, at: KeyOwner) -> None:
    totals = records.key_totals[at[1]]
    totals.keys -= 1
    totals.bytes -= key_bytes(at, records.keys.pop(at).names)
    if not totals.keys:
        del records.key_totals[at[1]]


def service_started(records: Records, entry: Entry, _content: Event | Decision | None) -> None:
    """A service started: with this core."""
    names = ("version", "schema", "policy", "placement", "options", "units")
    body = {name: entry.body[name] for name in names}
    before = records.start
    if before is None:
        records.start = Start(entry.time, **body, owner=1)
    else:
        owner = entry.body.get("owner", before.owner + 1)
        records.start = replace(before, time=entry.time, **body, owner=owner)


def engine_changed(records: Records, entry: Entry, _content: Event | Decision | None) -> None:
    """Launches go to another engine from now on; those that went to the one before are settled."""
    if records.start is None:
        raise ValueError("no service has started")
    records.start = replace(
        records.start, engine=entry.body["engine"], engine_gone=False, may_run_twice=False
    )


def engine_gone(records: Records, entry: Entry, _content: Event | Decision | None) -> None:
    """The engine that launches went to is gone, with all that ran there."""
    if records.start is None:
        raise ValueError("no service has started")
    twice = records.start.may_run_twice or bool(entry.body.get("may_run_twice", False))
    records.start = replace(records.start, engine_gone=True, may_run_twice=twice)


def core_changed(records: Records, entry: Entry, _content: Event | Decision | None) -> None:
    """The core decides by something else from now on."""
    if records.start is None:
        raise ValueError("no service has started")
    names = ("policy", "placement", "options")
    records.start = replace(records.start, **{name: entry.body[name] for name in names})


KINDS = {
    "keys_forgotten": keys_forgotten,
    "tenant_changed": tenant_changed,
    "token_made": token_made,
    "token_revoked": token_revoked,
    "service_started": service_started,
    "engine_changed": engine_changed,
    "engine_gone": engine_gone,
    "core_changed": core_changed,
}
"""Of each kind of entry, what it changes."""
