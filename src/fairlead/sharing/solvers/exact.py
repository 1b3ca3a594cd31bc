"""An optimum to the last digits, from a point near it: some of it is zero, the rest is solved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairlead.sharing.problem import Bools, Floats
from fairlead.sharing.rise import Rise, Risen
from fairlead.sharing.solvers.scaled import Program, System
from fairlead.sharing.solvers.ties import break_tie

# What is left of the equations when a solution counts as exact; relative.
_EXACT = 1e-12
# A price may be so much below 0, in units in which the rising groups' prices add up to their
# number: then it is 0.
_NEGATIVE = 1e-8
# What a solver with tolerances may have left of a share that is 0.
_TOLERANCE = 1e-8
_REFINEMENTS = 8
# How often what was taken for positive may turn out to be zero.
_GUESSES = 4
# Where a whole range of prices is as good, a centre of it may lie anywhere; too far out it only
# adds rounding errors.
_FAR_OUT = 1e3


def exact(
    program: Program,
    share: Floats,
    price: Floats,
    group: Floats,
    level: float,
    basic: Bools,
    tight: Bools,
) -> Risen | None:
    """The optimum nearest to a point of the scaled program, of the shares and prices that are not
    zero there; None where that is none. (Mehrotra and Ye's finite termination.)"""
    for _ in range(_GUESSES):
        if not basic.any(axis=1).all():
            return None
        found = _nearest(program, share, price, group, level, basic, tight)
        if found is None:
            return None
        z, p, y, reached = found
        wrong = z < 0
        if not wrong.any():
            break
        basic = basic & ~wrong
    else:
        return None
    p = np.maximum(p, 0.0)
    reduced = np.where(program.pairs, program.cost(p) - y[:, None], 0.0)
    if (program.load(z) > 1.0 + _EXACT).any() or (reduced < -_NEGATIVE).any():
        return None
    if p.sum() > _FAR_OUT * program.number * reached:
        return None
    return Risen(
        level=reached * program.level_unit,
        share=z * program.unit[:, None],
        price=p * program.inverse,
        group=np.maximum(y, 0.0) / program.unit,
    )


def polish(problem: Rise, risen: Risen) -> Risen:
    """The same answer where it satisfies its equations to the last digits, else the exact one
    nearby if that is found."""
    wanted = problem.base + problem.rate * risen.level
    if risen.level == 0 and (wanted == 0).any():
        return risen  # nobody who rises got off the ground
    off = abs(wanted - risen.share.sum(axis=1)) / wanted
    load = risen.share.T @ problem.use
    over = load - problem.capacity * (1.0 + _EXACT)
    if off.max() < _EXACT and (over <= 0).all():
        return risen
    # Where a group spreads and has all that it may have on a class, that stays as it is.
    most_on = np.full(problem.pairs.shape, np.inf) if problem.most_on is None else problem.most_on
    full = risen.share > most_on * (1.0 - _TOLERANCE)
    held = np.where(full, most_on, 0.0)
    some = (risen.share > 0) & ~full
    moving = some.any(axis=1)
    room = problem.capacity - held.T @ problem.use
    tiny = (room < problem.capacity * _TOLERANCE) & ((some.T @ (problem.use > 0)) > 0)
    if (problem.rate[~moving] > 0).any() or tiny.any():
        return risen
    rest = Rise(
        problem.use[moving],
        (problem.pairs & ~full)[moving],
        np.maximum(room, 0.0),
        None,
        (problem.base - held.sum(axis=1))[moving],
        problem.rate[moving],
        least=risen.level,
    )
    found = _polish(rest, replace(risen, share=risen.share[moving], group=risen.group[moving]))
    if found is None:
        return risen
    share, group = held, risen.group.copy()
    share[moving] += found.share
    # Of all multiples of the prices, the one that was given.
    times = float(risen.group @ problem.rate) / float(found.group @ rest.rate)
    group[moving] = found.group * times
    return Risen(found.level, share, found.price * times, group, risen.basis)


def _polish(problem: Rise, risen: Risen) -> Risen | None:
    program = Program(problem)
    share = np.where(problem.pairs, risen.share, 0.0) / program.unit[:, None]
    price, group = risen.price * problem.capacity, risen.group * program.unit
    factor = program.number / float(group @ program.rate)
    level = risen.level / program.level_unit
    return exact(
        program, share, price * factor, group * factor, level, share > _TOLERANCE, price > 0
    )


def _nearest(
    program: Program,
    share: Floats,
    price: Floats,
    group: Floats,
    level: float,
    basic: Bools,
    tight: Bools,
) -> tuple[Floats, Floats, Floats, float] | None:
    """z, p, y and the level next to the point that satisfy all equations, where only these z
    and p are not zero; None where there are none."""
    z = np.where(basic, share, 0.0)
    theta = z * z
    system = System(program, theta, tight, np.zeros(tight.shape))
    if not system.regular:
        return None
    full = np.ones(tight.shape)
    near_z, near_level, off = _shares(program, system, z, level, full)
    p, y, off_dual = _prices(program, system, np.where(tight, price, 0.0), group, basic)
    if off >= _EXACT and off_dual < _NEGATIVE:
        tie = break_tie(program, system, p, y)
        if tie is None:
            return None
        near_z, near_level, off = _shares(program, system, z, tie.level, tie.load)
        system = System(program, theta, tight & (tie.price > 0), np.zeros(tight.shape))
        p, y, off_dual = _prices(program, system, tie.price, tie.group, basic)
    close = off < _EXACT and off_dual < _NEGATIVE and p.min() > -_NEGATIVE
    return (near_z, p, y, near_level) if close else None


def _shares(
    program: Program, system: System, z: Floats, level: float, load: Floats
) -> tuple[Floats, float, float]:
    """The nearest shares and level with these loads of the system's capacities; what is left."""
    off = np.inf
    for _ in range(_REFINEMENTS):
        share = program.base + program.rate * level - z.sum(axis=1)
        capacity = np.where(system.row, load - program.load(z), 0.0)
        off = float(max(abs(share).max(), abs(capacity).max()))
        if off < _EXACT / 20:
            break
        more, dp, dy = system.solve(share, capacity, 0.0)
        z = z - system.theta * (program.cost(dp) - dy[:, None])
        level += more
    return z, level, off


def _prices(
    program: Program, system: System, p: Floats, y: Floats, basic: Bools
) -> tuple[Floats, Floats, float]:
    """The nearest prices at which every share costs what it is worth; what is left."""
    off = np.inf
    for _ in range(_REFINEMENTS):
        price = np.where(basic, program.cost(p) - y[:, None], 0.0)
        total = program.number - float(y @ program.rate)
        off = max(float(abs(price).max()), abs(total) / program.number)
        if off < _EXACT:
            break
        weighted = system.theta * price
        _, dp, dy = system.solve(weighted.sum(axis=1), program.load(weighted), total)
        p, y = p + dp, y + dy
    return p, y, off
