"""Corners: where the groups of a component are when it can rise no further, as a structure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from flint import fmpq, fmpq_mat, fmpz, fmpz_mat, nmod_mat

from fairlead.sharing.filling.groups import Groups

Row = tuple[str, int, int]
"""Something that bounds groups: ("on", class, resource), or ("spread", group, class)."""

NONE = fmpq(0)

# The inverse of a matrix of fewer rows is written down in no time.
_SMALL = 64
# Of more equations it is asked first modulo a prime which rows are nothing.
_MANY = 16
_PRIME = 2**61 - 1


@dataclass(frozen=True)
class Corner:
    """A basis: the classes that each group is on, its first place and the others, and the rows that
    are used up. There is one row more than there are other places: they say the level, too."""

    first: Mapping[int, int]
    others: Mapping[int, tuple[int, ...]]  # of the groups that are on several
    tight: tuple[Row, ...]

    @staticmethod
    def of(places: Mapping[int, Sequence[int]], tight: Iterable[Row]) -> Corner:
        """The corner with these places of each group, the first one first."""
        return Corner(
            {g: classes[0] for g, classes in places.items()},
            {g: tuple(classes[1:]) for g, classes in places.items() if len(classes) > 1},
            tuple(tight),
        )

    def about(self, groups: Iterable[int], tight: Iterable[Row]) -> Corner:
        """The part of it that is about these groups, with these rows."""
        own = list(groups)
        return Corner(
            {g: self.first[g] for g in own if g in self.first},
            {g: self.others[g] for g in own if g in self.others},
            tuple(tight),
        )

    def places(self, g: int) -> tuple[int, ...]:
        """All classes that a group is on."""
        return (self.first[g], *self.others.get(g, ()))

    def beyond_first(self) -> Iterator[tuple[int, int]]:
        """The places beyond the first of their groups."""
        for g, classes in self.others.items():
            for c in classes:
                yield g, c


def takes(groups: Groups, row: Row, g: int, c: int) -> int:
    """The amount of a row that a bundle of a group on a class takes."""
    kind, first, second = row
    if kind == "on":
        return int(groups.demand[g, second]) if first == c else 0
    return int((first, second) == (g, c))


def there_is(groups: Groups, row: Row) -> int:
    """The amount that there is of a row."""
    kind, first, second = row
    if kind == "on":
        return int(groups.capacity[first, second])
    return groups.most_on[first, second]


def rows_on(tight: Iterable[Row]) -> dict[int, list[int]]:
    """The numbers of the rows that are about each class."""
    found: dict[int, list[int]] = {}
    for index, (kind, first, second) in enumerate(tight):
        found.setdefault(first if kind == "on" else second, []).append(index)
    return found


Entries = list[dict[int, int]]


def differences(groups: Groups, corner: Corner, tight: Sequence[Row]) -> Entries:
    """For each other place: what a bundle takes there of each row, less what it takes in the first
    place of its group."""
    on = rows_on(tight)
    found: Entries = []
    for g, c in corner.beyond_first():
        entry: dict[int, int] = {}
        for index in on.get(c, ()):
            entry[index] = takes(groups, tight[index], g, c)
        first = corner.first[g]
        for index in on.get(first, ()):
            entry[index] = entry.get(index, 0) - takes(groups, tight[index], g, first)
        found.append({index: value for index, value in entry.items() if value})
    return found


def blocks(entries: Entries, rows: int) -> list[tuple[list[int], list[int]]]:
    """The numbers of the equations and of the rows that hang together; a row that is in none is a
    block by itself."""
    above = list(range(rows))

    def top(index: int) -> int:
        while above[index] != index:
            above[index] = above[above[index]]
            index = above[index]
        return index

    for entry in entries:
        indices = list(entry)
        for index in indices[1:]:
            above[top(index)] = top(indices[0])
    found: dict[int, tuple[list[int], list[int]]] = {}
    for row in range(rows):
        found.setdefault(top(row), ([], []))[1].append(row)
    for number, entry in enumerate(entries):
        if entry:
            found[top(next(iter(entry)))][0].append(number)
    return list(found.values())


def null_vector(entries: Entries, rows: Sequence[int]) -> list[fmpz] | None:
    """Whole numbers, not all 0, by which the rows of each of these equations add up to 0, where
    there is one equation less than there are rows; None where there are several such."""
    if len(rows) == 1:
        return [fmpz(1)]
    at = {row: index for index, row in enumerate(rows)}
    if len(rows) == 2:
        entry = entries[0]
        first, second = entry.get(rows[0], 0), entry.get(rows[1], 0)
        return [fmpz(-second), fmpz(first)] if first or second else None
    numbered = [{at[row]: value for row, value in entry.items()} for entry in entries]
    found = _by_prime(numbered) if len(entries) >= _MANY else None
    if found is not None:
        return found
    for last in range(len(entries), -1, -1):
        found = _with_last(numbered, last)
        if found is not None:
            return found
        if last == len(entries) and _matrix(numbered, len(rows)).rank() < len(entries):
            return None
    return None


def _by_prime(entries: Entries) -> list[fmpz] | None:
    """As `null_vector`, of rows from 0 on: a prime says which of them are nothing, and numbers of
    many digits are made of the others alone. None where that prime does not say."""
    rows = len(entries) + 1
    vectors, several = _modulo(entries, rows).nullspace()
    if several != 1:
        return None
    some = [row for row in range(rows) if int(vectors[row, 0])]
    at = {row: index for index, row in enumerate(some)}
    about = [
        {at[row]: value for row, value in entry.items() if row in at}
        for entry in entries
        if not at.keys().isdisjoint(entry)
    ]
    few = about
    if len(about) >= len(some):
        # As many equations as say it, of which none follows from the others.
        steps, rank = _modulo(about, len(some)).transpose().rref()
        few, number = [], 0
        for index in range(rank):
            while not int(steps[index, number]):
                number += 1
            few.append(about[number])
    found = _with_last(few, len(few)) if len(few) == len(some) - 1 else None
    if found is None or any(sum(found[row] * by for row, by in each.items()) for each in about):
        return None
    whole = [fmpz(0)] * rows
    for row, each in zip(some, found, strict=True):
        whole[row] = each
    return whole


def _with_last(entries: Entries, last: int) -> list[fmpz] | None:
    """Whole numbers, not 0 for the last row; None where the others do not follow from it."""
    size = len(entries)
    matrix, right = fmpz_mat(size, size), fmpz_mat(size, 1)
    for number, entry in enumerate(entries):
        for row, value in entry.items():
            if row == last:
                right[number, 0] = -value
            else:
                matrix[number, row - (row > last)] = value
    try:
        solved = cast(fmpq_mat, matrix.solve(right))
    except ZeroDivisionError:
        return None
    numbers, common = solved.numer_denom()
    found = [numbers[index, 0] for index in range(size)]
    return [*found[:last], common, *found[last:]]


def _modulo(entries: Entries, rows: int) -> nmod_mat:
    table = nmod_mat(len(entries), rows, _PRIME)
    for number, entry in enumerate(entries):
        for row, value in entry.items():
            table[number, row] = value % _PRIME
    return table


def _matrix(entries: Entries, rows: int) -> fmpz_mat:
    matrix = fmpz_mat(len(entries), rows)
    for number, entry in enumerate(entries):
        for row, value in entry.items():
            matrix[number, row] = value
    return matrix


def without_one(groups: Groups, corner: Corner) -> tuple[Row, ...]:
    """The rows that are used up without one that says nothing new when the level is known."""
    entries = differences(groups, corner, corner.tight)
    for equations, rows in blocks(entries, len(corner.tight)):
        if len(rows) == len(equations) + 1:
            found = null_vector([entries[number] for number in equations], rows)
            if found is not None:
                spare = next(row for row, each in zip(rows, found, strict=True) if each)
                return corner.tight[:spare] + corner.tight[spare + 1 :]
    return corner.tight


def solve(entries: Entries, rows: Sequence[int], right: Sequence[fmpq]) -> list[fmpq] | None:
    """The amounts in each of these equations' places that make the rows add up to the right-hand
    sides, where there are as many equations as rows; None where the rows do not say."""
    size = len(rows)
    if size == 0:
        return []
    at = {row: index for index, row in enumerate(rows)}
    if size == 1:
        by = entries[0].get(rows[0], 0)
        return [right[0] / by] if by else None
    matrix = fmpz_mat(size, size)
    for number, entry in enumerate(entries):
        for row, value in entry.items():
            matrix[at[row], number] = value
    common = fmpz(1)
    for each in right:
        common = common.lcm(each.q)
    wanted = fmpz_mat(size, 1, [each.p * (common // each.q) for each in right])
    try:
        if size < _SMALL:
            # No number of thousands of digits is looked at more often than it must.
            numbers, below = cast(fmpq_mat, matrix.inv()).numer_denom()
            product = numbers * wanted
            return [fmpq(product[index, 0], below * common) for index in range(size)]
        solved = matrix.solve(wanted)
    except ZeroDivisionError:
        return None
    return [solved[index, 0] / common for index in range(size)]
