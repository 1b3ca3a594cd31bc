"""What children hold, in the order of their heights: sums are those of a list, in any order."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from fairlead.compiling import kernel
from fairlead.scheduling.kernels.memory.state import Handle, State
from fairlead.scheduling.kernels.memory.tables import NONE
from fairlead.scheduling.kernels.search.stakes import (
    free_stake,
    insert_stake,
    line_at,
    line_of,
    new_stake,
    rank_of,
    remove_stake,
    stood,
)

Entry = tuple[float, float, float]
"""A height, an amount and a weight."""


@kernel
def _add(s: Handle, root: int, owner: int, key: float, amount: float, weight: float) -> int:
    n = new_stake(s)
    entry = s.stake[n]
    entry.rank = rank_of(owner)
    entry.key, entry.amount, entry.weight, entry.first = key, amount, weight, amount
    entry.key_low, entry.amount_low, entry.weight_low, entry.first_low = 0.0, 0.0, 0.0, 0.0
    return insert_stake(s, root, n)


@kernel
def _take(s: Handle, root: int, n: int) -> int:
    root = remove_stake(s, root, n)
    free_stake(s, n)
    return root


@kernel
def _ask(s: Handle, root: int, y: float) -> tuple[float, float, float]:
    high, low = stood(s, root, y, 0.0)
    _, _, amount, steep = line_at(s, root, y)
    return high, low, amount + steep * y


@kernel
def _line_at(s: Handle, root: int, y: float) -> tuple[float, float, float, float]:
    return line_at(s, root, y)


@kernel
def _line_of(s: Handle, root: int, total: float) -> tuple[float, float, float, float]:
    return line_of(s, root, total)


class Standing:
    """Entries by owner, and the same in the core's tables."""

    def __init__(self) -> None:
        self.state = State([0], rows=256)
        self.root = NONE
        self.there: dict[int, Entry] = {}

    def add(self, owner: int, entry: Entry) -> None:
        self.root = _add(self.state.handle, self.root, owner, *entry)
        self.there[owner] = entry

    def take(self, owner: int) -> None:
        used = self.state.stake[: int(self.state.header[0]["stakes"])]
        (n,) = np.flatnonzero((used["rank"] == _rank(owner)) & self._in_tree())
        self.root = _take(self.state.handle, self.root, int(n))
        del self.there[owner]

    def shape(self) -> list[tuple[float, ...]]:
        """All entries with their sums, from the top down."""
        sums = ("lower", "upper", "amounts", "amounts_low", "weights", "firsts", "most")
        names = ("rank", "key", *sums)
        return [tuple(self.state.stake[n][name].item() for name in names) for n in self._nodes()]

    def _nodes(self) -> list[int]:
        found = [self.root] if self.root >= 0 else []
        for n in found:
            found += [
                int(self.state.stake[n][side])
                for side in ("left", "right")
                if self.state.stake[n][side] >= 0
            ]
        return found

    def _in_tree(self) -> np.ndarray:
        there = np.zeros(int(self.state.header[0]["stakes"]), bool)
        there[self._nodes()] = True
        return there


@kernel
def _rank(owner: int) -> np.uint64:
    return rank_of(owner)


def drawn(random: Random) -> Entry:
    return (
        random.choice([random.random(), random.randrange(5) / 3]),
        random.random(),
        random.random(),
    )


@pytest.mark.parametrize("seed", range(4))
def test_at_any_height_the_lesser_of_both_is_added_up(seed: int) -> None:
    random, standing = Random(seed), Standing()
    for step in range(300):
        if standing.there and random.random() < 0.4:
            standing.take(random.choice([*standing.there]))
        else:
            standing.add(step, drawn(random))
        y = random.choice([0.0, random.random(), random.randrange(5) / 3])
        high, low, nearly = _ask(standing.state.handle, standing.root, y)
        exactly = sum(
            Fraction(amount) if key < y else Fraction(weight) * Fraction(y)
            for key, amount, weight in standing.there.values()
        )
        assert abs(Fraction(high) + Fraction(low) - exactly) <= exactly / 2**90
        assert nearly == pytest.approx(float(exactly), rel=2.0**-40)


@pytest.mark.parametrize("seed", range(4))
def test_a_line_is_found_by_a_height_and_by_what_is_stood_there(seed: int) -> None:
    random, standing = Random(seed), Standing()
    for owner in range([0, 1, 5, 200][seed]):
        key, weight = random.choice([random.random(), 1 / 3]), random.choice([1.0, 1e-3, 1e3])
        standing.add(owner, (key, key * weight, weight))

    def sum_at(y: float) -> float:
        each = standing.there.values()
        return float(sum(min(Fraction(a), Fraction(w) * Fraction(y)) for _, a, w in each))

    keys = sorted({key for key, _, _ in standing.there.values()})
    for _ in range(100):
        y = random.choice([0.0, random.random(), *keys])
        low, high, amount, steep = _line_at(standing.state.handle, standing.root, y)
        assert low == max((key for key in keys if key < y), default=-1.0)
        assert high == min((key for key in keys if key >= y), default=np.inf)
        middle = (max(low, 0.0) + min(high, 2.0)) / 2
        assert amount + steep * middle == pytest.approx(sum_at(middle), rel=2.0**-40)
        total = sum_at(middle)
        if steep > 0:
            line = _line_of(standing.state.handle, standing.root, total)
            assert line == (low, high, amount, steep)
        assert _line_of(standing.state.handle, standing.root, total * 1e9 + 1)[1] == np.inf


def test_the_same_entries_have_one_shape_whatever_came_before() -> None:
    random = Random(5)
    entries = {owner: drawn(random) for owner in range(120)}
    one, other = Standing(), Standing()
    for owner, entry in entries.items():
        one.add(owner, entry)
    for owner in random.sample([*entries, *range(200, 240)], 160):
        other.add(owner, entries.get(owner) or drawn(random))
    for owner in range(200, 240):
        other.take(owner)
    assert one.shape() == other.shape()
    for owner in entries:
        one.take(owner)
    assert one.root == NONE
