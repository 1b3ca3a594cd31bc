"""The fold of machines that come, go on otherwise, or take nothing for a while."""

from __future__ import annotations

from typing import cast

from fairlead.scheduling import events
from fairlead.scheduling.decisions import Decision
from fairlead.scheduling.events import Event
from fairlead.service.journal.entry import Entry
from fairlead.service.records.book import Records
from fairlead.service.records.people import MachineRecord, Quarantine


def machine_joined(records: Records, entry: Entry, content: Event | Decision | None) -> None:
    """A machine is there, new or again."""
    machine = cast(events.MachineJoined, content).machine
    record = records.machines.setdefault(machine.name, MachineRecord(machine.name))
    record.machine, record.joined, record.draining = machine, entry.time, False


def machine_changed(records: Records, _entry: Entry, content: Event | Decision | None) -> None:
    """A machine has other resources or labels."""
    machine = cast(events.MachineChanged, content).machine
    records.machines[machine.name].machine = machine


def machine_drained(records: Records, entry: Entry, _content: Event | Decision | None) -> None:
    """The core starts nothing new on a machine, or does again."""
    records.machines[entry.body["machine"]].draining = not entry.body["back"]


def drain_asked(records: Records, entry: Entry, _content: Event | Decision | None) -> None:
    """An operator drains a machine, or takes it back."""
    machine = records.machines[entry.body["machine"]]
    machine.drained = not entry.body["back"]
    forget_machine(records, machine)


def machine_quarantined(records: Records, entry: Entry, _content: Event | Decision | None) -> None:
    """A machine is kept out for a while, since tasks fail there."""
    body = entry.body
    machine = records.machines[body["machine"]]
    machine.failures = body["failures"]
    machine.quarantine = Quarantine(body["until"], body["failures"], body["why"])


def quarantine_ended(records: Records, entry: Entry, _content: Event | Decision | None) -> None:
    """It is not kept out any more."""
    machine = records.machines[entry.body["machine"]]
    machine.quarantine = None
    forget_machine(records, machine)


def forget_machine(records: Records, machine: MachineRecord) -> None:
    """A machine that is not there is forgotten, unless there is something to remember."""
    kept = machine.machine or machine.drained or machine.quarantine or machine.given_up
    if not kept:
        del records.machines[machine.name]


KINDS = {
    "machine_joined": machine_joined,
    "machine_changed": machine_changed,
    "machine_drained": machine_drained,
    "drain_asked": drain_asked,
    "machine_quarantined": machine_quarantined,
    "quarantine_ended": quarantine_ended,
}
"""Of each kind of entry, what it changes."""
