"""Scarce last: the machine whose rarest unasked thing is the commonest; among equals best fit."""

from __future__ import annotations

from fairlead.scheduling.kernels.memory.compiling import inner
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import WORD
from fairlead.scheduling.kernels.room.fits import left_over, left_sign
from fairlead.scheduling.kernels.room.places import ONE, lowest

TIGHT = True  # scarcity is at least 0 and no launch changes it; what is left is added as it is


@inner
def scarcity(s: Handle, j: int, m: int) -> int:
    """How many present machines lack the rarest thing that this one has for others than the job:
    a resource that it does not demand, or a term that it neither needs nor prefers."""
    present = s.header[0].present
    most: int = int64(0)
    for r in range(s.demand.shape[1]):
        if s.demand[j, r] == 0 and s.capacity[m, r] > 0:
            most = max(most, present - s.have[r])
    for word in range(s.satisfies.shape[1]):
        bits = s.satisfies[m, word] & ~(s.needs[j, word] | s.prefers[j, word])
        while bits:
            most = max(most, present - s.satisfied[word * WORD + lowest(bits)])
            bits &= bits - ONE
    return most


def scarce_last(s: Handle, j: int, m: int) -> float:
    """The scarcity of the machine for the job; among equals the best fit.

    Resources count whether anybody demands them or not, so that a GPU is free for whoever comes;
    terms count while a present job asks for them. Only the rarest thing counts: what is added up
    over many overlapping terms says little of how many machines somebody has left.

    TSF's paper, Table II: the job without constraints must leave nodes to those that can use no
    others. Choosy, section 6.2: a picky job waits long where anybody may sit on its machines.
    """
    # What is left is at most 1 for each resource: one machine more outweighs it.
    score: float = 2 * s.demand.shape[1] * scarcity(s, j, m) + left_over(s, j, m)
    return score


def compare(s: Handle, j: int, a: int, b: int) -> int:
    """The sign of the first machine's score less the second's, without rounding."""
    more = (scarcity(s, j, a) - scarcity(s, j, b)) * 2 * s.demand.shape[1]
    return left_sign(s, j, a, b, more)
