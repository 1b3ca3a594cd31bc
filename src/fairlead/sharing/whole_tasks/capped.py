"""The CDRF point of jobs that can run out of tasks, and of limits: over whole allocations.

Where a cap binds, a lottery is over allocations each of which keeps it, and these are fewer than
mixtures whose mean keeps it. So columns are whole allocations here, found all machines at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fairlead.model.errors import InputError
from fairlead.sharing.problem.problem import Ints
from fairlead.sharing.solvers.linear import INFINITY, Program
from fairlead.sharing.solvers.whole.capped import Options, Together
from fairlead.sharing.solvers.whole.convex import Kind
from fairlead.sharing.solvers.whole.packing import Packer
from fairlead.sharing.whole_tasks.counts import Cap, Counts, total_use
from fairlead.sharing.whole_tasks.exact_linear import Row, solve
from fairlead.sharing.whole_tasks.lottery import Drawn, Lottery
from fairlead.sharing.whole_tasks.point import Packing, Point, point_of

MOST_SEARCHED = 50_000
"""Packings of a kind of machine that are looked through."""

MOST_PACKINGS = 3000
"""Packings of all kinds of machines together to which no task can be added."""

SPARE = (0, 2, 8)
"""Machines of each packing that are packed anew, where those split between packings do not do."""

Chances = list[tuple[Packing, Fraction]]
"""Whole tasks (J,) of allocations, and their probabilities."""

Chance = tuple[Fraction, tuple[tuple[int, Packing, int], ...]]
"""A probability, and the packings of an allocation."""

_BETTER = 1e-9


def keeps(counts: Counts, tasks: Sequence[int]) -> bool:
    """Whether the jobs have so many tasks, and the limits allow them."""
    has = np.array(tasks, np.int64)
    return all(total_use(cap.use, has) <= cap.amount for cap in counts.caps)


def capped(counts: Counts, loose: Point) -> tuple[Point, Lottery]:
    """The weighted lexicographic max-min over the convex hull of the allocations that keep all
    caps, and a lottery over such allocations that gives it.

    `loose` is the point of the mixtures whose mean keeps them: where a lottery over allocations
    that keep them gives it, it is the point; otherwise it is out of reach.
    """
    for spare in SPARE:
        found = _rest(counts, loose, spare)
        if found is not None:
            return _outcome(loose, found)
    together = together_of(counts, counts.count, counts.caps, counts.tasks)
    point = point_of(counts, (Kind(1, together),), ())
    whole = _narrowest(together, point.tasks)
    if whole is None:
        whole = [(tasks, part) for _, tasks, part in point.mixture]
    # For the certificate: prices are asked for all allocations again.
    together.near(np.zeros_like(together.most), together.most)
    return _outcome(
        point, [(part, trim(together.machines.get(each, ()), each)) for each, part in whole]
    )


def _rest(counts: Counts, loose: Point, spare: int) -> list[Chance] | None:
    """Allocations with the loose point as their mean, in which each packing is on as many machines
    as the point's mixture says, rounded down and `spare` less, and only the other machines are
    packed otherwise; None where there are none."""
    jobs = len(loose.tasks)
    fixed = [(c, each, int(n) - spare) for c, each, n in loose.mixture if n >= spare + 1]
    machines = counts.count.copy()
    has = np.zeros(jobs, np.int64)
    for c, packing, number in fixed:
        machines[c] -= number
        has += number * np.array(packing, np.int64)
    caps = [Cap(cap.use, cap.amount - total_use(cap.use, has)) for cap in counts.caps]
    together = together_of(counts, machines, caps, counts.tasks - has)
    goal = [each - int(own) for each, own in zip(loose.tasks, has, strict=True)]
    found = _near(together, goal, int(together.most.max(initial=0)))
    if found is not None:
        found = _narrowest(together, goal) or found
    if found is None:
        return None
    return [
        (part, trim((*fixed, *together.machines.get(each, ())), (has + np.array(each)).tolist()))
        for each, part in found
    ]


def together_of(counts: Counts, machines: Ints, caps: Sequence[Cap], tasks: Ints) -> Together:
    """Whole allocations on so many machines of each class that keep the caps, nobody having more
    than `tasks` (J,). Refuses where packings are too many."""
    kinds: list[Options] = []
    total = 0
    for c in np.flatnonzero(machines).tolist():
        packer = Packer(counts.demand, counts.capacity[c], counts.most[:, c])
        every = packer.every(MOST_SEARCHED)
        total += MOST_PACKINGS + 1 if every is None else len(every)
        if every is None or total > MOST_PACKINGS:
            raise InputError(
                "jobs that can run out of tasks, or have limits, are shared by lot only where"
                f" machines have few packings, and these have more than {MOST_PACKINGS}",
                "leave out `tasks` and `limit`, or take gim-cdrf or shapley-folkman, which"
                " pack machine by machine, or a policy with --tasks whole",
            )
        kinds.append(Options(c, every, int(machines[c])))
    most = np.minimum(counts.most @ machines, tasks)
    return Together(
        kinds,
        most,
        np.array([cap.use for cap in caps], np.int64).reshape(len(caps), len(most)),
        np.array([cap.amount for cap in caps], np.int64),
    )


def _narrowest(together: Together, goal: Sequence[Fraction]) -> Chances | None:
    """Allocations that are as close to the goal for everybody as doubling finds."""
    width, widest = 0, int(together.most.max(initial=0))
    while width < widest:
        found = _near(together, goal, width)
        if found is not None:
            return found
        width = 2 * width + 1
    return None


def _near(together: Together, goal: Sequence[Fraction], width: int) -> Chances | None:
    """Allocations, nobody's tasks further from its goal than `width` beyond the next whole number,
    with probabilities that give the goal exactly; None where there are none."""
    low = np.array([each.__floor__() for each in goal], np.int64) - width
    high = np.array([each.__ceil__() for each in goal], np.int64) + width
    jobs = len(goal)
    size = np.array([float(each) for each in goal])
    wanted = size > 0
    together.near(low, np.where(wanted, high, 0))
    # How large a part of the goal everybody can have: it is a mixture if that is all of it.
    program = Program(
        np.concatenate([np.where(wanted, 0.0, -INFINITY), [-INFINITY]]),
        np.concatenate([np.full(jobs, INFINITY), [1.0]]),
    )
    rows = np.flatnonzero(wanted)
    program.add_column(rows, -np.ones(len(rows)), cost=-1.0)
    columns: dict[tuple[int, ...], int] = {}
    price, worth = np.where(wanted, 1.0 / max(1, len(rows)), 0.0), 0.0
    inverse = np.divide(1.0, size, out=np.zeros(jobs), where=wanted)
    solution = None
    while True:
        found = together.within(price * inverse)
        if found is None:
            return None
        key = tuple(found.tolist())
        if float(price * inverse @ found) <= worth + _BETTER or key in columns:
            break
        on = np.flatnonzero(found)
        columns[key] = program.add_column(
            np.append(on, jobs), np.append(found[on] * inverse[on], 1.0)
        )
        solution = program.solve()
        if solution.column_value[0] >= 1 - _BETTER:
            break
        price = np.maximum(solution.row_dual[:jobs], 0.0)
        worth = float(-solution.row_dual[jobs])
    if solution is None or solution.column_value[0] < 1 - _BETTER:
        return None
    used = [key for key, column in columns.items() if solution.column_value[column] > _BETTER]
    return _exact(used, goal)


def _exact(used: Sequence[Packing], goal: Sequence[Fraction]) -> Chances | None:
    rows: list[Row] = [
        {at: Fraction(each[j]) for at, each in enumerate(used) if each[j]} for j in range(len(goal))
    ]
    rows.append({at: Fraction(1) for at in range(len(used))})
    parts = solve(rows, [*goal, Fraction(1)], len(used))
    if parts is None or min(parts) < 0:
        return None
    return [(each, part) for each, part in zip(used, parts, strict=True) if part]


def _outcome(point: Point, chances: Sequence[Chance]) -> tuple[Point, Lottery]:
    """The point and its lottery, with the packings of each allocation."""
    allocations = (Drawn(probability, machines) for probability, machines in chances)
    found = Lottery.of(allocations, len(point.tasks))
    return replace(point, mixture=found.mixture()), found


def trim(
    machines: Sequence[tuple[int, Packing, int]], tasks: Sequence[int]
) -> tuple[tuple[int, Packing, int], ...]:
    """The packings with so many `tasks` (J,) in all: what is more is left out, on the last
    machines first."""
    left = [(c, list(packing), number) for c, packing, number in machines]
    for j, wanted in enumerate(tasks):
        more = sum(packing[j] * number for _, packing, number in left) - wanted
        if not more:
            continue
        kept: list[tuple[int, list[int], int]] = []
        for c, packing, number in reversed(left):
            empty = min(number, more // packing[j]) if packing[j] else 0
            more -= empty * (packing[j] if empty else 0)
            part = min(more, packing[j]) if number > empty else 0
            more -= part
            for times, off in ((empty, packing[j]), (1 if part else 0, part)):
                if times:
                    kept.append((c, [*packing[:j], packing[j] - off, *packing[j + 1 :]], times))
                    number -= times
            if number:
                kept.append((c, packing, number))
        left = kept[::-1]
    found: dict[tuple[int, Packing], int] = {}
    for c, packing, number in left:
        if any(packing):
            found[c, tuple(packing)] = found.get((c, tuple(packing)), 0) + number
    return tuple((c, packing, number) for (c, packing), number in sorted(found.items()))
