"""The promises of whole tasks close to the lottery's mean, also with limits and jobs that run
out."""

from __future__ import annotations

import re

import numpy as np
import pytest

from fairlead.sharing.whole_tasks.approximations import gim_cdrf, keep_limits, shapley_folkman
from fairlead.sharing.whole_tasks.capped import keeps
from fairlead.sharing.whole_tasks.counts import Counts
from fairlead.sharing.whole_tasks.outcome import WholeOutcome
from fairlead.sharing.whole_tasks.point import Point, cdrf_point
from tests.sharing.whole_tasks.small import Draw, counted, drawn

EACH = {
    "plain": Draw(weights=True),
    "finite": Draw(weights=True, finite=True),
    "limits": Draw(limits=True),
    "all": Draw(tree=True, weights=True, finite=True, limits=True),
}


def given(seed: int, what: Draw, copies: int = 1) -> Counts:
    """A small problem with so many of each machine."""
    counts = counted(*drawn(seed, what)).used_classes()[0]
    counts.count.setflags(write=True)
    counts.count[:] *= copies
    return counts


def mean(outcome: WholeOutcome) -> tuple[Point, np.ndarray, np.ndarray]:
    """The point, as numbers too, and the tasks."""
    assert outcome.point is not None
    tasks = np.zeros(len(outcome.point.tasks), np.int64)
    for _, packing, number in outcome.machines:
        tasks += int(number) * np.array(packing, np.int64)
    return outcome.point, np.array([float(each) for each in outcome.point.tasks]), tasks


@pytest.mark.parametrize("what", EACH.values(), ids=EACH.keys())
def test_what_is_cut_is_not_below_the_mean_by_a_task(what: Draw, cases: int) -> None:
    cut = 0
    for seed in range(20 * cases):
        counts = given(seed, what, 7)
        point = cdrf_point(counts)
        draw = np.random.default_rng(seed)
        # Any whole numbers of machines near the mixture's, so as many as there are of each kind.
        machines = []
        for k, count in enumerate(counts.count.tolist()):
            rows = [(row, float(n)) for which, row, n in point.mixture if which == k]
            if rows:
                part = np.array([n for _, n in rows]) / sum(n for _, n in rows)
                numbers = draw.multinomial(count, part).tolist()
                machines += [(k, row, n) for (row, _), n in zip(rows, numbers, strict=True) if n]
        jobs = len(counts.demand)
        goal = np.array([each.__floor__() for each in point.tasks])
        before = sum((n * np.array(row) for _, row, n in machines), np.zeros(jobs, np.int64))
        after = keep_limits(counts, point, tuple(machines))
        has = sum((int(n) * np.array(row) for _, row, n in after), np.zeros(jobs, np.int64))
        assert keeps(counts, has.tolist()), seed
        assert (has <= before).all(), seed
        assert (has >= np.minimum(before, goal)).all(), seed
        if not counts.limits:
            assert (has == np.minimum(before, counts.tasks)).all(), seed
        cut += bool((has < before).any())
    assert cut or not (what.finite or what.limits)


@pytest.mark.parametrize("what", EACH.values(), ids=EACH.keys())
def test_one_draw_in_two_keeps_what_is_promised(what: Draw, cases: int) -> None:
    tries, some, bound = 0, 0, 0
    for seed in range(15 * cases):
        counts = given(seed, what, 40)
        if not len(counts.count):
            continue
        outcome = gim_cdrf(counts, seed)
        _, goal, tasks = mean(outcome)
        times, part = re.fullmatch(
            r"drawn (once|\d+ times)(?:: on so few machines a draw promises nothing| until"
            r" (?:everybody|\d+ of \d+ jobs) had at least (\S+) of its mean tasks.*)",
            outcome.notes[0],
        ).groups()  # type: ignore[union-attr]  # None fails, as it should
        tries += 1 if times == "once" else int(times.split()[0])
        some += 1
        assert keeps(counts, tasks.tolist())
        if part is not None and "everybody" in outcome.notes[0]:
            bound += 1
            least = np.minimum(float(part) * goal, np.floor(goal) if counts.limits else goal)
            assert (tasks >= least - 1e-2 * goal).all(), seed
    assert bound
    assert tries < 2 * some


@pytest.mark.parametrize("what", EACH.values(), ids=EACH.keys())
def test_shapley_folkman_is_within_its_bound(what: Draw, cases: int) -> None:
    off = 0
    for seed in range(15 * cases):
        counts = given(seed, what, 1 + seed % 3)
        if not len(counts.count):
            continue
        outcome = shapley_folkman(counts)
        _, goal, tasks = mean(outcome)
        apart = float(np.linalg.norm(tasks - goal))
        stated = float(outcome.notes[1].split(" is ")[1].split()[0])
        assert keeps(counts, tasks.tolist()), seed
        assert apart <= stated * (1 + 1e-3) + 1e-9, seed
        off += apart > 0
    assert off
