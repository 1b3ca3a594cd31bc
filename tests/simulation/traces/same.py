"""When two workloads are equal: what both say, whatever their batches are cut into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairlead.scheduling.state.terms import Term
from fairlead.simulation.workload import JobBatch, Workload


def jobs_of(workload: Workload) -> list[dict[str, Any]]:
    """Every job as plain values; terms by themselves, not by number."""
    terms: list[Term] = list(workload.terms)
    found: list[dict[str, Any]] = []
    for batch in workload.batches():
        terms += batch.terms
        found += [_job(workload, batch, row, terms) for row in range(len(batch))]
    return found


def _job(workload: Workload, batch: JobBatch, row: int, terms: Sequence[Term]) -> dict[str, Any]:
    tenant = int(batch.tenant[row])
    durations = batch.durations[batch.first[row] : batch.first[row + 1]].tolist()
    return {
        "name": None if batch.names is None else batch.names[row],
        "submit": int(batch.submit[row]),
        "tenant": None if tenant < 0 else workload.tenants[tenant].name,
        "demand": batch.demand[row].tolist(),
        "tasks": int(batch.tasks[row]),
        "needs": _terms(batch.needs[row].tolist(), terms),
        "prefers": [] if batch.prefers is None else _terms(batch.prefers[row].tolist(), terms),
        "patience": None if batch.patience is None else int(batch.patience[row]),
        "expected": 0 if batch.expected is None else int(batch.expected[row]),
        "spread": bool(batch.spread[row]),
        "gang": int(batch.gang[row]),
        "durations": durations * int(batch.tasks[row]) if len(durations) == 1 else durations,
    }


def _terms(words: Sequence[int], terms: Sequence[Term]) -> list[Term]:
    numbers = (64 * place + bit for place in range(len(words)) for bit in range(64))
    return [terms[number] for number in numbers if words[number // 64] >> (number % 64) & 1]


def assert_same(one: Workload, other: Workload) -> None:
    """Fails where the two differ."""
    assert one.name == other.name
    assert one.resources == other.resources
    assert one.tenants == other.tenants
    assert one.notes == other.notes
    assert one.options == other.options
    assert one.machines.names == other.machines.names
    assert one.machines.labels == other.machines.labels
    for column in ("time", "machine", "kind", "capacity"):
        mine, theirs = getattr(one.machines, column), getattr(other.machines, column)
        np.testing.assert_array_equal(mine, theirs, err_msg=column)
    assert jobs_of(one) == jobs_of(other)
