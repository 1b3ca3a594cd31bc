"""The places of the tasks: one system of equations says how many, and that they fit is seen
exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import gcd

import numpy as np
from flint import fmpq

from fairlead.model.errors import CertificateError
from fairlead.model.proof import Places, Proof
from fairlead.sharing.certificate.arithmetic import NONE, Equation, nearest, solution
from fairlead.sharing.certificate.rounds import Filling, Terms
from fairlead.sharing.certificate.scarce import Row, Rows, described
from fairlead.sharing.numbers.enclosure import FEW, NEAR, enclose
from fairlead.sharing.numbers.sums import total

# Loads that doubles say are less than what there is by more than this, relative, are less.
SURE = 1e-9


@dataclass(frozen=True)
class Entry:
    """Jobs that are in the same places, in bundles: a task of each job is so many, and a bundle
    takes whole numbers without a common divisor."""

    jobs: tuple[int, ...]
    size: tuple[int, ...]
    columns: tuple[int, ...]
    bundle: tuple[int, ...]  # (R,)
    has: Terms  # bundles in all


Amounts = dict[tuple[int, int], fmpq]
"""By entry and column."""


def tasks_of(filling: Filling) -> list[fmpq]:
    """(J,) the tasks of each job."""
    found = [NONE] * len(filling.scale)
    for job, terms in filling.share.items():
        found[job] = sum((level * times for level, times in terms), NONE) * filling.scale[job]
    return found


def check_places(filling: Filling, proof: Proof, *, exact: bool = False) -> Amounts:
    """The bundles of each entry of the proof are on each class, or (unless they are to be
    `exact`) numbers as near to that as doubles can tell. Raises CertificateError where that is not
    said, or not possible."""
    rows = filling.rows
    entries = [
        _entry(filling, places, f"entry {n} of the places")
        for n, places in enumerate(proof.places, 1)
    ]
    named = [job for entry in entries for job in entry.jobs]
    if len(set(named)) < len(named):
        raise CertificateError("a job is in two of the places")
    if missing := {job for job, terms in filling.share.items() if _some(terms)} - set(named):
        raise CertificateError(f"job {rows.seen.names[min(missing)]} has tasks, and no place")
    full = rows.all_rows(proof.full, "what is full")
    for row, scarce in zip(full, proof.full, strict=True):
        if row[0] not in ("on", "spread"):
            raise CertificateError(f"what is full: {described(scarce)} says no place")
    amounts, off = _solve(rows, entries, full, exact=exact)
    used_up = _used_up(filling, full)
    try:
        _fits(rows, entries, amounts, off, used_up)
    except CertificateError:
        if not off:
            raise
        # Too near for doubles to tell, if not wrong.
        amounts, off = _solve(rows, entries, full, exact=True)
        _fits(rows, entries, amounts, off, used_up)
    return amounts


def _used_up(filling: Filling, full: Sequence[Row]) -> set[Row]:
    """The rows that the tasks use up exactly: what they are solved for, and the last row of a round
    that had a price for each. At its prices tasks cost what they are worth, in places that are
    open, which in all is what there is (that is what the level says); so what is left costs nothing
    in all."""
    found = set(full)
    for rows in filling.priced:
        missing = [row for row in rows if row not in found]
        if len(missing) == 1:
            found.add(missing[0])
    return found


def check_numbers(rows: Rows, tasks: Sequence[fmpq]) -> None:
    """Checks that nobody has more tasks than there are, and that no limit is passed."""
    for job, number in enumerate(rows.number):
        if number is not None and tasks[job] > number:
            raise CertificateError(
                f"job {rows.seen.names[job]} runs {nearest(tasks[job]):.12g} tasks and has only"
                f" {nearest(number):.12g}"
            )
    for cap in rows.tree.caps:
        used = total([tasks[job] * takes for job, takes in cap.takes.items()])
        if used > cap.amount:
            raise CertificateError(f"the limit of {cap.tenant} on {cap.resource} is exceeded")


def _some(terms: Terms) -> bool:
    return sum((level * times for level, times in terms), NONE) != 0


def _entry(filling: Filling, places: Places, where: str) -> Entry:
    rows = filling.rows
    if not places.jobs or not places.classes:
        raise CertificateError(f"{where}: no job, or no class")
    jobs = [rows.job(name, where) for name in places.jobs]
    columns = rows.columns(places.classes, jobs[0], where)
    sizes = []
    bundle: tuple[int, ...] = ()
    has: Terms = []
    for job in jobs:
        needs = rows.seen.need[job].tolist()
        size = reduce(gcd, needs)
        each = tuple(need // size for need in needs)
        if bundle and each != bundle:
            raise CertificateError(f"{where}: demands are not in the same proportion")
        if len(jobs) > 1 and rows.spreads and rows.seen.spread[job]:
            raise CertificateError(f"{where}: a job that spreads has a place of its own")
        if not filling.open[job, columns].all():
            raise CertificateError(
                f"{where}: job {rows.seen.names[job]} is where a round has ruled it out"
            )
        bundle = each
        sizes.append(size)
        unit = filling.scale[job] * size
        has += [(level, times * unit) for level, times in filling.share.get(job, [])]
    return Entry(tuple(jobs), tuple(sizes), tuple(columns), bundle, has)


def _takes(row: Row, entry: Entry, column: int) -> int:
    kind, first, second = row
    if kind == "on":
        return entry.bundle[second] if first == column else 0
    return int(first == column and second == entry.jobs[0])


def _there_is(rows: Rows, row: Row, size: int) -> fmpq:
    return rows.there_is(row) * size if row[0] == "spread" else rows.there_is(row)


def _solve(
    rows: Rows, entries: Sequence[Entry], full: Sequence[Row], exact: bool
) -> tuple[Amounts, Amounts]:
    """The bundles in each place, by which all of `full` is used up, and how far off those are that
    are not exact."""
    unknowns = [(e, c) for e, entry in enumerate(entries) for c in entry.columns[1:]]
    number = {pair: index for index, pair in enumerate(unknowns)}
    size_of = {entry.jobs[0]: entry.size[0] for entry in entries}
    by_column: dict[int, list[int]] = {}
    for e, entry in enumerate(entries):
        for column in entry.columns:
            by_column.setdefault(column, []).append(e)
    equations: list[Equation] = []
    right: list[fmpq] = []
    for row in full:
        equation: dict[int, int] = {}
        taken: dict[int, tuple[fmpq, list[fmpq]]] = {}
        for e in by_column.get(row[1], ()):
            entry = entries[e]
            takes = _takes(row, entry, row[1])
            if not takes:
                continue
            if entry.columns[0] != row[1]:
                index = number[e, row[1]]
                equation[index] = equation.get(index, 0) + takes
                continue
            # What is there is all that the entry has, less what is elsewhere.
            for column in entry.columns[1:]:
                index = number[e, column]
                equation[index] = equation.get(index, 0) - takes
            for level, times in entry.has:
                taken.setdefault(id(level), (level, []))[1].append(times * takes)
        there = _there_is(rows, row, size_of.get(row[2], 1))
        right.append(there - total([level * total(each) for level, each in taken.values()]))
        equations.append(equation)
    found: dict[int, fmpq] = {}
    far: dict[int, fmpq] = {}
    for some, columns in _blocks(equations, len(unknowns)):
        own, wanted = [equations[i] for i in some], [right[i] for i in some]
        near = None if exact or len(some) < FEW else _near(own, wanted, columns)
        if near is not None:
            part, radius = near
            far |= dict.fromkeys(columns, radius)
        else:
            solved = solution(own, wanted, columns)
            if solved is None:
                raise CertificateError("what is full does not say how many tasks are where")
            part = solved
        found |= part
    amounts = {pair: found[index] for pair, index in number.items()}
    off = {pair: far[index] for pair, index in number.items() if index in far}
    for e, entry in enumerate(entries):
        rest = sum((level * times for level, times in entry.has), NONE)
        for column in entry.columns[1:]:
            rest = rest - amounts[e, column]
            if (e, column) in off:
                first = e, entry.columns[0]
                off[first] = off.get(first, NONE) + off[e, column]
        amounts[e, entry.columns[0]] = rest
    return amounts, off


def _near(
    equations: Sequence[Equation], right: Sequence[fmpq], unknowns: Sequence[int]
) -> tuple[dict[int, fmpq], fmpq] | None:
    at = {unknown: column for column, unknown in enumerate(unknowns)}
    if len(equations) != len(at):
        return None
    cells = (
        (row, at[unknown], factor)
        for row, equation in enumerate(equations)
        for unknown, factor in equation.items()
    )
    near = enclose(cells, right)
    return None if near is None else (dict(zip(unknowns, near[0], strict=True)), near[1])


def _blocks(equations: Sequence[Equation], unknowns: int) -> list[tuple[list[int], list[int]]]:
    """The equations and the unknowns that hang together."""
    above = list(range(unknowns))

    def top(at: int) -> int:
        while above[at] != at:
            above[at] = above[above[at]]
            at = above[at]
        return at

    for equation in equations:
        own = [unknown for unknown, factor in equation.items() if factor]
        for unknown in own[1:]:
            above[top(unknown)] = top(own[0])
    found: dict[int, tuple[list[int], list[int]]] = {}
    for unknown in range(unknowns):
        found.setdefault(top(unknown), ([], []))[1].append(unknown)
    for index, equation in enumerate(equations):
        own = [unknown for unknown, factor in equation.items() if factor]
        if not own:
            raise CertificateError("what is full does not say how many tasks are where")
        found[top(own[0])][0].append(index)
    return list(found.values())


def _fits(
    rows: Rows, entries: Sequence[Entry], amounts: Amounts, off: Amounts, full: set[Row]
) -> None:
    """Raises CertificateError where a place may have less than nothing, or a class not enough, with
    amounts that are so far off. What is `full` is used up: that is what the amounts solve."""
    names = rows.seen.names
    on: dict[int, list[tuple[int, fmpq]]] = {}
    for (e, column), amount in amounts.items():
        entry = entries[e]
        more = off.get((e, column), NONE)
        if amount < more * NEAR:
            raise CertificateError(f"job {names[entry.jobs[0]]} has less than no tasks on a class")
        on.setdefault(column, []).append((e, amount + more))
        if rows.seen.spread[entry.jobs[0]] and rows.spreads:
            most = fmpq(int(rows.classes.count[column]) * entry.size[0])
            if amount + more > most and ("spread", column, entry.jobs[0]) not in full:
                raise CertificateError(
                    f"job {names[entry.jobs[0]]} has more tasks on a class than it has machines"
                )
    for column, there in on.items():
        near = np.array([nearest(amount) for _, amount in there])
        needs = np.array([[nearest(fmpq(need)) for need in entries[e].bundle] for e, _ in there])
        with np.errstate(over="ignore", invalid="ignore"):  # then it is not less than anything
            load = near @ needs
        for r, name in enumerate(rows.seen.resources):
            most = rows.there_is(("on", column, r))
            room = nearest(most) * (1.0 - SURE)
            if ("on", column, r) in full or load[r] < room < np.inf:
                continue
            used = total([amount * entries[e].bundle[r] for e, amount in there])
            if used > most:
                number = next(n for n, at in rows.classes.column.items() if at == column)
                raise CertificateError(
                    f"the tasks on class {number} need {nearest(used / rows.seen.parts[r]):.12g}"
                    f" of {name}, of which there is"
                    f" {nearest(most / rows.seen.parts[r]):.12g}"
                )
