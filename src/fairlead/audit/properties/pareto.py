"""Pareto optimality: could anybody run more without anybody running less?"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fairlead.audit.finding import Finding
from fairlead.audit.holdings import exact
from fairlead.audit.holdings.arrays import POOLED, Held, Party, hold
from fairlead.audit.holdings.bundle import LARGE
from fairlead.audit.holdings.slack import shortfall
from fairlead.audit.outcome import Options, Outcome, Shown
from fairlead.audit.properties.base import Property, holds, not_applicable, not_found, violated
from fairlead.audit.properties.tenant_shares import amounts
from fairlead.model.report import rounded
from fairlead.model.unrounded import IN_DOUBLES
from fairlead.sharing.analysis.improve import Cap, Room, best
from fairlead.sharing.analysis.improve_exact import Pair, Space, most_of
from fairlead.sharing.analysis.improve_whole import Rooms, best_mean, best_whole
from fairlead.sharing.certificate.arrays import Bools, Floats, Ints
from fairlead.sharing.policy import View

NAME = "pareto-optimality"

MOST_ASKED = 64
"""With whole tasks so many tenants are each asked what they could have: a program for each."""

NONE = Fraction(0)

Tasks = list[Fraction]
"""Of each job."""

NEARLY = "to a millionth: there are too many places for a program in rationals"
UNSURE = "there are too many packings to be sure: those that prices point at were tried"


def check(outcome: Outcome, options: Options) -> Finding:  # noqa: ARG001  exact: nothing to search
    """Whether anybody could run more while nobody runs less (TSF, Definition 4).

    An answer of a policy that fills all machines together, with its proof, is optimal: who gains
    would have risen when it froze, since nobody has less than then. Else one linear program: of all
    allocations that give every job at least what it has, the one with the largest sum of gains,
    each in parts of what its job has or should have by its weight, in rationals unless there are
    very many places. The witness is that better allocation. Whole tasks: the program in whole
    numbers of machines with each packing, or, before a lottery is drawn, over all that lotteries
    give in expectation.
    """
    held = hold(outcome)
    if not held.parties:
        return not_applicable(NAME, outcome, "nobody can run anything")
    if held.tasks is None:
        return not_applicable(NAME, outcome, POOLED.format(policy=outcome.rule.spec))
    counts = (("tenants", len(held.parties)), ("could gain", 0))
    if proved_fair(held):
        return holds(NAME, outcome, counts=counts)
    better, proved = improved_whole(held) if held.drawn else (improved(held), True)
    gaining = [
        party for party in held.parties if any(better[j] > held.runs(int(j)) for j in party.jobs)
    ]
    if held.drawn and gaining and len(held.parties) <= MOST_ASKED:
        gaining = list(held.parties)  # whoever could gain, and not only who does so with the others
    found: list[tuple[tuple[str, ...], None, Shown]] = []
    for party in gaining:
        more = _most_for(held, party, better) if len(gaining) <= MOST_ASKED else better
        shown = _show(held, party.name, more)
        if shown is not None and shown.slack > 0:
            found.append(((party.name,), None, shown))
    counts = (("tenants", len(held.parties)), ("could gain", len(found)))
    note = NEARLY if _is_large(held) else ""
    if found:
        return violated(NAME, outcome, found, counts=counts, note=note)
    if not proved:
        return not_found(NAME, outcome, 1, counts=counts, note=UNSURE)
    return holds(NAME, outcome, counts=counts, note=note)


def measure(outcome: Outcome, _changed: Outcome | None, who: tuple[str, ...]) -> Shown | None:
    """The tasks that the tenant would run in the better allocation, and those that it runs."""
    held = hold(outcome)
    party = next((each for each in held.parties if (each.name,) == who), None)
    if held.tasks is None or party is None:
        return None
    return _show(held, party.name, _most_for(held, party, None))


def proved_fair(held: Held) -> bool:
    """Whether this is the answer of a policy that fills all machines together, exactly."""
    proof = held.outcome.allocation.proof
    return (
        not held.drawn
        and not held.within
        and proof is not None
        and proof.view == View.MACHINES.value
    )


def _in_doubles(held: Held) -> bool:
    """Whether the program is one in doubles: numbers are not known better, or it is too large for
    rationals. Programs in whole numbers are exact, but for the mean of what may be drawn."""
    if held.drawn:
        return held.ex_ante
    return bool(held.within) or _is_large(held)


def _is_large(held: Held) -> bool:
    return not held.drawn and int(np.count_nonzero(held.classes.usable)) > LARGE


def _most_for(held: Held, party: Party, known: Tasks | None) -> Tasks:
    """A better allocation for the party, `known` where there is one; in whole tasks the one with
    the most tasks of the job of its that could gain most."""
    if not held.drawn:
        return improved(held) if known is None else known
    found = [improved_whole(held, int(job))[0] for job in party.jobs]
    gains = [
        shortfall(better[job], held.runs(int(job)), NONE)
        for better, job in zip(found, party.jobs, strict=True)
    ]
    return found[int(np.argmax(gains))]


def improved_whole(held: Held, job: int | None = None) -> tuple[Tasks, bool]:
    """(J,) the whole tasks of each job where nobody has less and the gains are as large as can be,
    of one job or of all in sum; and whether that is proved. In expectation before a draw."""
    runs = np.flatnonzero(held.classes.runs)
    classes, seen = held.classes, held.seen
    floor = held.total[runs]
    ceiling = np.maximum(seen.tasks[runs], floor)
    alone = np.where(classes.usable, classes.holds, 0.0)[runs] @ classes.count
    worth = np.ones(len(runs)) if job is None else (runs == job).astype(float)
    if held.ex_ante and job is None:  # in parts of what they have
        worth = 1.0 / np.maximum(floor, alone / len(runs))
    rooms = Rooms(
        demand=seen.demand[runs].astype(np.int64),
        capacity=classes.capacity.astype(np.int64),
        count=classes.count,
        most=np.where(classes.usable, classes.holds, 0.0)[runs].astype(np.int64),
        floor=floor,
        ceiling=np.minimum(ceiling, np.maximum(alone, floor)),
        worth=worth,
        caps=_caps(held, runs, np.arange(len(runs)), len(runs)),
    )
    start = [
        (at, tuple(row[j] for j in runs.tolist()))
        for each in held.drawn
        for at, row, _ in each.packings
    ]
    if held.ex_ante:
        drawn = [each.tasks.sum(axis=1)[runs] for each in held.drawn]
        found = best_mean(rooms, start, drawn)
    else:
        found = best_whole(rooms, start)
    better = [held.runs(j) for j in range(len(held.total))]
    if found.tasks is not None:
        gain = found.tasks - floor
        if held.ex_ante:  # by a program in doubles
            gain[gain <= float(IN_DOUBLES) * np.maximum(floor, alone / len(runs))] = 0.0
        else:
            gain = np.rint(gain)
        for j, more in zip(runs.tolist(), gain.tolist(), strict=True):
            better[j] += Fraction(max(more, 0.0))
    return better, found.proved


def improved(held: Held) -> Tasks:
    """(J,) the tasks of each job in the best allocation in which nobody has less."""
    if _in_doubles(held):
        return [Fraction(each) for each in _nearly_improved(held).tolist()]
    numbers = [held.runs(j) for j in range(len(held.total))]
    runs = np.flatnonzero(held.classes.runs)
    alone = np.where(held.classes.usable, held.classes.holds, 0.0) @ held.classes.count
    worth: dict[Pair, Fraction] = {}
    for k, j in enumerate(runs.tolist()):
        unit = Fraction(1 / max(float(numbers[j]), float(alone[j]) / len(runs)))
        worth |= {(k, c): unit for c in np.flatnonzero(held.classes.usable[j]).tolist()}
    found = most_of(
        Space(
            demand=[[Fraction(each) for each in held.need(j)] for j in runs.tolist()],
            capacity=[[Fraction(int(each)) for each in row] for row in held.classes.all],
            floor=[numbers[j] for j in runs.tolist()],
            ceiling=[held.number(j) for j in runs.tolist()],
            worth=worth,
            most={
                (k, c): Fraction(int(held.classes.count[c]))
                for k, c in worth
                if held.seen.spread[runs[k]]
            },
            caps=exact.caps(held, runs),
        )
    )
    assert found is not None  # the allocation itself gives every job its floor
    better = list(numbers)
    for j in runs.tolist():
        better[j] = Fraction(0)
    for (k, _), much in found.items():
        better[int(runs[k])] += much
    return better


def _nearly_improved(held: Held) -> Floats:
    """The same in doubles, where numbers are not known better or there are very many places."""
    assert held.tasks is not None  # the callers have seen to that
    seen, tasks = held.seen, held.tasks
    runs = np.flatnonzero(held.classes.runs)
    part = np.zeros(len(held.total))
    for party, weight in zip(held.parties, held.weight, strict=True):
        part[party.jobs] = weight / len(party.jobs)
    alone = np.where(held.classes.usable, held.classes.holds, 0.0) @ held.classes.count
    size = np.maximum(held.total, part * alone)
    kinds, of_job = _kinds(held, runs)
    count = len(kinds)

    def together(values: Floats) -> Floats:
        total: Floats = np.bincount(of_job, values[runs], minlength=count).astype(float)
        return total

    first = runs[kinds]
    placed = np.zeros((count, tasks.shape[1]))
    np.add.at(placed, of_job, tasks[runs])
    used = np.zeros_like(held.classes.total)
    for r in range(used.shape[1]):
        used[:, r] = tasks.T @ seen.demand[:, r]
    floor, unit = together(held.total), together(size)
    # What is there, or what the allocation uses where rounding made that a trifle more.
    found = best(
        Room(
            demand=seen.demand[first],
            usable=held.classes.usable[first],
            capacity=np.maximum(held.classes.total, used),
            most=np.where(
                seen.spread[first][:, None],
                np.maximum(held.classes.count[None, :], placed),
                np.inf,
            ),
            floor=floor,
            ceiling=np.maximum(together(seen.tasks), floor),
            unit=unit,
            worth=np.broadcast_to(1.0 / unit[:, None], placed.shape),
            caps=_caps(held, runs, of_job, count),
        ),
        (placed > 0) | _free(held, used)[None, :],
    )
    assert found is not None  # the allocation itself gives every job its floor
    gain = found.sum(axis=1) - floor
    # Who has nothing at all would else gain infinitely by a rounding: the rows of the program hold
    # to 1e-9 of what others have, which can be 1e-8 of what this one should.
    gain[gain <= float(IN_DOUBLES) * unit] = 0.0
    room = np.where(np.isfinite(seen.tasks), np.maximum(seen.tasks - held.total, 0.0), np.inf)
    better: Floats = held.total.copy()
    for kind in np.flatnonzero(gain > 0):
        left = float(gain[kind])
        for job in runs[of_job == kind]:  # alike: any of them may take it
            more = min(left, float(room[job]))
            better[job] += more
            left -= more
    return better


def _kinds(held: Held, runs: Ints) -> tuple[Ints, Ints]:
    """Jobs that are alike gain together: the first of each kind (an index into `runs`), and the
    kind of each. A job that spreads is alike with nobody."""
    known: dict[tuple[object, ...], int] = {}
    first: list[int] = []
    kind: list[int] = []
    for place, job in enumerate(runs):
        limits = tuple(k for k, limit in enumerate(held.limits) if job in limit.jobs)
        key: tuple[object, ...] = (
            held.seen.demand[job].tobytes(),
            held.classes.usable[job].tobytes(),
            limits,
            int(job) if held.seen.spread[job] else None,
        )
        if key not in known:
            known[key] = len(first)
            first.append(place)
        kind.append(known[key])
    return np.array(first), np.array(kind)


def _caps(held: Held, runs: Ints, of_job: Ints, count: int) -> tuple[Cap, ...]:
    found = []
    for limit in held.limits:
        need = np.zeros(count)
        mine = np.isin(runs, limit.jobs)
        need[of_job[mine]] = held.seen.demand[runs[mine], limit.resource]
        now = float(held.seen.demand[limit.jobs, limit.resource] @ held.total[limit.jobs])
        found.append(Cap(need, max(limit.amount, now)))
    return tuple(cap for cap in found if cap.need.any())


def _free(held: Held, used: Floats) -> Bools:
    """(C,) the classes on which something of every resource that they have is left."""
    total = held.classes.total
    left = np.where(total > 0, total - used, np.inf)
    free: Bools = (left > float(IN_DOUBLES) * total).min(axis=1)
    return free


def _show(held: Held, tenant: str, better: Tasks) -> Shown | None:
    party = next((each for each in held.parties if each.name == tenant), None)
    if party is None:
        return None
    # The job that gains most tells it: the others of the tenant have at least what they had.
    jobs = party.jobs.tolist()
    within = IN_DOUBLES if _in_doubles(held) else NONE
    gains = [shortfall(better[j], held.runs(j), within) for j in jobs]
    job = jobs[int(np.argmax(gains))]
    name, has, could = held.seen.names[job], held.runs(job), better[job]
    now, then = amounts(has, could, "tasks")
    return Shown(
        before=float(could),
        after=float(has),
        slack=max(gains),
        sentence=(f"{name} gets {now}; it could have {then} while nobody has less."),
        jobs=tuple(
            (name, rounded(float(tasks)) or 0.0)
            for name, tasks in zip(held.seen.names, better, strict=True)
        ),
    )


PROPERTY = Property(
    NAME, "nobody could run more without another running less", check, measure, after_draw=True
)
