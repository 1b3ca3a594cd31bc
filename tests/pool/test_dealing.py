"""What each process of the pool begins with."""

from __future__ import annotations

from typing import cast

import pytest

from tests.pool.dealing import LONG, TOGETHER, WAITING, dealt


class Named:
    """What is asked of a test where it is given its place."""

    def __init__(self, nodeid: str, slow: bool = False) -> None:
        self.nodeid, self.slow = nodeid, slow

    def get_closest_marker(self, name: str) -> object:
        return True if name == "slow" and self.slow else None


def given(named: list[Named], processes: int) -> tuple[list[list[str]], list[list[str]]]:
    rows, others = dealt(cast("list[pytest.Item]", named), processes)
    every = sorted(number for part in (*rows, *others) for number in part)
    assert every == list(range(len(named)))
    first, rest = ([[named[n].nodeid for n in part] for part in parts] for parts in (rows, others))
    return first, rest


@pytest.mark.parametrize("processes", [1, 2, 3, 4, 5])
def test_each_process_begins_with_what_waits_or_is_long(processes: int) -> None:
    begun = [*(row[0] for row in WAITING), LONG[0]]
    named = [Named(f"tests/model/test_{n}.py::test") for n in range(40)]
    named += [Named(f"{folder}test.py::test_{n}", n == 2) for folder in begun for n in range(4)]
    rows, others = given(named, processes)
    assert len(rows) == processes
    # Of what one process does first, a slow test is the first.
    heads = [row[0] for row in rows if row]
    assert heads == [f"{each}test.py::test_2" for each in begun[:processes]]
    assert [len(part) for part in others] == [1] * 40


def test_short_tests_of_a_file_are_taken_together_up_to_so_many() -> None:
    named = [Named(f"tests/model/test_a.py::test_{n}") for n in range(TOGETHER + 2)]
    named.insert(3, Named("tests/model/test_a.py::test_slow", slow=True))
    named.append(Named("tests/model/test_b.py::test"))
    rows, others = given(named, 5)
    assert [len(part) for part in others] == [3, TOGETHER - 1, 1]
    assert rows[4] == ["tests/model/test_a.py::test_slow"]
