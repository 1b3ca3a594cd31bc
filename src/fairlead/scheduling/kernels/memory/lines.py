"""Records that begin where a line of the processor's cache does: what is read at random is read by
lines."""

from __future__ import annotations

import numpy as np

CACHE_LINE = 64
"""Bytes that a processor reads at once."""


def in_lines(fields: list[tuple[str, type]]) -> np.dtype[np.void]:
    """The type of records of which each begins where a line does."""
    packed = np.dtype(fields, align=True)
    places = [packed.fields[name][1] for name, _ in fields]  # type: ignore[index]  # it has fields
    return np.dtype(
        {
            "names": [name for name, _ in fields],
            "formats": [kind for _, kind in fields],
            "offsets": places,
            "itemsize": -(-packed.itemsize // CACHE_LINE) * CACHE_LINE,
        },
        align=True,
    )
