"""A sequence of events as Python that can be run again."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.model.times import typical
from fairlead.scheduling.events import Event
from tests.scheduling.draw import Case


def written_case(case: Case) -> str:
    """The call that makes the case, with the imports that it needs."""
    lines = [
        "from fairlead.model.job import Job",
        "from fairlead.model.machine import Machine",
        "from fairlead.model.tenant import Tenant",
        "from fairlead.scheduling.events import *",
        "from tests.scheduling.draw import Case",
        "from tests.scheduling.agreement import disagreement",
        "",
        f"case = Case({case.seed}, {case.policy!r}, {case.placement!r}, {case.reserve_after!r},",
        f"    {case.reserve_for!r},",
        f"    {case.filling}, (",
    ]
    for instant in case.instants:
        lines.append("    (")
        lines += [f"        {written_event(event)}," for event in instant]
        lines.append("    ),")
    return "\n".join([*lines, "))", "print(disagreement(case))"])


def written_event(event: Event) -> str:
    """The event as a call."""
    fields = (getattr(event, name) for name in type(event).__slots__)
    return f"{type(event).__name__}({', '.join(_value(value) for value in fields)})"


def _value(value: object) -> str:
    match value:
        case Job():
            return _call(
                "Job",
                [repr(value.name), _amounts(value.demand)],
                tenant=value.tenant,
                tasks=None if value.tasks is None else int(value.tasks),
                where=str(value.where) or None,
                machines=value.machines,
                exclude=value.exclude or None,
                spread=value.spread or None,
                prefer=str(value.prefer) or None,
                gang=None if value.gang == 1 else value.gang,
                duration=value.duration and int(typical(value.duration) or 0),
                prefer_for=None if value.prefer_for is None else int(value.prefer_for),
            )
        case Machine():
            labels = {key: str(label) for key, label in value.labels.items()}
            return _call("Machine", [repr(value.name), _amounts(value.capacity), repr(labels)])
        case Tenant():
            return _call(
                "Tenant",
                [repr(value.name)],
                weight=None if value.weight is None else str(value.weight),
                parent=value.parent,
                limit={r: str(amount) for r, amount in value.limit.items()} or None,
            )
    return repr(value)


def _amounts(amounts: Mapping[str, Fraction]) -> str:
    return repr({r: str(amount) for r, amount in amounts.items()})


def _call(name: str, parts: list[str], **named: object) -> str:
    parts = parts + [f"{key}={value!r}" for key, value in named.items() if value is not None]
    return f"{name}({', '.join(parts)})"
