"""Signatures: jobs that fit the same machines get words that begin alike.

A signature only says where in a trie a job is, which makes a search fast or slow; what is found
does not depend on it.
"""

from __future__ import annotations

import numpy as np

from fairlead.scheduling.kernels.memory.state import Ints, Words


def signatures(demand: Ints, needs: Words, satisfied: Ints) -> Words:
    """(J,) the signatures of jobs with these demands (J, R) and needed terms (J, W), where
    `satisfied[k]` machines satisfy term k: first the rarest term that is needed, then the demands'
    logarithms, bit by bit by turns, then a mixture of all terms. The low 24 bits are 0."""
    jobs, resources = demand.shape
    rarest = np.zeros(jobs, np.uint64)
    terms = np.argsort(satisfied, kind="stable")
    for place, term in enumerate(terms[:63].tolist()):
        has = (needs[:, term // 64] >> np.uint64(term % 64)) & np.uint64(1)
        rarest = np.where((rarest == 0) & (has > 0), np.uint64(63 - place), rarest)
    steps = np.floor(2 * np.log2(demand.astype(float) + 1)).astype(np.uint64)
    word, free = rarest, 40 - 6
    for bit in range(6, -1, -1):
        for r in range(resources):
            if free > 0:
                word = word << np.uint64(1) | (steps[:, r] >> np.uint64(bit)) & np.uint64(1)
                free -= 1
    mixture = np.zeros(jobs, np.uint64)
    for i in range(needs.shape[1]):
        mixture = (mixture ^ needs[:, i]) * np.uint64(0x9E3779B97F4A7C15)
    if free > 0:
        word = word << np.uint64(free) | mixture >> np.uint64(64 - free)
    return word << np.uint64(24)
