"""Section 6.1 of the k-DF paper: three users, three resources of C, all demands of 1 to C."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from fairlead.studies.cases import job, machines, share, tasks
from fairlead.studies.study import Setting

RESOURCES = ("bandwidth", "memory", "cpu")
RULES = {"NFC": "most-tasks", "DRF": "tsf", "2-DF": "2df"}
BATCH = 16
"""Cases that are shared at once, each on a machine of its own: the scales differ by one factor from
those of each case by itself, so that each comes out as it would alone. Rounds grow with the cases
and each costs as much as there are machines, so that more at once take longer."""

ORDERS = {1: 1, 2: 3, 3: 6}
"""Orders of three users, by how many of them differ."""

Demand = tuple[int, int, int]
Case = tuple[Demand, Demand, Demand]
Part = tuple[int, tuple[Case, ...]]


@dataclass(frozen=True)
class Judged:
    """A case with the tasks of its users under each rule; `count` of all combinations are like it
    but for the order of users and resources."""

    case: Case
    count: int
    tasks: dict[str, tuple[float, ...]]

    def total(self, rule: str) -> float:
        return sum(self.tasks[rule])


def cases(capacity: int) -> dict[Case, int]:
    """A case for all those that differ in the order of users and resources only, and how many
    combinations there are of each."""
    vectors = list(itertools.product(range(1, capacity + 1), repeat=3))
    found: Counter[Case] = Counter()
    for three in itertools.combinations_with_replacement(vectors, 3):
        like = min(
            _sorted((v[a], v[b], v[c]) for v in three)
            for a, b, c in itertools.permutations(range(3))
        )
        found[like] += ORDERS[len(set(three))]
    return dict(found)


def _sorted(demands: Iterable[Demand]) -> Case:
    first, second, third = sorted(demands)
    return first, second, third


def judge(part: Part) -> list[dict[str, tuple[float, ...]]]:
    """The tasks of the users of each case under each rule."""
    capacity, some = part
    where = machines(*[(capacity,) * 3] * len(some), resources=RESOURCES)
    users = [
        job(f"u{at}-{user}", *demand, on=[at], resources=RESOURCES)
        for at, case in enumerate(some, 1)
        for user, demand in enumerate(case)
    ]
    found: dict[str, list[float]] = {
        rule: tasks(share(where, users, spec)) for rule, spec in RULES.items()
    }
    return [
        {rule: tuple(counts[3 * at : 3 * at + 3]) for rule, counts in found.items()}
        for at in range(len(some))
    ]


_known: dict[int, tuple[Judged, ...]] = {}


def enumeration(capacity: int, setting: Setting) -> tuple[Judged, ...]:
    """All cases, judged; once for all studies of a process."""
    if capacity not in _known:
        counts = cases(capacity)
        some = list(counts)
        parts = [(capacity, tuple(some[at : at + BATCH])) for at in range(0, len(some), BATCH)]
        answers = [one for part in setting.spread(judge, parts) for one in part]
        _known[capacity] = tuple(
            Judged(case, counts[case], answer) for case, answer in zip(some, answers, strict=True)
        )
    return _known[capacity]


def mean(found: tuple[Judged, ...], values: list[float]) -> float:
    """The mean over all combinations."""
    total = sum(one.count for one in found)
    return sum(one.count * value for one, value in zip(found, values, strict=True)) / total


def capacities(setting: Setting) -> tuple[int, ...]:
    """The capacities that are gone through: 5 takes two and a half minutes of a core."""
    return (3,) if setting.quick else (3, 5)


MORE = 1e-9
"""Relative: less is rounding."""


def wins(one: Judged) -> bool:
    """Whether 2-DF completes more tasks than DRF."""
    return one.total("2-DF") > one.total("DRF") * (1 + MORE)
