"""Packings of a machine: the best, good ones, all of equal value, against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fairlead.sharing.solvers.whole import packing
from fairlead.sharing.solvers.whole.packing import Packer


def small(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    jobs, resources = draw.integers(1, 5), draw.integers(1, 4)
    demand = draw.integers(0, 5, (jobs, resources))
    demand[~demand.any(axis=1), 0] = 1
    capacity = draw.integers(0, 13, resources)
    with np.errstate(divide="ignore"):
        fits = np.where(demand > 0, capacity // np.maximum(demand, 1), 99).min(axis=1)
    value = draw.integers(0, 8, jobs).astype(float) if seed % 2 else draw.random(jobs)
    return demand, capacity, np.minimum(fits, draw.integers(0, 14, jobs)), value


@pytest.mark.parametrize("looks", [packing.LOOKS, 3])
def test_the_best_packing_is_the_best(
    looks: int, cases: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "LOOKS", looks)
    for seed in range(60 * cases):
        demand, capacity, most, value = small(seed)
        every = [
            each
            for each in product(*(range(n + 1) for n in most))
            if (np.array(each) @ demand <= capacity).all()
        ]
        best = max(float(np.dot(each, value)) for each in every)
        packer = Packer(demand, capacity, most)
        found = packer.best(value)
        assert tuple(found.tolist()) in every
        assert float(found @ value) == pytest.approx(best, rel=1e-12, abs=1e-12)
        good, bound, proved = packer.good(value, looks)
        assert tuple(good.tolist()) in every
        assert bound >= best * (1 - 1e-9)
        if proved:
            assert float(good @ value) == pytest.approx(best, rel=1e-12, abs=1e-12)


def test_all_packings_of_equal_value_are_found(cases: int) -> None:
    for seed in range(1, 60 * cases, 2):
        demand, capacity, most, value = small(seed)
        value = value + 1.0
        every = [
            each
            for each in product(*(range(n + 1) for n in most))
            if (np.array(each) @ demand <= capacity).all()
        ]
        best = max(float(np.dot(each, value)) for each in every)
        ties = Packer(demand, capacity, most).ties(value, 1e-9)
        assert ties is not None
        assert sorted(map(tuple, ties.tolist())) == sorted(
            each for each in every if float(np.dot(each, value)) >= best * (1 - 1e-9)
        )
