"""The tasks that a job could run with what somebody has, in rationals: where doubles are too close
to tell.

Amounts are in parts of each resource: demands and capacities are whole numbers of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import floor

from fairlead.audit.holdings.arrays import Held, Party
from fairlead.audit.holdings.whole_tasks import Drawn
from fairlead.sharing.analysis.improve_exact import Pair, Space, most_of
from fairlead.sharing.certificate.arrays import Floats, Ints

NONE = Fraction(0)


@dataclass(frozen=True)
class Entry:
    """The amounts that somebody has on the `machines` of a class together; with whole tasks in
    rooms that are alike."""

    at: int
    amount: tuple[Fraction, ...]  # (R,)
    machines: Fraction
    rooms: Fraction | None = None


Has = tuple[Entry, ...]


def what_holds(held: Held, party: Party) -> Has:
    """The amounts that a party holds. Whole tasks: the mean of what may be drawn."""
    if held.drawn:
        return tuple(
            entry
            for each in held.drawn
            for entry in times(containers(held, party, each), each.chance)
        )
    found: dict[int, list[Fraction]] = {}
    for job in party.jobs.tolist():
        need = held.need(job)
        for at, tasks in held.placed.get(job, {}).items():
            amount = found.setdefault(at, [NONE] * len(need))
            for r, each in enumerate(need):
                if each:
                    amount[r] += tasks * each
    count = held.classes.count
    return tuple(Entry(at, tuple(amount), Fraction(int(count[at]))) for at, amount in found.items())


def containers(held: Held, party: Party, drawn: Drawn) -> Has:
    """A container for each whole task, as large as claimed."""
    own = set(party.jobs.tolist())
    return tuple(
        Entry(at, tuple(tasks * need for need in held.need(job)), machines, tasks)
        for (job, at), (tasks, machines) in drawn.rooms.items()
        if job in own
    )


def machines(held: Held, part: Fraction, count: Floats) -> Has:
    """A part of each of so many machines of every class."""
    one = tuple(tuple(map(int, row)) for row in held.classes.one.tolist())
    return _part_of_each(one, tuple(map(int, count.tolist())), part, whole=bool(held.drawn))


@lru_cache(maxsize=16)  # hundreds of tenants of one weight are asked about one after the other
def _part_of_each(
    one: tuple[tuple[int, ...], ...], count: tuple[int, ...], part: Fraction, *, whole: bool
) -> Has:
    found = []
    for at, number in enumerate(count):
        if number:
            amount = tuple(
                (Fraction(floor(each * part)) if whole else each * part) * number
                for each in one[at]
            )
            rooms = Fraction(number) if whole else None
            found.append(Entry(at, amount, Fraction(number), rooms))
    return tuple(found)


def times(has: Has, factor: Fraction, rounded: Callable[[Fraction], Fraction] = lambda x: x) -> Has:
    """So many times the resources, on the same machines; so many times the rooms, rounded."""
    found = []
    for entry in has:
        by, rooms = factor, entry.rooms
        if rooms is not None:
            by, rooms = (
                (rounded(rooms * factor) / rooms if rooms else NONE),
                rounded(rooms * factor),
            )
        amount = tuple(each * by for each in entry.amount)
        found.append(Entry(entry.at, amount, entry.machines, rooms))
    return tuple(found)


def whole_part(amount: Fraction) -> Fraction:
    """Rounded down."""
    return Fraction(floor(amount))


def could_run(held: Held, job: int, has: Has) -> Fraction:
    """The tasks of one job that it would hold, its own number of tasks and limits not counted."""
    need = [(r, each) for r, each in enumerate(held.need(job)) if each]
    total = NONE
    for entry in has:
        if not held.classes.usable[job, entry.at] or entry.rooms == 0:
            continue
        if entry.rooms is None:
            fit = min(entry.amount[r] / each for r, each in need)
        else:
            fit = entry.rooms * min(floor(entry.amount[r] / entry.rooms) // n for r, n in need)
        total += min(fit, entry.machines) if held.seen.spread[job] else fit
    return total


def at_most(held: Held, job: int, tasks: Fraction) -> Fraction:
    """So many tasks, or as many as the job can have."""
    most = held.most(job)
    return tasks if most is None else min(tasks, most)


def satisfied(held: Held, party: Party) -> bool:
    """Does every job of the party have all the tasks that it has?"""
    for job in party.jobs.tolist():
        number = held.number(job)
        if number is None or held.runs(job) < number * (1 - held.numbers.within):
            return False
    return True


def better_share(held: Held, party: Party, has: Has) -> Fraction | None:
    """The largest share that the party could reach with divisible tasks while it runs of every job
    at least what it runs now; None where it could not even do that."""
    jobs = party.jobs
    resources = len(held.seen.resources)
    columns = sorted({entry.at for entry in has})
    row = {at: index for index, at in enumerate(columns)}
    capacity = [[NONE] * resources for _ in columns]
    number = [NONE] * len(columns)
    for entry in has:
        number[row[entry.at]] += entry.machines
        for r, each in enumerate(entry.amount):
            capacity[row[entry.at]][r] += each
    worth: dict[Pair, Fraction] = {}
    most: dict[Pair, Fraction] = {}
    floors, ceilings = [], []
    for k, job in enumerate(jobs.tolist()):
        runs, ceiling = held.runs(job), held.most(job)
        floors.append(runs * (1 - held.within))
        ceilings.append(None if ceiling is None else max(ceiling, runs))
        unit = held.numbers.unit[held.seen.names[job]]
        for at, c in row.items():
            if held.classes.usable[job, at]:
                worth[k, c] = 1 / unit if unit else NONE
                if held.seen.spread[job]:
                    most[k, c] = number[c]
    found = most_of(
        Space(
            demand=[[Fraction(each) for each in held.need(job)] for job in jobs.tolist()],
            capacity=capacity,
            floor=floors,
            ceiling=ceilings,
            worth=worth,
            most=most,
            caps=caps(held, jobs),
        )
    )
    if found is None:
        return None
    total = [NONE] * len(jobs)
    for (k, _), tasks in found.items():
        total[k] += tasks
    return held.worth(jobs, total)


def caps(held: Held, jobs: Ints) -> list[tuple[list[Fraction], Fraction]]:
    """The limits on these jobs: what a task of each takes, and how much there is, or is used."""
    found = []
    for limit in held.limits:
        own = set(limit.jobs.tolist())
        need = [Fraction(held.need(j)[limit.resource] if j in own else 0) for j in jobs.tolist()]
        if any(need):
            runs = (held.runs(j) for j in jobs.tolist())
            now = sum((n * has for n, has in zip(need, runs, strict=True)), NONE)
            found.append((need, max(limit.most, now)))
    return found
