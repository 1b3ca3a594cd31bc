"""The compiled queue of completions: a heap of (time, key), least first, four children a node.

A row of the array is a node. With four children a node the way down has half as many levels as
with two, and children stand beside each other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairlead.compiling import kernel

Queue = npt.NDArray[np.int64]
"""(N, 2): the time, and the key that breaks ties: the first launched ends first."""


def longer(queue: Queue, rows: int) -> Queue:
    """The queue with room for so many entries."""
    larger = np.zeros((rows, 2), queue.dtype)
    larger[: len(queue)] = queue
    return larger


@kernel
def push(queue: Queue, size: int, time: int, key: int) -> int:
    """Adds an entry to the first `size` rows; returns the new size. There must be room."""
    node = size
    while node > 0:
        above = (node - 1) >> 2
        t = queue[above, 0]
        if t < time or (t == time and queue[above, 1] < key):
            break
        queue[node, 0] = t
        queue[node, 1] = queue[above, 1]
        node = above
    queue[node, 0] = time
    queue[node, 1] = key
    return size + 1


@kernel
def pop(queue: Queue, size: int) -> int:
    """Takes the least entry, row 0, off the first `size` rows; returns the new size."""
    size -= 1
    time = queue[size, 0]
    key = queue[size, 1]
    node = 0
    while True:
        child = 4 * node + 1
        if child >= size:
            break
        least = child
        t = queue[child, 0]
        k = queue[child, 1]
        last = min(child + 4, size)
        for other in range(child + 1, last):
            o = queue[other, 0]
            if o < t or (o == t and queue[other, 1] < k):
                least = other
                t = o
                k = queue[other, 1]
        if time < t or (time == t and key < k):
            break
        queue[node, 0] = t
        queue[node, 1] = k
        node = least
    queue[node, 0] = time
    queue[node, 1] = key
    return size
