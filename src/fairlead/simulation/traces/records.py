"""The rows of a table in text, with the line and the column in which each field begins."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

QUOTE = '"'


@dataclass(frozen=True)
class Record:
    """A row: its fields, its text as it stands in the file, and the line in which it begins."""

    fields: Sequence[str]
    text: str
    line: int
    delimiter: str
    quoted: bool

    def place(self, index: int) -> tuple[int, int]:
        """The line and the column, from 1, in which a field begins."""
        before = self.text[: next(islice(self._starts(), index, None), 0)]
        lines = before.splitlines(keepends=True) or [""]
        if lines[-1].endswith(("\n", "\r")):
            lines.append("")
        return self.line + len(lines) - 1, len(lines[-1]) + 1

    @property
    def opened(self) -> int | None:
        """The field of which the quotes do not end, or end lines later with text behind them, as
        those of another field begin there; None where all end."""
        field, begins, inside = 0, 0, False
        for now, place, quoted in self._scanned():
            if now > field:
                field, begins = now, place
            if inside and not quoted and len(self.text[begins:place].splitlines()) > 1:
                behind = self.text[place : place + 1]
                if behind not in ("", QUOTE, self.delimiter, "\r", "\n"):
                    return field
            inside = quoted
        return field if inside else None

    @property
    def is_long(self) -> bool:
        """Whether it takes more than one line."""
        return len(self.text.splitlines()) > 1

    def _starts(self) -> Iterator[int]:
        yield 0
        field = 0
        for now, place, _ in self._scanned():
            if now > field:
                yield place
                field = now

    def _scanned(self) -> Iterator[tuple[int, int, bool]]:
        """After each character: the field in which one is, where, and whether in its quotes."""
        field, inside, ended, before = 0, False, False, self.delimiter
        yield 0, 0, False
        for place, letter in enumerate(self.text, 1):
            if inside:
                inside = letter != QUOTE
                ended = not inside
            else:
                # One that follows the end of the quotes stands for itself, and they go on.
                inside = letter == QUOTE and self.quoted and (before == self.delimiter or ended)
                ended = False
                field += letter == self.delimiter
            before = letter
            yield field, place, inside


def records(
    lines: Iterable[str], delimiter: str, *, quoted: bool = True, number: int = 1
) -> Iterator[Record]:
    """The rows of the text; empty lines are none. `number` is that of the first line."""
    csv.field_size_limit(sys.maxsize)  # quotes that do not end take all that follows
    taken: list[str] = []

    def taking() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line

    read = csv.reader(
        taking(),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
    )
    for fields in read:
        if fields:
            yield Record(fields, "".join(taken), number, delimiter, quoted)
        number += len(taken)
        taken.clear()
