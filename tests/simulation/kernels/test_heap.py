"""The queue of completions: least time first, then least key."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from fairlead.simulation.kernels.heap import longer, pop, push


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_a_plain_heap(seed: int) -> None:
    draw = np.random.Generator(np.random.PCG64(seed))
    queue, size, plain = np.zeros((400, 2), np.int64), 0, list[tuple[int, int]]()
    for key in range(2000):
        # Few different times, so that most entries tie; more pushes than pops at first.
        if size < 400 and (size == 0 or draw.random() < (0.6 if key < 1000 else 0.4)):
            entry = (int(draw.integers(0, 6)), int(draw.permutation(5)[0]) * 10_000 + key)
            size = push(queue, size, *entry)
            heapq.heappush(plain, entry)
        else:
            assert tuple(queue[0].tolist()) == heapq.heappop(plain)
            size = pop(queue, size)
        assert size == len(plain)


@pytest.mark.parametrize("rows", [5, 6, 100, 5000])
def test_a_longer_queue_has_the_same_entries(rows: int) -> None:
    queue = np.arange(10).reshape(5, 2)
    larger = longer(queue, rows)
    assert (larger[:5] == queue).all()
    assert not larger[5:].any()
    assert larger.shape == (rows, 2)
