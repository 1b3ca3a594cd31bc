"""The CDRF lottery: the papers' numbers, and against everything that small inputs allow."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.sharing.allocate import allocate
from fairlead.sharing.integral.calm import calm
from fairlead.sharing.integral.counts import Counts
from fairlead.sharing.integral.lottery import draw, expected, lottery
from fairlead.sharing.integral.point import cdrf_point
from tests.sharing.integral.small import Draw, counted, drawn, feasible

FIGURE_3 = (
    Cluster([Machine("m1", {"cpu": 4, "ram": 6}), Machine("m2", {"cpu": 4, "ram": 4})], [], []),
    (Job("a", {"cpu": 1, "ram": 3}), Job("b", {"cpu": 2, "ram": 1})),
)


def max_min(points: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """(J,) the lexicographic max-min of tasks / scale over the convex hull, by one linear program
    for each job in each round."""
    jobs = points.shape[1]
    fixed: dict[int, float] = {j: 0.0 for j in range(jobs) if scale[j] == 0}
    parts = len(points)
    while len(fixed) < jobs:
        active = [j for j in range(jobs) if j not in fixed]
        rows = [np.append(-points[:, j] / scale[j], 1.0) for j in active]
        rows += [np.append(-points[:, j], 0.0) for j in fixed]
        right = [0.0] * len(active) + [1e-9 - fixed[j] for j in fixed]
        best = linprog(
            np.append(np.zeros(parts), -1.0),
            A_ub=np.array(rows),
            b_ub=right,
            A_eq=[np.append(np.ones(parts), 0.0)],
            b_eq=[1.0],
            bounds=[(0, None)] * parts + [(None, None)],
        )
        level = -best.fun
        least = [1e-9 - (fixed[i] if i in fixed else level * scale[i]) for i in range(jobs)]
        stuck = []
        for j in active:
            more = linprog(
                -points[:, j], A_ub=-points.T, b_ub=least, A_eq=[np.ones(parts)], b_eq=[1.0]
            )
            if -more.fun <= level * scale[j] + 1e-6:
                stuck.append(j)
        assert stuck
        fixed |= {j: level * scale[j] for j in stuck}
    return np.array([fixed[j] for j in range(jobs)])


def scale_of(counts: Counts) -> np.ndarray:
    tree = counts.problem.tree
    weight = np.array([float(counts.weight[tree.job_tenant[j]]) for j in range(len(counts.demand))])
    scale: np.ndarray = counts.usable * weight
    return scale


def test_figure_3_is_two_allocations_with_two_and_five_sevenths() -> None:
    answer = allocate(*FIGURE_3, "cdrf-lottery")
    assert answer.whole is not None
    chances = {chance.jobs: chance.probability for chance in answer.whole.lottery}
    assert chances == {
        (("a", 2), ("b", 2)): Fraction(5, 7),
        (("a", 1), ("b", 3)): Fraction(2, 7),
    }
    assert [job.tasks for job in answer.jobs] == pytest.approx([12 / 7, 16 / 7], rel=1e-11)
    assert answer.certificate is not None
    assert answer.certificate.gap == pytest.approx(0, abs=1e-9)


def test_section_3_2_gives_ten_and_ten_with_certainty() -> None:
    machines = [Machine("m1", {"a": 100, "b": 10}), Machine("m2", {"a": 10, "b": 100})]
    jobs = (Job("one", {"a": 10, "b": 1}), Job("two", {"a": 1, "b": 10}))
    answer = allocate(Cluster(machines, [], []), jobs, "cdrf-lottery")
    assert answer.whole is not None
    (chance,) = answer.whole.lottery
    assert chance.probability == 1
    assert chance.jobs == (("one", 10), ("two", 10))


@pytest.mark.parametrize("weights", [False, True])
def test_the_point_is_the_max_min_of_the_hull_and_the_lottery_gives_it(
    weights: bool, cases: int
) -> None:
    for seed in range(40 * cases):
        counts = counted(*drawn(seed, Draw(weights=weights)))
        points = feasible(counts)
        point = cdrf_point(counts)
        assert [float(each) for each in point.tasks] == pytest.approx(
            max_min(points, scale_of(counts)), abs=1e-5
        ), seed
        found = lottery(calm(point))
        jobs = len(counts.demand)
        assert sum(one.probability for one in found.allocations) == 1
        assert expected(found, jobs) == point.tasks
        assert len(found.allocations) <= jobs, seed
        everything = set(map(tuple, points.tolist()))
        for one in found.allocations:
            tasks = one.tasks(jobs)
            assert tasks in everything
            better = (points >= tasks).all(axis=1) & (points > tasks).any(axis=1)
            assert not better.any(), seed


def test_names_and_the_order_of_writing_change_nothing() -> None:
    for seed in range(20):
        cluster, jobs = drawn(seed)
        there = allocate(cluster, jobs, "cdrf-lottery").whole
        back = allocate(
            Cluster(cluster.machines[::-1], cluster.tenants, []), jobs[::-1], "cdrf-lottery"
        ).whole
        assert there is not None
        assert back is not None
        # Jobs that are alike in everything may change places.
        one, other = (
            sorted((each.probability, sorted(t for _, t in each.jobs)) for each in whole.lottery)
            for whole in (there, back)
        )
        assert one == other, seed


def test_many_machines_keep_their_packings_and_only_the_rest_is_drawn() -> None:
    cluster = Cluster([Machine(f"m{i}", {"cpu": 7, "ram": 9}) for i in range(999)], [], [])
    jobs = (
        Job("a", {"cpu": 2, "ram": 1}),
        Job("b", {"cpu": 1, "ram": 2}),
        Job("c", {"cpu": 3, "ram": 3}),
    )
    whole = allocate(cluster, jobs, "cdrf-lottery").whole
    assert whole is not None
    tasks = [dict(chance.jobs) for chance in whole.lottery]
    for name in "abc":
        each = [one[name] for one in tasks]
        assert max(each) - min(each) <= 7


def test_a_draw_depends_on_the_seed_alone_and_has_the_probabilities() -> None:
    chances = [Fraction(2, 7), Fraction(5, 7)]
    found = [draw(chances, seed) for seed in range(2000)]
    assert found == [draw(chances, seed) for seed in range(2000)]
    assert found.count(0) == pytest.approx(2000 * 2 / 7, abs=80)


def test_jobs_that_could_run_out_of_tasks_are_refused() -> None:
    cluster, jobs = FIGURE_3
    with pytest.raises(InputError, match="do not run out of tasks"):
        allocate(cluster, (Job("a", {"cpu": 1, "ram": 3}, tasks=2), jobs[1]), "cdrf-lottery")
