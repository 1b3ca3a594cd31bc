"""Events and decisions as the bodies of entries, and back; bodies as bytes, the same every time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, get_args

from fairlead.model.errors import InputError
from fairlead.model.plain import (
    kept_job_of,
    machine_of,
    plain_job,
    plain_machine,
    plain_tenant,
    tenant_of,
)
from fairlead.model.values import FrozenMap, believing
from fairlead.scheduling import events
from fairlead.scheduling.decisions import Decision, Launch, Reject, Stop
from fairlead.scheduling.events import Advice, Event
from fairlead.service.journal.entry import Body, CorruptJournalError, Entry


class Form(NamedTuple):
    """Writes a field's value into a tree and reads it back. `read` raises ValueError."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _same(value: Any) -> Any:
    return value


def _text(value: object) -> str:
    if type(value) is str:
        return value
    raise ValueError("is not a text")


def _whole(value: object) -> int:
    if type(value) is int:
        return value
    raise ValueError("is not a whole number")


def _truth(value: object) -> bool:
    if type(value) is bool:
        return value
    raise ValueError("is neither true nor false")


def _whole_or_none(value: object) -> int | None:
    return None if value is None else _whole(value)


def _pieces(value: object) -> tuple[tuple[str, int], ...]:
    if type(value) is list and all(type(each) is list and len(each) == 2 for each in value):
        return tuple((_text(resource), _whole(index)) for resource, index in value)
    raise ValueError("is not a list of devices")


def _plain_advice(advice: tuple[Advice, ...]) -> list[Body]:
    return [
        {"job": one.job, "machines": list(one.machines), "rank": one.rank, "target": one.target}
        for one in advice
    ]


def _advice(value: object) -> tuple[Advice, ...]:
    if type(value) is not list:
        raise ValueError("is not a list")
    found = []
    for one in value:
        if type(one) is not dict or one.keys() != {"job", "machines", "rank", "target"}:
            raise ValueError("holds what is no advice")
        if type(one["machines"]) is not list:
            raise ValueError("holds advice on no list of machines")
        machines = tuple(_text(name) for name in one["machines"])
        found.append(
            Advice(_text(one["job"]), machines, _whole(one["rank"]), _whole(one["target"]))
        )
    return tuple(found)


def _counts(value: object) -> FrozenMap[int]:
    if type(value) is not dict:
        raise ValueError("is not a mapping")
    return FrozenMap({_text(name): _whole(count) for name, count in value.items()})


TEXT = Form(_same, _text)
WHOLE = Form(_same, _whole)
TRUTH = Form(_same, _truth)
WHOLE_OR_NONE = Form(_same, _whole_or_none)
MACHINE = Form(plain_machine, machine_of)
TENANT = Form(plain_tenant, tenant_of)
JOB = Form(plain_job, kept_job_of)
PIECES = Form(lambda pieces: [list(each) for each in pieces], _pieces)
ADVICE = Form(_plain_advice, _advice)
COUNTS = Form(dict, _counts)

Fields = Mapping[str, Form]

_TASK: Fields = {"job": TEXT, "task": WHOLE}
_PLACED: Fields = {"job": TEXT, "task": WHOLE, "machine": TEXT, "attempt": WHOLE}

FORMS: Mapping[type, Fields] = {
    events.MachineJoined: {"machine": MACHINE},
    events.MachineLeft: {"machine": TEXT},
    events.MachineDrained: {"machine": TEXT, "back": TRUTH},
    events.MachineChanged: {"machine": MACHINE},
    events.JobSubmitted: {"job": JOB},
    events.JobChanged: {"job": TEXT, "tasks": WHOLE_OR_NONE},
    events.JobCancelled: {"job": TEXT},
    events.TaskPlaced: {**_TASK, "machine": TEXT},
    events.TaskStarted: _TASK,
    events.TaskFinished: _TASK,
    events.TaskFailed: _TASK,
    events.TaskLost: _TASK,
    events.TaskStopped: _TASK,
    events.TenantChanged: {"tenant": TENANT},
    events.TimePassed: {},
    events.AdviceChanged: {"advice": ADVICE},
    events.GuaranteesChanged: {"guarantees": COUNTS},
    Launch: {**_PLACED, "pieces": PIECES},
    Stop: _PLACED,
    Reject: {"job": TEXT, "reason": TEXT},
}
"""Of every event and decision: its fields but `time`, which is the entry's."""


def _snake(kind: type) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


EVENTS: Mapping[str, type] = {_snake(kind): kind for kind in get_args(Event)}
"""The kinds of entries that the core is told of."""

DECISIONS: Mapping[str, type] = {_snake(kind): kind for kind in get_args(Decision)}
"""The kinds of entries that the core said."""

_KIND = {kind: name for name, kind in (*EVENTS.items(), *DECISIONS.items())}


def kind_of(said: Event | Decision) -> str:
    return _KIND[type(said)]


def body_of(said: Event | Decision, **more: Any) -> Body:
    """The body of the entry that holds it, with `more` that only the records need."""
    fields = FORMS[type(said)]
    twice = fields.keys() & more.keys()
    if twice:
        raise ValueError(f"the event itself has {min(twice)}")
    return {name: form.write(getattr(said, name)) for name, form in fields.items()} | more


def entry_of(seq: int, step: int, time: int, said: Event | Decision, **more: Any) -> Entry:
    return Entry(seq, step, time, kind_of(said), body_of(said, **more))


def event_of(entry: Entry) -> Event:
    """The event that the entry holds, exactly as it was; of its kind there is one in EVENTS. What
    else is in its body is left aside. Raises CorruptJournalError where a field does not fit."""
    made: Event = EVENTS[entry.kind](entry.time, **_read(entry, EVENTS[entry.kind]))
    return made


def decision_of(entry: Entry) -> Decision:
    """The decision that the entry holds; of its kind there is one in DECISIONS."""
    made: Decision = DECISIONS[entry.kind](**_read(entry, DECISIONS[entry.kind]))
    return made


def _read(entry: Entry, kind: type) -> dict[str, Any]:
    body, values = entry.body, {}
    for name, form in FORMS[kind].items():
        if name not in body:
            raise CorruptJournalError(f"entry {entry.seq} ({entry.kind}) has no {name}")
        try:
            values[name] = _read_accepted(form.read, body[name])
        except (ValueError, InputError) as error:
            raise CorruptJournalError(
                f"{name} of entry {entry.seq} ({entry.kind}): {error}"
            ) from error
    return values


def _read_accepted(read: Callable[[Any], Any], value: Any) -> Any:
    """Reads a value; also one that would be refused now, and was accepted when it was written."""
    try:
        return read(value)
    except InputError:
        with believing():
            return read(value)


def to_text(body: Body) -> str:
    """A body as JSON, in ASCII: the same text for equal bodies. Raises ValueError for what JSON
    does not hold."""
    return _ENCODER.encode(body)


def from_text(text: str | bytes) -> Body:
    """The body of a text. Raises ValueError where it is none."""
    body = json.loads(text)
    if type(body) is not dict:
        raise ValueError("it is no mapping")
    return body


_ENCODER = json.JSONEncoder(
    ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":")
)
