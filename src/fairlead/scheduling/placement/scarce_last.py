"""Scarce last: the machine that others ask for least, so that what is rare stays free."""

from __future__ import annotations

import numpy as np

from fairlead.scheduling.kernels.memory.compiling import inner
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.room.fits import left_over, left_sign


@inner
def rarity(s: Handle, m: int) -> int:
    """How many present machines have not what this one has, added up over all that it has."""
    present = s.header[0].present
    rare: int = int64(0)
    for r in range(s.demand.shape[1]):
        if s.capacity[m, r] > 0:
            rare += present - s.have[r]
    for word in range(s.satisfies.shape[1]):
        bits = s.satisfies[m, word]
        k = word * 64
        while bits:
            if bits & np.uint64(1):
                rare += present - s.satisfied[k]
            bits >>= np.uint64(1)
            k += 1
    return rare


@inner
def equally_rare(s: Handle, a: int, b: int) -> bool:
    """Are two machines plainly equally rare: have they the same resources and terms?"""
    for r in range(s.demand.shape[1]):
        if (s.capacity[a, r] > 0) != (s.capacity[b, r] > 0):
            return False
    apart = np.uint64(0)
    for word in range(s.satisfies.shape[1]):
        apart |= s.satisfies[a, word] ^ s.satisfies[b, word]
    alike: bool = apart == np.uint64(0)
    return alike


def scarce_last(s: Handle, j: int, m: int) -> float:
    """The scarcity of the machine; among equals the best fit.

    For each resource of which the machine has anything, and for each term that it satisfies and
    that a present job asks for, the number of present machines that do not. What the job needs
    itself is on every machine that it may use: it adds the same to all of them, so that the
    scarcity of a machine is one whole number, whoever asks.

    TSF's paper, Table II: the job without constraints must leave nodes to those that can use no
    others. Choosy, section 6.2: a picky job waits long where anybody may sit on its machines.
    """
    # What is left is at most 1 for each resource: less than 1 together decides among equals only.
    score: float = rarity(s, m) + left_over(s, j, m) / (2 * s.demand.shape[1])
    return score


def compare(s: Handle, j: int, a: int, b: int) -> int:
    """The sign of the first machine's score less the second's, without rounding."""
    more = int64(0)
    if not equally_rare(s, a, b):
        more = (rarity(s, a) - rarity(s, b)) * 2 * s.demand.shape[1]
    return left_sign(s, j, a, b, more)
