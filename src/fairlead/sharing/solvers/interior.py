"""An interior point method says where many groups at once nearly are at their highest level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairlead.sharing.problem.problem import Bools, Floats
from fairlead.sharing.solvers.by_group import GroupSystem
from fairlead.sharing.solvers.scaled import Program, System
from fairlead.sharing.solvers.step import Basis, StepProblem

_MOST_STEPS = 200
# Relative gap at which no step changes who is where.
_GAP = 1e-9
# A place that holds less than this part of what its group's fullest holds is none of the corner's,
_LITTLE = 1e-2
# unless it costs no more than this part over what the group is worth: at first, and near the end.
_ROUGH, _SHARP = 1e-4, 1e-6
# So many places for each group are few: the simplex chooses among them in less than further steps.
_FEW = 1.5
# Where many corners are as high, the inside of all of them is no corner. Each place costs up to
# this more, drawn at random: it decides between them, and is too little to leave the level.
_TILT = 1e-3
_SEED = 1
# How far to go of the way to where something would be 0: more where that is long enough.
_LONG, _CLOSE, _APART = 0.98, 0.9995, 0.9
# While the relative gap is above _FAR, so large a part of the pairs does not stop a step: their
# shares and losses shrink to _SHORT of what they were, and later steps put the rest right. A few
# dozen of 500,000 would else hold up all the others: 97 steps instead of 170, 62 instead of 105.
_FAR, _SPARE, _SHORT, _SAMPLE = 1e-6, 1e-4, 0.1, 65_536


@dataclass
class _Point:
    """Shares, what is left of capacities, the level, prices, groups' prices, reduced costs."""

    z: Floats  # (G, C)
    s: Floats  # (C, R)
    level: float
    p: Floats  # (C, R)
    y: Floats  # (G,)
    rc: Floats  # (G, C)


@dataclass(frozen=True)
class Likely:
    """Where the way up to a highest corner may start, everybody in the place that holds most, and
    among which places it may lead, few of them for each group."""

    start: Basis
    last: bool


def likely(problem: StepProblem) -> Iterator[Likely]:
    """The places that are likely early on and, where the simplex is lost among that, at the end of
    the way."""
    program = Program(problem)
    at = _start(program)
    random = np.random.default_rng(_SEED).random(program.pairs.shape)
    tilt = _TILT * random * program.inside
    early: float = _FEW * len(program.use) + program.row.sum()
    for _ in range(_MOST_STEPS):
        if np.count_nonzero(_holding(at)) <= early:
            yield _likely(program, at, _ROUGH, last=False)
            early = 0.0
        if _gap(program, at) < _GAP or not _advance(program, at, tilt):
            break
    yield _likely(program, at, _SHARP, last=True)


def _likely(program: Program, at: _Point, over: float, *, last: bool) -> Likely:
    fullest = np.zeros(program.pairs.shape, dtype=np.bool_)
    fullest[np.arange(len(fullest)), at.z.argmax(axis=1)] = True
    cheap = program.pairs & (at.rc < over * at.y[:, None])
    slack = np.ones(program.row.shape, dtype=np.bool_)
    columns = _holding(at) | cheap
    if program.problem.most_on is not None:
        # What a place may hold at most is not known here: who spreads may be anywhere.
        group, machine_class = program.problem.places
        spread = np.isfinite(program.problem.most_on)
        columns[group[spread], machine_class[spread]] = True
    return Likely(Basis(fullest, slack, columns), last)


def _holding(at: _Point) -> Bools:
    held: Bools = at.z > _LITTLE * at.z.max(axis=1, keepdims=True)
    return held


def _start(program: Program) -> _Point:
    """A point well inside: everyone on all it can use, products all of one size."""
    fits = np.zeros(program.pairs.shape)
    largest = (program.use[:, None, :] * program.inverse[None]).max(axis=2)
    np.divide(1.0, largest, out=fits, where=program.pairs)
    z = fits / fits.sum(axis=1, keepdims=True) * (program.base + program.rate)[:, None]
    level = 1.0 / program.load(z)[program.row].mean()
    even = 0.1 / program.inside.sum(axis=1, keepdims=True)
    z = np.where(program.pairs, np.maximum(z, even) * level, 0.0)
    s = np.ones(program.row.shape)
    p = np.where(program.row, program.number * level / program.row.sum(), 0.0)
    return _Point(z, s, level, p, np.ones(len(z)), np.where(program.pairs, 10.0, 1.0))


def _residuals(program: Program, at: _Point, tilt: Floats) -> tuple[Floats, Floats, Floats, float]:
    """The distances of the point from its equations: shares, capacities, prices, their sum."""
    return (
        program.base + program.rate * at.level - at.z.sum(axis=1),
        np.where(program.row, 1.0 - program.load(at.z) - at.s, 0.0),
        (program.cost(at.p) - at.y[:, None] - at.rc) * program.inside + tilt,
        program.number - float(at.y @ program.rate),
    )


def _gap(program: Program, at: _Point) -> float:
    """The part by which the level may still be below the highest."""
    products = float((at.z * at.rc).sum() + (at.s * at.p).sum())
    return products / (program.number * at.level)


def _advance(program: Program, at: _Point, tilt: Floats) -> bool:
    """One step of Mehrotra's predictor and corrector, with Colombo and Gondzio's weight. False
    where the system is singular."""
    share, capacity, price, total = _residuals(program, at, tilt)
    theta = at.z / at.rc
    safe_p = np.where(program.row, at.p, 1.0)
    ratio = np.where(program.row, at.s / safe_p, 1.0)
    few = len(program.use) < program.row.size
    system = (
        GroupSystem(program, theta, ratio) if few else System(program, theta, program.row, ratio)
    )
    if not system.regular:
        return False
    mean = float((at.z * at.rc).sum() + (at.s * at.p).sum()) / program.products
    far = mean * program.products > _FAR * program.number * at.level
    spare, short = (_SPARE, _SHORT) if far else (0.0, 0.0)

    def direction(aim: float, off_z: Floats, off_s: Floats) -> _Point:
        inner = (aim - off_z) / at.rc * program.inside - at.z
        known = inner - theta * price
        slack = np.where(program.row, (aim - off_s) / safe_p - at.s, 0.0)
        level, p, y = system.solve(
            share - known.sum(axis=1), capacity - slack - program.load(known), total
        )
        rc = (program.cost(p) - y[:, None] + price) * program.inside
        return _Point(inner - theta * rc, slack - at.s / safe_p * p, level, p, y, rc)

    step = direction(0.0, np.zeros(1), np.zeros(1))
    primal, dual = _lengths(at, step, spare)
    left = (at.z + primal * step.z) * (at.rc + dual * step.rc)
    left_s = (at.s + primal * step.s) * (at.p + dual * step.p)
    aim = mean * (float(left.sum() + left_s.sum()) / program.products / mean) ** 3
    weight = primal * dual
    off_z, off_s = weight * step.z * step.rc, weight * step.s * step.p
    step = direction(aim, off_z, off_s)
    primal, dual = _lengths(at, step, spare)
    primal, dual = _inside(primal), _inside(dual)
    at.z = np.maximum(at.z + primal * step.z, short * at.z)
    at.s += primal * step.s
    at.level += primal * step.level
    at.p += dual * step.p
    at.y += dual * step.y
    at.rc = np.maximum(at.rc + dual * step.rc, short * at.rc)
    return True


def _lengths(at: _Point, step: _Point, spare: float) -> tuple[float, float]:
    """The lengths that shares and prices can go before one reaches 0, at most 1; a part `spare` of
    the pairs may be in the way."""
    return (
        min(_length(at.z, step.z, spare), _length(at.s, step.s, 0.0)),
        min(_length(at.rc, step.rc, spare), _length(at.p, step.p, 0.0)),
    )


def _length(value: Floats, change: Floats, spare: float) -> float:
    if spare:
        # A sample will do, since what is in the way stops short of 0 by itself.
        every = max(1, value.size // _SAMPLE)
        value, change = value.ravel()[::every], change.ravel()[::every]
    with np.errstate(divide="ignore", invalid="ignore"):
        speed = np.where(value > 0, change / value, 0.0).ravel()
    last = int(speed.size * spare)
    if not last:
        return min(1.0, -1.0 / min(float(speed.min()), -1.0))
    in_the_way = speed[speed < -1.0]
    return float(-1.0 / np.partition(in_the_way, last)[last]) if len(in_the_way) > last else 1.0


def _inside(length: float) -> float:
    """A bit less than as far as it can go: what is in the way must not come so close to 0 that it
    is in the way of the next steps too."""
    return length * (_CLOSE if length > _LONG else _APART)
