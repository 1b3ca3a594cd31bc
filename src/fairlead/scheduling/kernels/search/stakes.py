"""What a tenant's active children hold, in the order of how high they stand: sums over those that
stand below a height, and over the others, in as many steps as their number has digits.

A child that stands at `key` is counted with `amount` where that is lower than what is asked about,
else with `weight` for each unit of height: so `stood` adds up the lesser of the two over all. By
height that is a line from each key to the next one, found by a height (`line_at`) or by what is
counted there (`line_of`). Its entries are in a treap: a tree by key, and by `rank` a heap, so that
its shape follows from what is in it, and with it each sum, whatever came before. Sums are made anew
from those below, never accumulated. What a child counts is said in `filling`.
"""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner, small
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import NONE
from fairlead.scheduling.kernels.numbers.twice import add, multiply


@inner
def rank_of(owner: int) -> np.uint64:
    """A number as if drawn, and another one for each owner (splitmix64, Steele 2014)."""
    word = np.uint64(owner + 1) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@inner
def new_stake(s: Handle) -> int:
    """An entry that stands nowhere."""
    w = s.header[0]
    n = w.free_stake
    if n >= 0:
        w.free_stake = s.stake[n].left
    else:
        n = w.stakes
        w.stakes += 1
    return n


@inner
def free_stake(s: Handle, n: int) -> None:
    """Gives an entry back that stands nowhere."""
    s.stake[n].left = s.header[0].free_stake
    s.header[0].free_stake = n


@small
def _before(s: Handle, a: int, b: int) -> bool:
    """Is an entry left of another one?"""
    one, other = s.stake[a], s.stake[b]
    if one.key != other.key:
        return bool(one.key < other.key)
    if one.key_low != other.key_low:
        return bool(one.key_low < other.key_low)
    return bool(one.rank < other.rank)


@inner
def _sum(s: Handle, n: int) -> None:
    """The sums of an entry and all below it, from those of the two below."""
    at = s.stake[n]
    lower, lower_low = at.amount, at.amount_low
    upper, upper_low = at.weight, at.weight_low
    firsts, firsts_low = at.first, at.first_low
    most, most_low = at.first, at.first_low
    left, right = int64(at.left), int64(at.right)
    if left >= 0:
        its = s.stake[left]
        lower, lower_low = add(lower, lower_low, its.amounts, its.amounts_low)
    if right >= 0:
        its = s.stake[right]
        upper, upper_low = add(upper, upper_low, its.weights, its.weights_low)
    amounts, amounts_low, weights, weights_low = lower, lower_low, upper, upper_low
    if left >= 0:
        its = s.stake[left]
        weights, weights_low = add(weights, weights_low, its.weights, its.weights_low)
    if right >= 0:
        its = s.stake[right]
        amounts, amounts_low = add(amounts, amounts_low, its.amounts, its.amounts_low)
    for below in (left, right):
        if below >= 0:
            its = s.stake[below]
            firsts, firsts_low = add(firsts, firsts_low, its.firsts, its.firsts_low)
            if its.most > most or (its.most == most and its.most_low > most_low):
                most, most_low = its.most, its.most_low
    at.lower, at.lower_low = lower, lower_low
    at.upper, at.upper_low = upper, upper_low
    at.amounts, at.amounts_low = amounts, amounts_low
    at.weights, at.weights_low = weights, weights_low
    at.firsts, at.firsts_low = firsts, firsts_low
    at.most, at.most_low = most, most_low


@inner
def _sum_up(s: Handle, n: int, end: int) -> None:
    """The sums of an entry and of those above it, up to one where it ends."""
    while n != end:
        _sum(s, n)
        n = int64(s.stake[n].parent)


@small
def _hang(s: Handle, above: int, right: bool, n: int) -> None:
    """Puts an entry, or none, below another one."""
    if above >= 0:
        if right:
            s.stake[above].right = n
        else:
            s.stake[above].left = n
    if n >= 0:
        s.stake[n].parent = above


@inner
def insert_stake(s: Handle, root: int, n: int) -> int:
    """Adds an entry. Returns the new root."""
    stake = s.stake
    at, above, right = root, int64(NONE), False
    while at >= 0 and stake[at].rank > stake[n].rank:
        above, right = at, not _before(s, n, at)
        at = int64(stake[at].right if right else stake[at].left)
    _hang(s, above, right, n)
    # What stood there is parted into what is left of the new one, and what is right of it.
    stake[n].left = NONE
    stake[n].right = NONE
    less, more = n, n
    while at >= 0:
        if _before(s, at, n):
            _hang(s, less, less != n, at)
            less, at = at, int64(stake[at].right)
        else:
            _hang(s, more, more == n, at)
            more, at = at, int64(stake[at].left)
    if less != n:
        stake[less].right = NONE
    if more != n:
        stake[more].left = NONE
    _sum_up(s, less, n)
    _sum_up(s, more, n)
    _sum_up(s, n, NONE)
    return n if above < 0 else root


@inner
def remove_stake(s: Handle, root: int, n: int) -> int:
    """Takes an entry out, which stays one. Returns the new root."""
    stake = s.stake
    a, b = int64(stake[n].left), int64(stake[n].right)
    above = int64(stake[n].parent)
    right = above >= 0 and stake[above].right == n
    top = above < 0
    if top:
        root = NONE
    _hang(s, above, right, NONE)
    while a >= 0 or b >= 0:
        lefts = b < 0 or (a >= 0 and stake[a].rank > stake[b].rank)
        n = a if lefts else b
        if top:
            root, top = n, False
        _hang(s, above, right, n)
        if a < 0 or b < 0:
            break
        above, right = n, lefts
        if lefts:
            a = int64(stake[a].right)
        else:
            b = int64(stake[b].left)
    _sum_up(s, above, NONE)
    return root


@inner
def stood(s: Handle, root: int, y: float, y_low: float) -> tuple[float, float]:
    """Of all entries the lesser of what is held and its part of height y, added up."""
    stake = s.stake
    amount, amount_low, weight, weight_low = 0.0, 0.0, 0.0, 0.0
    at = root
    while at >= 0:
        here = stake[np.uint64(at)]
        if here.key < y or (here.key == y and here.key_low < y_low):
            amount, amount_low = add(amount, amount_low, here.lower, here.lower_low)
            at = int64(here.right)
        else:
            weight, weight_low = add(weight, weight_low, here.upper, here.upper_low)
            at = int64(here.left)
    weight, weight_low = multiply(weight, weight_low, y, y_low)
    return add(amount, amount_low, weight, weight_low)


@inner
def line_at(s: Handle, root: int, y: float) -> tuple[float, float, float, float]:
    """As `stood`, by doubles, between two entries' heights: above the one and up to the other it is
    so much, and so much for each unit of height."""
    stake = s.stake
    low, high, amount, weight = -1.0, np.inf, 0.0, 0.0
    at = root
    while at >= 0:
        here = stake[np.uint64(at)]
        if here.key < y:
            low, amount = here.key, amount + here.lower
            at = int64(here.right)
        else:
            high, weight = here.key, weight + here.upper
            at = int64(here.left)
    return low, high, amount, weight


@inner
def line_of(s: Handle, root: int, total: float) -> tuple[float, float, float, float]:
    """The line, as of `line_at`, at whose end more than this is stood."""
    stake = s.stake
    low, high, amount, weight = -1.0, np.inf, 0.0, 0.0
    at = root
    while at >= 0:
        here = stake[np.uint64(at)]
        lower, upper = amount + here.lower, weight + here.upper
        if lower + (upper - here.weight) * here.key > total:
            high, weight = here.key, upper
            at = int64(here.left)
        else:
            low, amount = here.key, lower
            at = int64(here.right)
    return low, high, amount, weight
