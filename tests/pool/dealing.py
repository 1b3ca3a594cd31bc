"""Which tests a process of the pool begins with, and which are for whoever is free."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

WAITING = (
    ("tests/engines/ray/", "tests/engines/slurm/"),
    ("tests/service/", "tests/client/"),
    ("tests/cli/live/", "tests/dashboard/"),
    ("tests/engines/",),
)
"""Folders whose tests wait for other processes much of the time, in their order: each row is what
one process of the pool does first. Ray's and Slurm's clusters are set up in that one alone."""

LONG = ("tests/vopr/", "tests/test_docs.py")
"""What takes long and computes, as do those that are marked `slow`: one more process begins with
it."""

TOGETHER = 64
"""As many tests of a file, of those that are short, are taken at once: what they share is set up
for all of them."""


def first_of(test: pytest.Item) -> int | None:
    """Which row of what waits the test is of; what is long comes after those; None: any time."""
    for number, folders in enumerate(WAITING):
        if test.nodeid.startswith(folders):
            return number
    long = test.nodeid.startswith(LONG) or test.get_closest_marker("slow")
    return len(WAITING) if long else None


def when(test: pytest.Item) -> tuple[int, bool]:
    """The order of those that one process does first: by their folders, the slow ones before."""
    folders = [folder for row in WAITING for folder in row]
    found = (n for n, each in enumerate(folders) if test.nodeid.startswith(each))
    return next(found, len(folders)), test.get_closest_marker("slow") is None


def file_of(test: pytest.Item) -> str:
    """The file that it is in."""
    return test.nodeid.partition("::")[0]


def dealt(tests: Sequence[pytest.Item], processes: int) -> tuple[list[list[int]], list[list[int]]]:
    """The tests' numbers: what each process of a pool does first, one row each, and the others, of
    which those that stand together in a file are taken together. What waits or takes long is in
    the rows, so that all cores are busy meanwhile, and no long one is left for the end."""
    rows: list[list[int]] = [[] for _ in range(processes)]
    others: list[list[int]] = []
    for number, test in enumerate(tests):
        first = first_of(test)
        if first is not None:
            rows[first % processes].append(number)
        elif (
            others
            and others[-1][-1] == number - 1
            and len(others[-1]) < TOGETHER
            and file_of(tests[number - 1]) == file_of(test)
        ):
            others[-1].append(number)
        else:
            others.append([number])
    for row in rows:
        row.sort(key=lambda number: when(tests[number]))
    return rows, others
