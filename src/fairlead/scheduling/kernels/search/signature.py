"""Signatures: jobs that fit the same machines get words that begin alike.

A signature only says where in a trie a job is, which makes a search fast or slow; what is found
does not depend on it.
"""

from __future__ import annotations

import numpy as np

from fairlead.scheduling.kernels.memory.state import Ints, Words

BITS = np.arange(6, -1, -1, dtype=np.uint64)
"""Of a logarithm of a demand, the highest first."""


def signatures(demand: Ints, needs: Words, satisfied: Ints) -> Words:
    """(J,) the signatures of jobs with these demands (J, R) and needed terms (J, W), where
    `satisfied[k]` machines satisfy term k: first the rarest term that is needed, then the demands'
    logarithms, bit by bit by turns, then a mixture of all terms. The low 24 bits are 0."""
    jobs = len(demand)
    terms = np.argsort(satisfied, kind="stable")[:63]
    has = needs[:, terms // 64] >> (terms % 64).astype(np.uint64) & np.uint64(1)
    rarest = np.where(has.any(axis=1), 63 - has.argmax(axis=1), 0).astype(np.uint64)
    steps = np.floor(2 * np.log2(demand.astype(float) + 1)).astype(np.uint64)
    by_turns = steps[:, None, :] >> BITS[:, None] & np.uint64(1)
    bits = by_turns.reshape(jobs, -1)[:, : 40 - 6]
    many = bits.shape[1]
    places = np.arange(many - 1, -1, -1, dtype=np.uint64)
    word = rarest << np.uint64(many) | (bits << places).sum(axis=1, dtype=np.uint64)
    mixture = np.zeros(jobs, np.uint64)
    for i in range(needs.shape[1]):
        mixture = (mixture ^ needs[:, i]) * np.uint64(0x9E3779B97F4A7C15)
    free = 40 - 6 - many
    if free > 0:
        word = word << np.uint64(free) | mixture >> np.uint64(64 - free)
    return word << np.uint64(24)
