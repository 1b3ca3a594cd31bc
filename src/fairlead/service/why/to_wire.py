"""Why a job waits, as the API tells it."""

from __future__ import annotations

from dataclasses import fields
from enum import Enum
from fractions import Fraction
from typing import Any

from fairlead.model.quantity import write_plain
from fairlead.model.values import FrozenMap
from fairlead.scheduling.transitions import TaskState
from fairlead.scheduling.why.values import Machines, Reason
from fairlead.service.why.answer import Fair, WhyJob
from fairlead.service.why.remedies import Change
from fairlead.wire import fairness as wire
from fairlead.wire.jobs import TaskCounts

MOST_HOLDERS = 50
"""Holders that are listed; the others are counted."""


def to_wire(why: WhyJob) -> wire.WhyAnswer:
    """All of it, the sentences beside the values."""
    changes = [_change(change) for change in why.changes]
    return wire.WhyAnswer(
        job=why.job,
        tenant=why.tenant,
        state=why.state,
        tasks=TaskCounts(
            **{
                state.name.lower(): count
                for state, count in zip(TaskState, why.counts, strict=True)
            }
        ),
        sentences=list(why.sentences()),
        reasons=[] if why.why is None else [_reason(reason) for reason in why.why.reasons],
        machines=None if why.why is None else _machines(why.why.machines),
        holders=[
            wire.WhyHolder(
                tenant=each.tenant,
                tasks=each.tasks,
                amounts={name: write_plain(one) for name, one in each.amounts.items()},
            )
            for each in why.holders[:MOST_HOLDERS]
        ],
        holders_more=max(0, len(why.holders) - MOST_HOLDERS),
        fair=None if why.fair is None else _fair(why.fair, why.time),
        change=changes[0] if changes else None,
        changes=changes,
        expected_start=None if why.start is None else why.start.time,
    )


def _machines(found: Machines) -> wire.WhyMachines:
    return wire.WhyMachines(**{each.name: getattr(found, each.name) for each in fields(found)})


def _fair(fair: Fair, now: int) -> wire.WhyFair:
    return wire.WhyFair(
        tasks=fair.exact.tasks,
        guaranteed=fair.exact.whole,
        running=fair.running,
        short=fair.short,
        since=fair.since,
        moment=fair.moment,
        sentence=fair.sentence(now),
    )


def _reason(reason: Reason) -> wire.WhyReason:
    return wire.WhyReason(
        kind=_words(type(reason).__name__), sentence=str(reason), values=_values(reason)
    )


def _change(change: Change) -> wire.WhyChange:
    values = _values(change)
    del values["kind"], values["sentence"]
    return wire.WhyChange(kind=change.kind.value, sentence=change.sentence, values=values)


def _words(name: str) -> str:
    """NoRoom as no_room."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def _values(value: Reason | Change) -> dict[str, Any]:
    return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}


def _plain(value: object) -> object:
    """The value as JSON holds it. Amounts are texts."""
    match value:
        case Fraction():
            return write_plain(value)
        case FrozenMap():
            return {key: _plain(each) for key, each in value.items()}
        case tuple():
            return [_plain(each) for each in value]
        case Enum():
            return value.value
        case _:
            return value
