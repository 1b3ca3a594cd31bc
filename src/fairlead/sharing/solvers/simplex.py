"""The highest level of some groups at once, by HiGHS's simplex: shares on few classes each."""

from __future__ import annotations

import highspy
import numpy as np

from fairlead.sharing.problem.problem import Floats, Ints
from fairlead.sharing.solvers.highs import Options, add_rows, failure, set_options, start_highs
from fairlead.sharing.solvers.step import Basis, StepProblem, StepSolution, largest

_BASIC = highspy.HighsBasisStatus.kBasic
_LOWER = highspy.HighsBasisStatus.kLower
_UPPER = highspy.HighsBasisStatus.kUpper
# Chosen by 0 or 1, many at once.
_AT_UPPER = np.array([_UPPER, _BASIC], dtype=object)
_AT_EITHER = np.array([_LOWER, _BASIC, _UPPER], dtype=object)
# The objective is this many times the number of rising groups: reduced costs count to 1e-14.
_COST = 1e5
# Tried in turn where the finest has no solution; what is left of it shows in the certificate.
_FINEST = 1e-10
_COARSER = (1e-8, 1e-6)
# Of so many places nearly all cost what their groups are worth, nothing, and what is updated from
# pivot to pivot says so to less than the tolerance: each of them was looked at, up to a hundred
# times as long as the pivots took. Those are roughly optimal first; then all is computed anew.
_MANY = 3000
_ROUGH, _SHARP = 1e-3, 1e-8
_OPTIONS: Options = {
    "solver": "choose",  # the simplex, for a linear program
    "presolve": "off",
    "simplex_strategy": 4,  # primal: the start is feasible
    "simplex_scale_strategy": 0,  # the rows come scaled
    "primal_feasibility_tolerance": _FINEST,
    "dual_feasibility_tolerance": _SHARP,
    "small_matrix_value": 1e-12,  # the finest that HiGHS accepts; what is smaller it drops
}
_INSIDE: Options = {"solver": "ipm", "presolve": "on"}
_NO_LIMIT = 2**31 - 1
_BELOW = 1 - 1e-6
_TURNS = 64  # at the start


class Simplex:
    """HiGHS, for one program after another; to set it up takes as long as to solve a small one."""

    def __init__(self) -> None:
        self._highs = start_highs(_OPTIONS)

    def rise(self, problem: StepProblem, most_pivots: float | None = None) -> StepSolution | None:
        """The highest level with its proof; None if so many pivots for each row do not suffice.
        SolverError, with status and gap, if there is no optimum.

        Scaled: a group's share is about 1 at the answer, each capacity row has the mean
        coefficient 1, and the prices of the rising groups add up to their number.
        """
        unit, level_unit = problem.units()
        size, shape = len(problem.use), problem.capacity.shape
        group, machine_class = problem.places
        pairs = len(group)
        use = (problem.use * unit[:, None]).take(group, axis=0)
        # Capacities are numbered class by class.
        at = (machine_class * shape[1])[:, None] + np.arange(shape[1])
        takers = np.bincount(at.ravel(), (use > 0).ravel(), minlength=problem.capacity.size)
        total = np.bincount(at.ravel(), use.ravel(), minlength=problem.capacity.size)
        row = np.flatnonzero(takers)
        # A capacity that is little for those who may use it counts itself: tolerances are absolute.
        capacity = problem.capacity.ravel()
        mean = np.ones(len(capacity))
        mean[row] = np.minimum(total[row] / takers[row], capacity[row])
        row_of = np.full(len(capacity), -1)
        row_of[row] = size + np.arange(len(row))
        base = problem.base / unit
        rising = np.flatnonzero(problem.rate > 0)
        rows = np.concatenate([group[:, None], row_of[at]], axis=1)
        values = np.concatenate([np.ones((pairs, 1)), use / mean[at]], axis=1)
        kept = values > 0

        highs = self._highs
        highs.clearModel()
        number = size + problem.capacity.size
        most = None if most_pivots is None else max(0, int(most_pivots * number))
        highs.setOptionValue("simplex_iteration_limit", _NO_LIMIT if most is None else most)
        add_rows(
            highs,
            np.concatenate([base, np.full(len(row), -highspy.kHighsInf)]),
            np.concatenate([base, capacity[row] / mean[row]]),
        )
        # The last column is the level.
        cost, lower, upper = np.zeros(pairs + 1), np.zeros(pairs + 1), np.empty(pairs + 1)
        cost[-1] = -float(len(rising)) * _COST
        # Below what is known to be reached, so that the level is basic in the end.
        lower[-1] = problem.least / level_unit * _BELOW
        upper[:] = highspy.kHighsInf
        upper[-1] = problem.most / level_unit
        if problem.most_on is not None:
            upper[:-1] = problem.most_on / unit[group]
        entries = np.concatenate([rows[kept], rising]).astype(np.int32)
        highs.addCols(
            pairs + 1,
            cost,
            lower,
            upper,
            len(entries),
            np.concatenate([[0], np.count_nonzero(kept, axis=1).cumsum()]).astype(np.int32),
            entries,
            np.concatenate([values[kept], -(problem.rate * level_unit / unit)[rising]]),
        )
        start = problem.basis or crash(problem, unit, _TURNS)
        _start(highs, start, problem, row)
        rough = pairs > _MANY
        highs.setOptionValue("dual_feasibility_tolerance", _ROUGH if rough else _SHARP)
        if not _solve(highs):
            return None
        pivots = highs.getInfo().simplex_iteration_count
        if rough and highs.getInfo().max_dual_infeasibility > _SHARP:
            highs.setOptionValue("dual_feasibility_tolerance", _SHARP)
            if not _solve(highs):
                return None
            pivots += highs.getInfo().simplex_iteration_count
        solution = highs.getSolution()
        found, row_dual = np.array(solution.col_value), np.array(solution.row_dual)
        share = np.zeros(problem.pairs.shape)
        share[group, machine_class] = np.maximum(found[:-1], 0.0) * unit[group]
        price = np.zeros(len(capacity))
        price[row] = np.maximum(-row_dual[size:], 0.0) / mean[row]
        return StepSolution(
            level=float(found[-1]) * level_unit,
            share=share,
            price=price.reshape(shape),
            group=np.maximum(row_dual[:size], 0.0) / unit,
            basis=_basis(highs, problem, share[group, machine_class], row),
            pivots=pivots / number,
        )


def _start(highs: highspy.Highs, start: Basis, problem: StepProblem, row: Ints) -> None:
    """Shares as they stood; the level waits at its least."""
    at = start.pairs[problem.places].astype(np.int8)
    if start.full is not None:
        full = np.flatnonzero(start.full[problem.places] & (at == 0))
        at[full] = 2
        # Who is full everywhere has a place of the basis as all others have: else its own row would
        # be of it to the end, and more be used up than there are places for.
        own = problem.places[0][full]
        first = np.diff(own, prepend=-1) > 0
        none = ~np.logical_or.reduceat(at == 1, problem.first)
        at[full[first & none[own]]] = 1
    slack = start.slack.ravel()[row]
    basis = highspy.HighsBasis()
    basis.col_status = [*_AT_EITHER[at].tolist(), _LOWER]
    basis.row_status = [_LOWER] * len(problem.use) + _AT_UPPER[slack.view(np.int8)].tolist()
    basis.alien = True  # HiGHS makes a basis of it where it is none
    highs.setBasis(basis)


def _basis(highs: highspy.Highs, problem: StepProblem, share: Floats, row: Ints) -> Basis:
    """The pairs and the slacks that are basic now, and the pairs that are full beside. HiGHS names
    row k as -1 - k."""
    _, basic = highs.getBasicVariables()  # type: ignore[attr-defined]  # not in its stubs
    group, machine_class = problem.places
    size = len(problem.use)
    columns = basic[(basic >= 0) & (basic < len(group))]
    pairs = np.zeros(problem.pairs.shape, dtype=np.bool_)
    pairs[group[columns], machine_class[columns]] = True
    # All of what nobody here may use is left, so its slack is basic, too.
    slack = np.ones(problem.capacity.size, dtype=np.bool_)
    slack[row] = False
    slack[row[-1 - size - basic[basic < -size]]] = True
    full = None
    if problem.most_on is not None:
        # What is no part of the basis and not empty is as full as it can be.
        full = np.zeros_like(pairs)
        much = np.isfinite(problem.most_on) & (share > 0.5 * problem.most_on)
        full[group[much], machine_class[much]] = True
        full &= ~pairs
    return Basis(pairs, slack.reshape(problem.capacity.shape), problem.pairs, full)


def _solve(highs: highspy.Highs) -> bool:
    """Whether it ended within the most pivots."""
    highs.run()
    status = highs.getModelStatus()
    for tolerance in _COARSER:
        # Shares that froze earlier, of huge groups, may overfill a tiny class by a rounding error.
        if status in (
            highspy.HighsModelStatus.kOptimal,
            highspy.HighsModelStatus.kIterationLimit,
        ):
            break
        highs.setOptionValue("primal_feasibility_tolerance", tolerance)
        highs.clearSolver()
        highs.run()
        status = highs.getModelStatus()
    highs.setOptionValue("primal_feasibility_tolerance", _FINEST)
    if status == highspy.HighsModelStatus.kUnknown:
        # Shares that are apart by many powers of ten: no pivot is good enough, a path through the
        # inside is, and it ends in a corner, too.
        set_options(highs, _INSIDE)
        highs.clearSolver()
        highs.run()
        status = highs.getModelStatus()
        set_options(highs, {name: _OPTIONS[name] for name in _INSIDE})
    if status == highspy.HighsModelStatus.kIterationLimit:
        return False
    if status != highspy.HighsModelStatus.kOptimal:
        raise failure(highs)
    return True


# Groups find their places in so many turns at most, unless there are few in each.
_AT_LEAST = 4


def crash(problem: StepProblem, unit: Floats, turns: int) -> Basis:
    """Everyone on the one of its classes that is the least full then, those with the largest
    shares first: right at the level 0, and saves most of the pivots on the way up."""
    group, machine_class = problem.places
    there = np.where(problem.capacity > 0, problem.capacity, np.inf)
    takes = (problem.use * unit[:, None]).take(group, axis=0) / there.take(machine_class, axis=0)
    least = np.minimum.reduceat(largest(takes), problem.first)
    turn = np.empty(len(unit), dtype=np.int64)
    turn[np.argsort(-least, kind="stable")] = np.arange(len(unit))
    order = np.argsort(turn[group], kind="stable")
    group, machine_class, takes = group[order], machine_class[order], takes.take(order, axis=0)
    first = np.searchsorted(turn[group], np.arange(len(unit) + 1))
    load = np.zeros(problem.capacity.shape)
    found = []
    some = max(_AT_LEAST, -(-len(unit) // turns))
    for start in range(0, len(unit), some):
        heads = first[start : start + some + 1]
        begin, end = heads[[0, -1]].tolist()
        at, more = machine_class[begin:end], takes[begin:end]
        full = largest(load.take(at, axis=0) + more)
        least = np.minimum.reduceat(full, heads[:-1] - begin).repeat(heads[1:] - heads[:-1])
        # The first, where several are as good; what is no number is some place, too.
        (chosen,) = (~(full > least)).nonzero()
        chosen = chosen[chosen.searchsorted(heads[:-1] - begin)]
        np.add.at(load, at[chosen], more[chosen])
        found.append(chosen + begin)
    pairs = np.zeros(problem.pairs.shape, dtype=np.bool_)
    basic = np.concatenate(found)
    pairs[group[basic], machine_class[basic]] = True
    return Basis(pairs, np.ones(problem.capacity.shape, dtype=np.bool_), problem.pairs)
