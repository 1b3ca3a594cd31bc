"""Hints at slips of the pen in a job that can run nowhere, which are no mistakes of the input."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from fairlead.model.constraint import Operator, Requirement
from fairlead.model.hints import Known
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.shares import JobShare


def slips(cluster: Cluster, jobs: Iterable[Job], shares: Iterable[JobShare]) -> Iterator[str]:
    """For each job that can run nowhere: what it names that no machine has, where something close
    is there."""
    nowhere = {share.name for share in shares if share.nowhere is not None}
    for job in jobs if nowhere else ():
        if job.name in nowhere:
            yield from (f"job {job.name}: {hint}" for hint in _of(cluster, job))


def _of(cluster: Cluster, job: Job) -> Iterator[str]:
    resources = {name for machine in cluster.machines for name in machine.capacity}
    for name in job.demand:
        if job.demand[name] and name not in resources:
            yield from _hint(f"no machine has any {name}", name, resources)
    keys = {key for machine in cluster.machines for key in machine.labels}
    for each in job.where.requirements:
        if each.matches({}):  # what no machine has excludes none here
            continue
        if each.key not in keys:
            yield from _hint(f"no machine has the label {each.key}", each.key, keys)
        elif each.operator in (Operator.EQUAL, Operator.IN):
            yield from _value(cluster, each)


def _value(cluster: Cluster, each: Requirement) -> Iterator[str]:
    values = {str(m.labels[each.key]) for m in cluster.machines if each.key in m.labels}
    for value in each.values:
        if value not in values:
            # A model of another number, or of another letter before it, is another model.
            alike = [one for one in values if _model(one) == _model(value)]
            yield from _hint(f"no machine has {each.key} = {value}", value, alike)


def _model(value: str) -> tuple[str, ...]:
    """The numbers in a value, each with the letter before it."""
    return tuple(re.findall(r".?[0-9]+", value.lower()))


def _hint(what: str, word: str, known: Iterable[str]) -> Iterator[str]:
    if close := Known(known).hint(word):
        yield f"{what}; {close}"
