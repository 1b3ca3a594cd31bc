"""Slips of the pen: what a job names that no machine has. No mistake, for machines come and go."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from fairlead.model.constraint import Operator, Requirement
from fairlead.model.hints import Known
from fairlead.model.job import Job
from fairlead.model.machine import Machine

NAMED = 5
"""So many of the names that there are stand in a sentence."""


def slips(machines: Sequence[Machine], job: Job) -> Iterator[str]:
    """What the job names that none of these machines has, with the nearest name or with those that
    there are."""
    resources = {name for machine in machines for name in machine.capacity}
    for name in job.demand:
        if job.demand[name] and name not in resources:
            yield _slip(f"no machine has any {name}", name, resources)
    keys = {key for machine in machines for key in machine.labels}
    for each in job.where.requirements:
        if each.matches({}):  # what no machine has excludes none here
            continue
        if each.key not in keys:
            yield _slip(f"no machine has the label {each.key}", each.key, keys)
        elif each.operator in (Operator.EQUAL, Operator.IN):
            yield from _values(machines, each)
    if job.machines is not None:
        names = {machine.name for machine in machines}
        for name in job.machines:
            if name not in names:
                yield _slip(f'there is no machine "{name}"', name, names)


def _values(machines: Iterable[Machine], each: Requirement) -> Iterator[str]:
    values = {str(m.labels[each.key]) for m in machines if each.key in m.labels}
    for value in each.values:
        if value not in values:
            # A model of another number, or of another letter before it, is another model.
            alike = [one for one in values if _model(one) == _model(value)]
            yield _slip(f"no machine has {each.key} = {value}", value, alike, values)


def _model(value: str) -> tuple[str, ...]:
    """The numbers in a value, each with the letter before it."""
    return tuple(re.findall(r".?[0-9]+", value.lower()))


def _slip(what: str, word: str, near: Collection[str], there: Collection[str] | None = None) -> str:
    names = sorted(near if there is None else there)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    otherwise = f"there is {', '.join(names[:NAMED])}{more}" if names else ""
    hint = Known(near).hint(word, otherwise)
    return f"{what}; {hint}" if hint else what
