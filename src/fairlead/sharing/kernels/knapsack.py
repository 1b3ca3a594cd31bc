"""The most valuable whole tasks that one machine holds: branch and bound, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.compiling import kernel


def search(
    value: Any,
    demand: Any,
    capacity: Any,
    most: Any,
    price: Any,
    least: float,
    every: bool,
    found: Any,
    looks: int,
) -> int:
    """Writes packings, whole tasks that the machine holds together, into `found` (K, J).

    With `every`, all that are worth at least `least`; without, the best one that is worth more than
    `least`, into the first row. Returns how many were found; -1 where there are more than `found`
    has rows, or so many looks did not suffice to know: what was found so far is written then.

    `value` (J,); `demand` (J, R) and `capacity` (R,) are whole numbers, `most` (J,) of each job.
    `price` (R,) bounds what tasks are worth: any prices do, those of divisible tasks do best.
    """
    # Not in the compiled function: sorting alone takes longer to compile than all else in it.
    cost = np.zeros(len(value))
    for r in range(len(price)):  # one resource after the other: the same sum on every machine
        cost += price[r] * demand[:, r]
    ratio = np.divide(value, cost, out=np.full(len(cost), np.inf), where=cost > 0)
    order = np.argsort(-ratio, kind="stable")
    number: int = _search(
        value, cost, order, demand, capacity, most, price, least, every, found, looks
    )
    return number


@kernel
def _search(
    value: Any,
    cost: Any,
    order: Any,
    demand: Any,
    capacity: Any,
    most: Any,
    price: Any,
    least: float,
    every: bool,
    found: Any,
    looks: int,
) -> int:
    """Does what `search` says, with the jobs in this order."""
    jobs, resources = demand.shape
    left = np.zeros((jobs + 1, resources), np.int64)
    purse = np.zeros(jobs + 1)  # what is left, at these prices
    for r in range(resources):  # assigning a row to a row takes 2 s to compile
        left[0, r] = capacity[r]
        purse[0] += price[r] * capacity[r]
    has = np.zeros(jobs + 1)
    chosen = np.zeros(jobs, np.int64)
    number = 0
    depth = 0
    down = True
    while depth >= 0:
        looks -= 1
        if looks < 0:
            return -1
        if down and depth < jobs:
            j = order[depth]
            # What all that comes could add at most, at these prices.
            bound, rest = has[depth], purse[depth]
            for k in range(depth, jobs):
                i = order[k]
                if value[i] <= 0.0:
                    continue
                if cost[i] * most[i] <= rest:
                    rest -= cost[i] * most[i]
                    bound += value[i] * most[i]
                else:
                    bound += value[i] * (rest / cost[i])
                    break
            if bound < least or (not every and bound <= least * (1.0 + 1e-12)):
                depth -= 1
                down = False
                continue
            fit = most[j] if value[j] > 0.0 else 0
            for r in range(resources):
                if demand[j, r] > 0:
                    fit = min(fit, left[depth, r] // demand[j, r])
            chosen[depth] = fit
            _take(left, purse, has, depth, j, fit, demand, cost, value)
            depth += 1
            continue
        if down:
            if has[jobs] > least or (every and has[jobs] >= least):
                if number == len(found):
                    return -1
                for k in range(jobs):
                    found[number, order[k]] = chosen[k]
                if every:
                    number += 1
                else:
                    least = has[jobs]
            depth -= 1
            down = False
            continue
        # One task less of this job, if there was one.
        if chosen[depth] == 0:
            depth -= 1
            continue
        chosen[depth] -= 1
        _take(left, purse, has, depth, order[depth], chosen[depth], demand, cost, value)
        depth += 1
        down = True
    return number if every else 1


@kernel
def _take(
    left: Any,
    purse: Any,
    has: Any,
    depth: int,
    j: int,
    tasks: int,
    demand: Any,
    cost: Any,
    value: Any,
) -> None:
    for r in range(demand.shape[1]):
        left[depth + 1, r] = left[depth, r] - tasks * demand[j, r]
    purse[depth + 1] = purse[depth] - tasks * cost[j]
    has[depth + 1] = has[depth] + tasks * value[j]
