"""A tenant's line: the nodes of its trie that a search over several machines still has to look at.

What a tenant's jobs hold together moves the levels of all of them alike, and never their order. So
a line goes by (share, turn), and stays as it is while levels rise. Where levels are one double and
shares are not, the lesser share is first here, whosever turn it is. A line is a pairing heap whose
links are beside the nodes: a node stands in one line, and there once. `line` of the tenant's leaf
says who is first.
"""

from __future__ import annotations

from fairlead.compiling import inner, small
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import NONE


@small
def first_of(s: Handle, leaf: int) -> int:
    """The first in the line of a tenant with this leaf; NONE if nobody is left."""
    return int64(s.line[leaf].below)


@small
def begin_line(s: Handle, leaf: int) -> None:
    """The tenant with this leaf has a line from now on, if it had none in this search."""
    at = s.line[leaf]
    if at.search != s.header[0].begun:
        at.search = s.header[0].begun
        at.below = NONE


@small
def _meld(s: Handle, a: int, b: int) -> int:
    """One heap of two; who is first."""
    one, other = s.line[a], s.line[b]
    if other.key < one.key or (other.key == one.key and other.turn < one.turn):
        one.beside = other.below
        other.below = a
        return b
    other.beside = one.below
    one.below = b
    return a


@inner
def join(s: Handle, leaf: int, n: int, witness: int) -> None:
    """A node comes into the line of the tenant with this leaf, if it is not there."""
    at, here = s.line[n], s.node[n]
    if at.search == s.header[0].begun:
        return
    at.search = s.header[0].begun
    at.key = here.key
    at.turn = here.turn
    at.witness = witness
    at.below = NONE
    first = int64(s.line[leaf].below)
    s.line[leaf].below = n if first < 0 else _meld(s, first, n)


@inner
def leave(s: Handle, leaf: int) -> None:
    """The first goes."""
    line = s.line
    first = int64(line[leaf].below)
    line[first].search = 0
    # Two and two from the front on, and then all of these from the back.
    pairs, at = NONE, int64(line[first].below)
    while at >= 0:
        other = int64(line[at].beside)
        rest = NONE
        if other >= 0:
            rest = int64(line[other].beside)
            at = _meld(s, at, other)
        line[at].beside = pairs
        pairs, at = at, rest
    whole = NONE
    while pairs >= 0:
        rest = int64(line[pairs].beside)
        whole = pairs if whole < 0 else _meld(s, whole, pairs)
        pairs = rest
    line[leaf].below = whole


@inner
def give_way(s: Handle, leaf: int, n: int, witness: int) -> None:
    """A node below the first, as little as that one, takes its place."""
    first = int64(s.line[leaf].below)
    if s.line[n].search == s.header[0].begun:
        leave(s, leaf)  # it stands there already
        return
    s.line[n] = s.line[first]
    s.line[n].witness = witness
    s.line[first].search = 0
    s.line[leaf].below = n
