"""One machine levels shares: whoever has least rises, until what it demands is used up."""

from __future__ import annotations

import numpy as np

from fairlead.sharing.problem.problem import Floats, Ints

NONE = -1
OWN_END = -2


def level(
    demand: Floats, capacity: Floats, unit: Floats, elsewhere: Floats, room: Floats
) -> tuple[Floats, Ints]:
    """The tasks that each job gets here, and the resource that stopped it (OWN_END: it has all its
    room).

    The level rises from 0. A job's share is (elsewhere + what it gets here) / unit; it gets what
    lifts it to the level, from 0 up to its room, until a resource that it demands is used up.
    """
    jobs = len(unit)
    begin, end = elsewhere / unit, (elsewhere + room) / unit
    given, stopped = np.zeros(jobs), np.full(jobs, OWN_END)
    rising = np.ones(jobs, dtype=bool)
    height = 0.0
    while rising.any():
        reached = np.full(len(capacity), np.inf)
        for r in range(len(capacity)):
            users = rising & (demand[:, r] > 0)
            if users.any():
                left = capacity[r] - float(demand[~rising, r] @ given[~rising])
                slope = demand[users, r] * unit[users]
                reached[r] = max(height, _height(begin[users], end[users], slope, left))
        height = float(reached.min())
        if height == np.inf:
            given[rising] = room[rising]
            break
        given[rising] = np.clip(height * unit - elsewhere, 0.0, room)[rising]
        for r in np.flatnonzero(reached <= height * (1 + 1e-13)).tolist():
            stops = rising & (demand[:, r] > 0)
            stopped[stops & (end > height)] = r
            rising &= ~stops
    return given, stopped


def _height(begin: Floats, end: Floats, slope: Floats, amount: Floats | float) -> float:
    """The height at which sum of slope * (height clipped to begin..end - begin) is the amount."""
    finite = np.isfinite(end)
    points = np.concatenate([begin, end[finite]])
    order = np.argsort(points, kind="stable")
    points = points[order]
    slopes = np.cumsum(np.concatenate([slope, -slope[finite]])[order])
    used = np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(points))])
    at = int(np.searchsorted(used, amount, side="right")) - 1
    if at < 0:
        return float(points[0])
    steep = float(slopes[at])
    # After the last end nothing rises any more: what is left of the slope is rounding.
    if at == len(points) - 1 and finite.all():
        return np.inf
    return float(points[at] + (amount - used[at]) / steep) if steep > 0 else np.inf
