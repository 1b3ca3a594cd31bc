"""Entries of a journal, for programs too that load nothing of the tests'."""

from __future__ import annotations

from fairlead.service.journal.entry import Entry


def some(first: int, count: int, **more: object) -> list[Entry]:
    """Entries from the `first`-th on."""
    return [
        Entry(seq, seq // 3, 10**15 + seq // 3, "task_finished", {"job": "a", "task": seq, **more})
        for seq in range(first, first + count)
    ]
