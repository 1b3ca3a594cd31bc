"""Comparisons that jobs ask for, and the labels of machines that have no order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairlead.model.constraint import ORDERINGS, Requirement, ordering_mistake
from fairlead.model.errors import Mistake
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.scheduling.state.book import Book


def without_order(book: Book, jobs: Sequence[Job]) -> Iterator[Mistake]:
    """For each comparison of each job, the first machine whose label has no order. What some job
    asks for already has been compared with all machines."""
    found: dict[Requirement, tuple[Machine, int] | None] = {}
    for job in jobs:
        for name, selector in (("where", job.where), ("prefer", job.prefer)):
            for part in selector.requirements:
                if part.operator not in ORDERINGS or part in book.ids.terms:
                    continue
                if part not in found:
                    found[part] = _first_without(book, part.key)
                first = found[part]
                if first is not None:
                    yield _mistake(job.name, name, part, *first)


def _first_without(book: Book, key: str) -> tuple[Machine, int] | None:
    """A machine whose label of this key has no order, and how many there are."""
    first, count = None, 0
    for machine, slots in book.alike_in_labels():
        label = machine.labels.get(key)
        if label is not None and ordering_mistake(label) is not None:
            first = first or machine
            count += len(slots)
    return None if first is None else (first, count)


def _mistake(job: str, field: str, part: Requirement, machine: Machine, count: int) -> Mistake:
    label = machine.labels[part.key]
    wrong = ordering_mistake(label)
    assert wrong is not None
    others = f" (and {count - 1} more)" if count > 1 else ""
    return Mistake(
        f'`{part}` compares the label {part.key} of machine "{machine.name}"{others}: {wrong.what}',
        'compare with = or in, or give the machine a label such as "5.10"',
        about=("job", job, field),
    )
