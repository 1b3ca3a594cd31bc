"""Tries over waiting jobs: alike jobs are close, and each node knows the least of all below it.

A trie parts its leaves by the first bit in which their signatures differ, so its shape follows
from what is in it, not from what happened before, and needs no balancing. Each node carries, of
all leaves below, the least (key, turn), the least demand of each resource, the terms that all of
them need, and whether one of them is fresh. What it needs is in its record too, in short
(`briefs`): mostly nothing else of it is read. See docs/decisions/0071-search-tree.md.
"""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner
from fairlead.scheduling.kernels.memory.briefs import abridge
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import NONE

ONE = np.uint64(1)
TOP = np.uint64(63)
LOW = np.uint64((1 << 24) - 1)
"""The bits of a signature that hold a slot, so that no two are the same."""


@inner
def new_node(s: Handle) -> int:
    """A node without children or parent."""
    w = s.header[0]
    n = w.free_node
    if n >= 0:
        w.free_node = s.node[n].left
    else:
        n = w.nodes
        w.nodes += 1
    node = s.node[n]
    node.left = NONE
    node.right = NONE
    node.parent = NONE
    return n


@inner
def free_node(s: Handle, n: int) -> None:
    """Gives a node back that stands nowhere."""
    s.node[n].left = s.header[0].free_node
    s.header[0].free_node = n


@inner
def _adopt(s: Handle, parent: int, n: int, right: bool) -> None:
    """Makes node n a child of another one."""
    node = s.node
    node[n].parent = parent
    if right:
        node[parent].right = n
    else:
        node[parent].left = n


@inner
def _right(signature: np.uint64, bit: int) -> bool:
    """Is this bit of a signature set, so that its leaf is to the right?"""
    return (signature >> (TOP - np.uint64(bit))) & ONE != np.uint64(0)


@inner
def _first_bit(word: np.uint64) -> int:
    """The place of the highest bit that is set, 0 for the highest of all."""
    bit = 0
    for width in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(64 - width) == np.uint64(0):
            bit += width
            word <<= np.uint64(width)
    return bit


@inner
def lift_key(s: Handle, n: int) -> None:
    """After the key, the turn or the freshness of node n changed: those above it."""
    node = s.node
    at = node[n].parent
    while at >= 0:
        above, left, right = node[at], node[node[at].left], node[node[at].right]
        less = left.key < right.key or (left.key == right.key and left.turn < right.turn)
        key = left.key if less else right.key
        turn = left.turn if less else right.turn
        fresh = left.fresh | right.fresh
        if above.key == key and above.turn == turn and above.fresh == fresh:
            return
        above.key = key
        above.turn = turn
        above.fresh = fresh
        at = above.parent


@inner
def _lift_need(s: Handle, n: int) -> None:
    """After the demand or the terms of node n changed: those above it."""
    node, need, terms = s.node, s.need, s.terms
    at = node[n].parent
    while at >= 0:
        left, right = node[at].left, node[at].right
        changed = False
        for r in range(need.shape[1]):
            least = min(need[left, r], need[right, r])
            if need[at, r] != least:
                need[at, r] = least
                changed = True
        for i in range(terms.shape[1]):
            both = terms[left, i] & terms[right, i]
            if terms[at, i] != both:
                terms[at, i] = both
                changed = True
        if not changed:
            return
        abridge(s, at)
        at = int64(node[at].parent)


@inner
def lift(s: Handle, n: int) -> None:
    """After anything of node n changed: all above it."""
    lift_key(s, n)
    _lift_need(s, n)


@inner
def insert(s: Handle, root: int, leaf: int) -> int:
    """Adds a leaf, whose signature nothing in the trie has. Returns the new root."""
    node = s.node
    s.header[0].reshaped = 1
    if root < 0:
        node[leaf].parent = NONE
        return leaf
    signature = node[leaf].signature
    at = root
    while node[at].left >= 0:
        at = node[at].right if _right(signature, node[at].bit) else node[at].left
    bit = _first_bit(signature ^ node[at].signature)
    at = root
    while node[at].left >= 0 and node[at].bit < bit:
        at = node[at].right if _right(signature, node[at].bit) else node[at].left
    inner = new_node(s)
    parent = node[at].parent
    new = node[inner]
    new.bit = bit
    new.team = node[leaf].team
    if parent < 0:
        root = inner
    else:
        _adopt(s, parent, inner, node[parent].right == at)
    right = _right(signature, bit)
    _adopt(s, inner, leaf, right)
    _adopt(s, inner, at, not right)
    # Its children say what the new node carries: it differs from whatever the slot had before.
    new.key = np.nan
    s.need[inner, 0] = -1
    lift(s, leaf)
    return root


@inner
def remove(s: Handle, root: int, leaf: int) -> int:
    """Takes a leaf out, which stays a node. Returns the new root."""
    node = s.node
    s.header[0].reshaped = 1
    parent = node[leaf].parent
    if parent < 0:
        return NONE
    other = node[parent].right if node[parent].left == leaf else node[parent].left
    above = node[parent].parent
    node[leaf].parent = NONE
    if above < 0:
        node[other].parent = NONE
        root = other
    else:
        _adopt(s, above, other, node[above].right == parent)
        lift(s, other)
    free_node(s, parent)
    return root
