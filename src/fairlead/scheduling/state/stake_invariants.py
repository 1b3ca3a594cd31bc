"""Invariants of how tenants are filled: what their active children hold, computed anew in fractions
from the held tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ulp

import numpy as np

from fairlead.scheduling.kernels.memory.state import State
from fairlead.scheduling.kernels.memory.tables import NONE, SHARE
from fairlead.scheduling.kernels.search.filling import STRICT
from fairlead.scheduling.kernels.search.levels import UNDER
from fairlead.scheduling.state.rows import chain, columns, ever_used, jobs_kept, tenant_slots

NEAR = Fraction(1, 2**90)
"""Sums in numbers of twice a double's length are off by less than this part of them."""

NOTHING, WHOLE = Fraction(0), Fraction(STRICT)
BEYOND = 1 - WHOLE


@dataclass(frozen=True)
class Child:
    """An active child of a tenant: its weight, what it holds, and its first tasks."""

    weight: Fraction
    held: Fraction
    first: Fraction

    def at(self, height: Fraction) -> Fraction:
        """What it counts at this height."""
        if self.held == 0:
            return NOTHING
        part = self.weight * height
        return BEYOND * min(self.held, self.first + part) + WHOLE * min(self.held, part)


def levels_since(state: State, t: int) -> int:
    """Since when levels below a tenant are as they are, by the header's `leveled`."""
    while state.tenant[t]["parent"] >= 0:
        t = int(state.tenant[t]["parent"])
    return int(state.tenant[t]["levels"])


Children = dict[int, list[Child]]


def weight_of(state: State, t: int) -> Fraction:
    """A tenant's weight, with what rounding took from it."""
    return long(state.tenant[t], "weight")


def long(row: np.void, name: str) -> Fraction:
    """A number of twice a double's length."""
    high, low = Fraction(float(row[name])), float(row[f"{name}_low"])
    return high + Fraction(low) if low else high


def rounds_to(exactly: Fraction, double: float) -> bool:
    """Is a double what a number is rounded to, also where only what is off in numbers of twice its
    length tells on which side of the middle of two doubles that is?"""
    off = abs(exactly - Fraction(double))
    return off <= Fraction(ulp(double)) / 2 + NEAR * abs(exactly)


def children_of(state: State) -> Children:
    """The active children of each tenant, from the jobs up."""
    slots = tenant_slots(state)
    parents, held, moving = columns(ever_used(state, "tenant"), "parent", "held", "moving")
    jobs = jobs_kept(state)
    rows = state.job[jobs[(state.job["active"][jobs] != 0) & (state.job["scale"][jobs] > 0)]]
    found: Children = {t: [] for t in slots}
    fields = columns(rows, "tenant", "held", "gang", "scale")
    for t, holds, gang, exactly in zip(*fields, strict=True):
        scale = Fraction(exactly)
        found[t].append(Child(Fraction(1), holds / scale, min(holds, gang) / scale))
    left = dict.fromkeys(slots, 0)
    for t in slots:
        if parents[t] >= 0:
            left[parents[t]] += 1
    ready = [t for t in slots if left[t] == 0]
    for t in ready:  # it grows: parents come after the last of their children
        parent = parents[t]
        if parent < 0:
            continue
        if found[t]:
            idle = Fraction(held[t] - moving[t], SHARE)
            whole = sum((each.held for each in found[t]), idle)
            most = idle + max(each.first for each in found[t])
            found[parent].append(Child(weight_of(state, t), whole, most))
        left[parent] -= 1
        if left[parent] == 0:
            ready.append(parent)
    return found


def height(state: State, t: int, children: list[Child], y: Fraction) -> Fraction:
    """What a tenant is among its siblings, where what is least below it is at height y."""
    if state.header[0]["filling"] and len(children) > 1:
        filled = sum((each.at(y) for each in children), NOTHING)
    else:
        filled = y * sum(each.weight for each in children)
    idle = Fraction(int(state.tenant[t]["held"] - state.tenant[t]["moving"]), SHARE)
    return (filled + idle) / weight_of(state, t)


def stakes(state: State, children: Children | None = None) -> Iterator[str]:
    """Each tenant's stakes are those of its active children that hold anything."""
    header, strict = state.header[0], WHOLE
    used = 0
    children = children_of(state) if children is None else children
    yield from _kept(state, children)
    roots, single = columns(ever_used(state, "tenant"), "stakes", "single")
    for t, each in children.items():
        entries = _walk(state, roots[t])
        used += len(entries)
        some = [c for c in each if c.held > 0]
        if single[t] or not header["filling"] or header["fifo"]:
            some = []
        whole = [(strict * c.held, strict * c.weight, c.first) for c in some]
        beyond = [(c.held - c.first, c.weight) for c in some if c.held > c.first]
        if len(entries) != len(whole) + len(beyond):
            yield f"tenant {t} has {len(entries)} stakes, not {len(whole) + len(beyond)}"
            continue
        yield from _line(state, t, some)
        yield from _order(state, entries)
        if not entries:
            continue
        found = {
            "amounts": sum(a for a, _, _ in whole) + (1 - strict) * sum(a for a, _ in beyond),
            "weights": sum(w for _, w, _ in whole) + (1 - strict) * sum(w for _, w in beyond),
            "firsts": sum(c.first for c in some),
            "most": max(c.first for c in some),
        }
        top = state.stake[roots[t]]
        for name, value in found.items():
            if abs(long(top, name) - value) > NEAR * value:
                yield f"the stakes of tenant {t}: {name} is {float(value)}, not {top[name]}"
    free = len(chain(state.stake["left"], header["free_stake"]))
    if used + free != header["stakes"]:
        yield f"{used} stakes are used and {free} free, of {header['stakes']}"


def _kept(state: State, children: Children) -> Iterator[str]:
    """The levels that tenants keep are those of now."""
    tenant = state.tenant
    parents, known, bounded = columns(ever_used(state, "tenant"), "parent", "known", "bounded")

    def level(t: int, y: Fraction) -> Fraction:
        while t >= 0:
            t, y = parents[t], height(state, t, children[t], y)
        return y

    for t in children:
        since = levels_since(state, t)
        if known[t] >= since:
            share = Fraction(int(tenant[t]["of_held"])) / Fraction(float(tenant[t]["of_scale"]))
            if not rounds_to(level(t, share), float(tenant[t]["level"])):
                yield f"tenant {t} keeps a level of {tenant[t]['level']} for a share of {share}"
        if bounded[t] >= since:
            asked, bound = (tenant[t][name].item() for name in ("asked", "bound"))
            if bound > level(t, Fraction(asked)):
                yield f"tenant {t} keeps a bound of {bound}, which is above a level"


def _line(state: State, t: int, children: list[Child]) -> Iterator[str]:
    """The line that a tenant keeps is what its children count between its two heights."""
    tenant = state.tenant[t]
    low, high = max(float(tenant["low"]), 0.0), float(tenant["high"])
    if high <= 0.0:
        return
    for y in (low, min(high, low + 1.0)):
        exactly = sum((each.at(Fraction(y)) for each in children), Fraction(0))
        said = float(tenant["firsts"] + (tenant["amount"] + tenant["steep"] * y))
        if abs(Fraction(said) - exactly) > exactly * (1 - Fraction(UNDER)):
            yield f"tenant {t} keeps {said} as what its children count at {y}: {float(exactly)}"


def _walk(state: State, root: int) -> list[int]:
    """The entries below a root, from left to right."""
    found: list[int] = []
    above: list[int] = []
    at = root
    while (at >= 0 or above) and len(found) <= len(state.stake):
        if at >= 0:
            above.append(at)
            at = int(state.stake[at]["left"])
        else:
            at = above.pop()
            found.append(at)
            at = int(state.stake[at]["right"])
    return found


def _order(state: State, entries: list[int]) -> Iterator[str]:
    """They are in the order of their heights, and below who has a greater rank; each one's sums are
    of what is below."""
    stake = state.stake
    numbers = ("key", "key_low", "rank")
    keys = [tuple(stake[n][name].item() for name in numbers) for n in entries]
    if keys != sorted(keys):
        yield f"stakes {entries} are in another order"
    for n in entries:
        for side in ("left", "right"):
            below = int(stake[n][side])
            if below == NONE:
                continue
            if stake[below]["parent"] != n or stake[below]["rank"] > stake[n]["rank"]:
                yield f"stake {below} does not belong below stake {n}"
        for side, name, own, of in (
            ("left", "lower", "amount", "amounts"),
            ("right", "upper", "weight", "weights"),
        ):
            below = int(stake[n][side])
            exactly = long(stake[n], own) + (long(stake[below], of) if below != NONE else 0)
            if abs(long(stake[n], name) - exactly) > NEAR * exactly:
                yield f"stake {n} has {float(exactly)} as {name}, not {stake[n][name]}"
