"""Pieces: groups and classes that hang together by the pairs that are left."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fairlead.sharing.problem.problem import Bools, Ints
from fairlead.sharing.solvers.step import pairs_in


def connected(pairs: Bools) -> tuple[Ints, Ints]:
    """The number of the piece of each group and of each class, pieces being what hangs together by
    pairs, in order of their first classes; -1 for a group, -2 for a class, that is in none."""
    # A group's classes hang together by the first of them: a pair is looked at once.
    first = pairs.argmax(axis=1)
    group, machine_class = pairs_in(pairs)
    near = np.zeros((pairs.shape[1],) * 2, dtype=np.bool_)
    near[first[group], machine_class] = near[machine_class, first[group]] = True
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
    home = piece_of_class[first]
    return np.where(pairs.any(axis=1), home, -1), piece_of_class


def indices(piece: Ints) -> list[Ints]:
    """The members of each piece, in order."""
    order = np.argsort(piece, kind="stable")
    ends = np.searchsorted(piece[order], np.arange(piece.max() + 2))
    return [order[first:last] for first, last in pairwise(ends)]
