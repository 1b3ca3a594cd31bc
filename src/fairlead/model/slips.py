"""Slips of the pen: what a job names that no machine has. No mistake, for machines come and go."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from fairlead.model.constraint import Operator, Requirement
from fairlead.model.hints import Known
from fairlead.model.job import Job
from fairlead.model.machine import Machine

NAMED = 5
"""So many of the names that there are stand in a sentence, and so many machines of a list that are
not there get a sentence each."""


class Slips:
    """The names that these machines have, looked up once for all jobs that are compared with it."""

    def __init__(self, machines: Iterable[Machine]) -> None:
        names: set[str] = set()
        resources: set[str] = set()
        self._values: dict[str, set[str]] = {}
        for machine in machines:
            names.add(machine.name)
            resources.update(machine.capacity)
            for key, value in machine.labels.items():
                self._values.setdefault(key, set()).add(str(value))
        self._names = Names(names)
        self._resources = Names(resources)
        self._keys = Names(self._values)

    def of(self, job: Job) -> Iterator[str]:
        """The names in the job that no machine has, with the nearest name or with those that there
        are."""
        for name in job.demand:
            if job.demand[name] and name not in self._resources:
                yield self._resources.slip(f"no machine has any {name}", name)
        for each in job.where.requirements:
            if each.matches({}):  # what no machine has excludes none here
                continue
            if each.key not in self._keys:
                yield self._keys.slip(f"no machine has the label {each.key}", each.key)
            elif each.operator in (Operator.EQUAL, Operator.IN):
                yield from self._values_of(each)
        yield from machine_slips(self._names, job.machines or ())

    def _values_of(self, each: Requirement) -> Iterator[str]:
        values = self._values[each.key]
        for value in each.values:
            if value not in values:
                # A model of another number, or of another letter before it, is another model.
                alike = [one for one in values if _model(one) == _model(value)]
                yield Names(values).slip(f"no machine has {each.key} = {value}", value, alike)


class Names:
    def __init__(self, names: Iterable[str]) -> None:
        self._there = frozenset(names)
        self._known = Known(self._there)

    def __contains__(self, name: str) -> bool:
        return name in self._there

    def slip(self, what: str, word: str, near: Iterable[str] | None = None) -> str:
        """The sentence with a hint at the nearest name, of those that come into question."""
        known = self._known if near is None else Known(near)
        hint = known.hint(word, self._otherwise)
        return f"{what}; {hint}" if hint else what

    @cached_property
    def _otherwise(self) -> str:
        names = sorted(self._there)
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return f"there is {', '.join(names[:NAMED])}{more}" if names else ""


def machine_slips(names: Names, listed: Iterable[str], which: str = "") -> Iterator[str]:
    """The names in a list of machines that are not among these, in the words that say `which`."""
    missing = [name for name in listed if name not in names]
    for name in missing[:NAMED]:
        yield names.slip(f'there is no machine "{name}"{which}', name)
    if missing[NAMED:]:
        yield f"{len(missing) - NAMED} more machines of its list are not there"


def _model(value: str) -> tuple[str, ...]:
    """The numbers in a value, each with the letter before it."""
    return tuple(re.findall(r".?[0-9]+", value.lower()))
