"""The fold of what is marked on the time line of shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import cast

from fairlead.model.quantity import write_plain
from fairlead.scheduling import events
from fairlead.scheduling.decisions import Decision
from fairlead.scheduling.events import Event
from fairlead.service.journal.entry import Entry
from fairlead.service.records.book import Records
from fairlead.service.records.marks import Mark
from fairlead.wire.kinds import MarkKind

Content = Event | Decision | None


def mark(records: Records, entry: Entry, content: Content) -> None:
    """Adds the entry's mark, if it has one. The records are those before the entry."""
    find = _KINDS.get(entry.kind)
    found = None if find is None else find(records, entry, content)
    if found is not None:
        records.marks.add(found)


def _stop(records: Records, entry: Entry, _content: Content) -> Mark:
    job = records.names[entry.body["job"]]
    return Mark(entry.time, MarkKind.TASKS_STOPPED, tenant=job.job.tenant)


def _mark_joined(_records: Records, entry: Entry, content: Content) -> Mark:
    machine = cast(events.MachineJoined, content).machine
    return Mark(entry.time, MarkKind.MACHINES_JOINED, machine=machine.name)


def _mark_changed(_records: Records, entry: Entry, content: Content) -> Mark:
    machine = cast(events.MachineChanged, content).machine
    return Mark(entry.time, MarkKind.MACHINES_CHANGED, machine=machine.name)


def _machine(kind: MarkKind) -> Callable[[Records, Entry, Content], Mark]:
    return lambda _records, entry, _content: Mark(entry.time, kind, machine=entry.body["machine"])


def _drain(_records: Records, entry: Entry, _content: Content) -> Mark:
    back = entry.body["back"]
    kind = MarkKind.MACHINES_UNDRAINED if back else MarkKind.MACHINES_DRAINED
    return Mark(entry.time, kind, machine=entry.body["machine"])


def _tenant(records: Records, entry: Entry, content: Content) -> Mark | None:
    """One that is new has nothing that changes."""
    tenant = cast(events.TenantChanged, content).tenant
    if tenant.name not in records.tenants:
        return None
    weight = Fraction(1) if tenant.weight is None else tenant.weight
    said = None if tenant.pool is not None else write_plain(weight)
    return Mark(entry.time, MarkKind.TENANT_CHANGED, tenant.name, weight=said)


def _plain(kind: MarkKind) -> Callable[[Records, Entry, Content], Mark]:
    return lambda _records, entry, _content: Mark(entry.time, kind)


_KINDS: Mapping[str, Callable[[Records, Entry, Content], Mark | None]] = {
    "stop": _stop,
    "machine_joined": _mark_joined,
    "machine_changed": _mark_changed,
    "machine_left": _machine(MarkKind.MACHINES_LEFT),
    "drain_asked": _drain,
    "machine_quarantined": _machine(MarkKind.MACHINES_QUARANTINED),
    "quarantine_ended": _machine(MarkKind.QUARANTINES_ENDED),
    "tenant_changed": _tenant,
    "service_started": _plain(MarkKind.SERVICE_STARTED),
    "core_changed": _plain(MarkKind.CORE_CHANGED),
}
