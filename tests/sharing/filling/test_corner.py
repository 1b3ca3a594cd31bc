"""The prices that equations say are the same by whatever way they are found."""

from __future__ import annotations

from random import Random

import pytest
from flint import fmpz

from fairlead.sharing.filling import corner
from fairlead.sharing.filling.corner import Entries, null_vector


def drawn(random: Random, size: int) -> Entries:
    """One equation less than rows, of a few rows each: some rows are nothing in most answers. The
    first one says that of the last row, and of the others what the second one does."""
    values = [1, 2, 3, 4, 7, -7, 14, -3, 49]
    found: Entries = []
    for _ in range(size - 1):
        own = random.sample(range(size), min(size, random.choice([1, 2, 2, 3, 5])))
        found.append({row: random.choice(values) for row in own})
    return [{**found[0], size: random.choice(values)}, *found]


def test_a_prime_says_which_rows_are_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    systems = _agrees(monkeypatch, corner._PRIME)  # noqa: SLF001  no input meets its limits
    assert systems == 1.0


def test_what_a_prime_says_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Much is nothing modulo seven that is something."""
    assert _agrees(monkeypatch, 7) > 1.0


def _agrees(monkeypatch: pytest.MonkeyPatch, prime: int) -> float:
    """How many systems in rationals it takes for each answer; no answer is another one than without
    a prime."""
    random = Random(1)
    some, none, partly, systems = 0, 0, 0, 0
    as_ever = corner._with_last  # noqa: SLF001

    def counted(entries: Entries, last: int) -> list[fmpz] | None:
        nonlocal systems
        systems += 1
        return as_ever(entries, last)

    for _ in range(60):
        entries = drawn(random, random.randint(2, 9))
        rows = [10 * row for row in range(len(entries) + 1)]
        spaced = [{10 * row: value for row, value in entry.items()} for entry in entries]
        known = null_vector(spaced, rows)
        with monkeypatch.context() as patch:
            patch.setattr(corner, "_MANY", 0)
            patch.setattr(corner, "_PRIME", prime)
            if known is None:
                assert null_vector(spaced, rows) is None
                none += 1
                continue
            patch.setattr(corner, "_with_last", counted)
            assert null_vector(spaced, rows) in (known, [-each for each in known])
        some += 1
        partly += not all(known)
        for entry in entries:
            of_row = [known[row] * value for row, value in entry.items()]
            assert not sum(of_row, fmpz(0))
    assert min(some, none, partly) > 3
    return systems / some
