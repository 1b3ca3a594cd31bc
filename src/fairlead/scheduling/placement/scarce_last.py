"""Scarce last: the machine that others ask for least, so that what is rare stays free."""

from __future__ import annotations

import numpy as np

from fairlead.scheduling.kernels.state import Handle


def scarce_last(s: Handle, j: int, m: int) -> float:
    """The scarcity of the machine; among equals the best fit.

    For each resource of which the machine has anything, and for each term that it satisfies and
    that a present job asks for, the number of present machines that do not. What the job needs
    itself is on every machine that it may use: it adds the same to all of them, so that the
    scarcity of a machine is one whole number, whoever asks.

    TSF's paper, Table II: the job without constraints must leave nodes to those that can use no
    others. Choosy, section 6.2: a picky job waits long where anybody may sit on its machines.
    """
    present = s.whole[0].present
    resources = s.demand.shape[1]
    rare = 0
    left = 0.0
    for r in range(resources):
        if s.capacity[m, r] > 0:
            rare += present - s.have[r]
        need = s.demand[j, r]
        if need > 0:
            left += (s.free[m, r] - need) / s.capacity[m, r]
    for word in range(s.satisfies.shape[1]):
        bits = s.satisfies[m, word]
        k = word * 64
        while bits:
            if bits & np.uint64(1):
                rare += present - s.satisfied[k]
            bits >>= np.uint64(1)
            k += 1
    # What is left is at most 1 for each resource: less than 1 together decides among equals only.
    score: float = rare + left / (2 * resources)
    return score
