"""The numbers of the k-DF paper (Jiang and Wu): exact divisible shares."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.sharing.problem.problem import Bools, Floats, Ints
from tests.papers.cases import job, machines, tasks

# Section 1.1 and 4.3.
CLUSTER = machines((200, 200, 200))
USERS = (job("u1", 40, 8, 8), job("u2", 8, 5, 1))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("drf", [2.5, 12.5]),
        ("2df", [25 / 13, 200 / 13]),
        ("kdf(k=2, pooled=true)", [25 / 13, 200 / 13]),
        ("most-tasks", [0, 25]),
    ],
)
def test_section_1_1(policy: str, expected: list[float]) -> None:
    assert tasks(CLUSTER, USERS, policy) == pytest.approx(expected)


def test_theorem_2_does_not_cover_halving_every_demand_which_pays() -> None:
    halved = (job("u1", 20, 4, 4), USERS[1])
    assert tasks(CLUSTER, halved, "2df")[0] == pytest.approx(50 / 9)  # half tasks: 2.78 whole
    assert tasks(CLUSTER, halved, "2df")[0] / 2 > 1.4 * tasks(CLUSTER, USERS, "2df")[0]


def test_two_df_lacks_the_sharing_incentive() -> None:
    # Alone u1 runs 5 tasks, so an equal half of the cluster would give it 2.5.
    assert tasks(CLUSTER, USERS, "2df")[0] < 2.5


def test_section_6_3_printed_placement_cannot_be_right() -> None:
    largest = [Machine(f"s{i}", {"cpu": 16, "memory": 128}) for i in range(3)]
    printed = {"job1": (2.5, 3, 56), "job2": (1, 15, 28), "job3": (1, 10, 42)}
    for name, (cpu, memory, count) in printed.items():
        alone = tasks(largest, (Job(name, {"cpu": cpu, "memory": memory}),), "tsf")[0]
        assert alone < count
    # What its later totals say does fit.
    assert 12 * 2.5 + 6 + 10 <= 3 * 16
    assert 12 * 3 + 6 * 15 + 10 * 10 <= 3 * 128


@dataclass(frozen=True)
class Enumeration:
    """Section 6.1: three users with demands of 1..C of three resources of C, all combinations.

    Users and resources may change places without changing a sum, so each orbit is one row, with
    the part of all combinations that it stands for.
    """

    part: Floats  # (N,)
    demand: Floats  # (N, users, resources), in parts of C
    most: Floats  # (N,) most tasks in total
    drf: Floats  # (N, users)
    two_df: Floats  # (N, users)

    def mean(self, values: Floats | Bools) -> float:
        return float(self.part @ values)

    @property
    def wins(self) -> Bools:
        """2-DF completes more tasks than DRF."""
        more: Bools = self.two_df.sum(axis=1) > self.drf.sum(axis=1) + 1e-9
        return more

    @property
    def envy_free(self) -> Bools:
        """Nobody could run more of its tasks with another's part under 2-DF."""
        free = np.ones(len(self.part), dtype=np.bool_)
        for one, other in itertools.permutations(range(3), 2):
            held = self.two_df[:, other, None] * self.demand[:, other]
            free &= (held / self.demand[:, one]).min(axis=1) <= self.two_df[:, one] + 1e-9
        return free

    @property
    def has_sharing_incentive(self) -> Bools:
        """Everybody has a third of its dominant resource under 2-DF."""
        least = (self.two_df * self.demand.max(axis=2)).min(axis=1)
        kept: Bools = least >= 1 / 3 - 1e-9
        return kept


@cache
def enumerate_all(capacity: int) -> Enumeration:
    """All combinations. Every user demands every resource, so all stop at one level, and the
    allocation is scale × level in closed form."""
    vectors = np.array(list(itertools.product(range(1, capacity + 1), repeat=3)))
    rows, counts = orbits(vectors, capacity)
    demand = vectors[rows] / capacity
    ordered = np.sort(demand, axis=2)
    return Enumeration(
        part=counts / counts.sum(),
        demand=demand,
        most=most_tasks(demand),
        drf=at_one_level(demand, 1 / ordered[:, :, 2]),
        two_df=at_one_level(demand, 1 / (ordered[:, :, 2] * ordered[:, :, 1])),
    )


def orbits(vectors: Ints, capacity: int) -> tuple[Ints, Ints]:
    """One combination (three indices of vectors) of each orbit, and the size of the orbit."""
    many = len(vectors)
    one, two, three = np.meshgrid(*[np.arange(many)] * 3, indexing="ij", sparse=True)
    first, second, third = np.nonzero((one <= two) & (two <= three))
    triples = np.stack([first, second, third], axis=1)
    sizes = np.where(
        (first == second) & (second == third),
        1,
        np.where((first == second) | (second == third), 3, 6),
    )
    digits = capacity ** np.arange(2, -1, -1)
    keys = []
    for order in itertools.permutations(range(3)):
        moved = (vectors[:, order] - 1) @ digits
        sets = np.sort(moved[triples], axis=1)
        keys.append(sets @ np.array([many * many, many, 1]))
    key, where = np.unique(np.min(keys, axis=0), return_inverse=True)
    rows = np.stack([key // (many * many), key // many % many, key % many], axis=1)
    return rows, np.bincount(where, weights=sizes).astype(np.int64)


def at_one_level(demand: Floats, scale: Floats) -> Floats:
    level = 1 / np.einsum("nur,nu->nr", demand, scale).max(axis=1)
    tasks: Floats = scale * level[:, None]
    return tasks


def most_tasks(demand: Floats) -> Floats:
    """The largest total: the best vertex of three capacities and three signs."""
    many = len(demand)
    left = np.concatenate(
        [demand.transpose(0, 2, 1), np.broadcast_to(-np.eye(3), (many, 3, 3))], axis=1
    )
    right = np.array([1.0, 1, 1, 0, 0, 0])
    best = np.zeros(many)
    for binding in itertools.combinations(range(6), 3):
        matrix = left[:, binding, :]
        regular = np.abs(np.linalg.det(matrix)) > 1e-9
        bound = np.broadcast_to(right[list(binding), None], (int(regular.sum()), 3, 1))
        vertex = np.linalg.solve(matrix[regular], bound)
        inside = (left[regular] @ vertex <= right[:, None] + 1e-9).all(axis=(1, 2))
        total = np.where(inside, vertex.sum(axis=(1, 2)), 0)
        best[regular] = np.maximum(best[regular], total)
    return best


def drawn(capacity: int, cases: int) -> Iterator[tuple[list[Machine], list[Job], int, Enumeration]]:
    found = enumerate_all(capacity)
    draw = random.Random(capacity)
    for row in draw.sample(range(len(found.part)), 10 * cases):
        whole = np.rint(found.demand[row] * capacity).astype(int).tolist()
        users = [job(f"u{i}", *demand) for i, demand in enumerate(whole)]
        yield list(machines((capacity,) * 3)), users, row, found


@pytest.mark.parametrize("capacity", [3, 5])
def test_the_closed_forms_of_section_6_1_are_what_fairlead_allocates(
    capacity: int, cases: int
) -> None:
    for where, users, row, found in drawn(capacity, cases):
        assert tasks(where, users, "drf") == pytest.approx(found.drf[row])
        assert tasks(where, users, "2df") == pytest.approx(found.two_df[row])
        assert sum(tasks(where, users, "most-tasks")) == pytest.approx(found.most[row])


@pytest.mark.parametrize(("capacity", "combinations"), [(3, 3**9), (5, 5**9)])
def test_section_6_1_enumeration_is_complete(capacity: int, combinations: int) -> None:
    part = enumerate_all(capacity).part
    assert part.sum() == pytest.approx(1)
    assert part.min() * combinations == pytest.approx(1)  # all demands 1: alone in its orbit


@pytest.mark.parametrize(
    ("capacity", "most", "drf", "two_df"),
    [(3, 1.626, 1.3428, 1.3872), (5, 1.823, 1.4813, 1.5445)],
)
def test_table_1_means_where_the_paper_s_1_56_for_two_df_is_off(
    capacity: int, most: float, drf: float, two_df: float
) -> None:
    found = enumerate_all(capacity)
    assert found.mean(found.most) == pytest.approx(most, abs=5e-4)
    assert found.mean(found.drf.sum(axis=1)) == pytest.approx(drf, abs=5e-5)
    assert found.mean(found.two_df.sum(axis=1)) == pytest.approx(two_df, abs=5e-5)


@pytest.mark.parametrize(("capacity", "wins"), [(3, 0.513), (5, 0.591)])
def test_two_df_completes_more_tasks_than_drf_in_half_the_cases(capacity: int, wins: float) -> None:
    found = enumerate_all(capacity)
    assert found.mean(found.wins) == pytest.approx(wins, abs=5e-4)


@pytest.mark.parametrize(("capacity", "free", "of_wins"), [(3, 0.640, 0.367), (5, 0.587, 0.395)])
def test_two_df_is_envy_free_in_three_cases_of_five(
    capacity: int, free: float, of_wins: float
) -> None:
    found = enumerate_all(capacity)
    assert found.mean(found.envy_free) == pytest.approx(free, abs=5e-4)
    both = found.mean(found.envy_free & found.wins)
    assert both / found.mean(found.wins) == pytest.approx(of_wins, abs=5e-4)


@pytest.mark.parametrize(("capacity", "gain"), [(3, 0.016), (5, 0.018)])
def test_cases_with_the_sharing_incentive_gain_less_than_the_paper_s_0_04_and_0_08(
    capacity: int, gain: float
) -> None:
    found = enumerate_all(capacity)
    more = (found.two_df - found.drf).sum(axis=1)
    kept = found.has_sharing_incentive
    assert found.mean(more * kept) / found.mean(kept) == pytest.approx(gain, abs=5e-4)


# Section 6.2: two users, 1000 of each resource, x = 8 for heavy and 1 for light requests.
TYPES = [
    (25, 25, 25),
    (25, 25, 5),
    (25, 25, 1),
    (25, 5, 5),
    (25, 5, 1),
    (5, 5, 5),
    (5, 5, 1),
    (5, 1, 1),
]


@pytest.mark.parametrize(
    ("first", "second", "by_drf", "by_two_df"),
    [(8, 8, 418, 654), (8, 1, 418, 802), (1, 1, 418, 654)],
    ids=["I", "II", "III"],
)
def test_table_3_unused_resources_are_the_sums_over_eight_types_divided_by_nine(
    first: int, second: int, by_drf: int, by_two_df: int
) -> None:
    where = machines((1000, 1000, 1000))
    unused = {"drf": 0.0, "2df": 0.0}
    for kind in TYPES:
        demands = [[25 * first] * 3, [second * part for part in kind]]
        users = [job(f"u{i}", *demand) for i, demand in enumerate(demands)]
        for policy in unused:
            runs = tasks(where, users, policy)
            unused[policy] += 3000 - sum(n * sum(d) for n, d in zip(runs, demands, strict=True))
    assert unused["drf"] / 9 == pytest.approx(by_drf, abs=0.5)
    assert unused["2df"] / 9 == pytest.approx(by_two_df, abs=0.5)


# Not reproduced: section 6.2's 45% more tasks on average (the spread of x is printed as 0; with
# x = 8 and 1 the mean gain is 17% to 50% by combination). For later issues. Whole tasks: section
# 6.3's 159 tasks. The online core and simulation: section 6.3 over time, 318 and 3 tasks done at
# 60 s. Data: Table 4 (its ratios were computed with 726 machines of type 4). The audit: finds by
# itself that halving a demand pays.
