"""Pieces: groups and classes that hang together by the pairs that are left."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fairlead.sharing.problem.problem import Bools, Ints


def connected(pairs: Bools) -> tuple[Ints, Ints]:
    """The number of the piece of each group and of each class, pieces being what hangs together by
    pairs, in order of their first classes; -1 for a group, -2 for a class, that is in none."""
    near = pairs.T.astype(np.float32) @ pairs.astype(np.float32) > 0
    packed = np.packbits(near, axis=1, bitorder="little")
    rows = [int.from_bytes(row.tobytes(), "little") for row in packed]
    of_class = [-2] * len(rows)
    number = 0
    for seed, row in enumerate(rows):
        if of_class[seed] >= 0 or row == 0:
            continue
        reached, edge = row, row & ~(1 << seed)
        of_class[seed] = number
        while edge:
            lowest = edge & -edge
            there = lowest.bit_length() - 1
            of_class[there] = number
            edge = (edge ^ lowest) | (rows[there] & ~reached)
            reached |= rows[there]
        number += 1
    piece_of_class = np.array(of_class, dtype=np.int64)
    home = piece_of_class[pairs.argmax(axis=1)]
    return np.where(pairs.any(axis=1), home, -1), piece_of_class


def indices(piece: Ints) -> list[Ints]:
    """The members of each piece, in order."""
    order = np.argsort(piece, kind="stable")
    ends = np.searchsorted(piece[order], np.arange(piece.max() + 2))
    return [order[first:last] for first, last in pairwise(ends)]
