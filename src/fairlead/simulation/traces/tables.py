"""Tables in text files, read in parts as arrays; what is wrong in one is told with its line."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Any, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from fairlead.files import called, unreadable
from fairlead.model.errors import InputError, Mistake, Place
from fairlead.model.quantity import exact
from fairlead.model.words import counted
from fairlead.simulation.traces.opening import (
    UNREADABLE,
    as_text,
    is_empty,
    one_line_each,
    streamed,
    undecodable,
)
from fairlead.simulation.traces.records import Record, records
from fairlead.simulation.workload import Ints

MISSING = -1
"""Number in an array where the file has nothing."""

BLOCK = 8 << 20
"""Bytes of text that are in memory at a time."""

LARGEST = 2**62
"""Amounts in units stay below this, so that they are whole numbers of 64 bits."""


class Kind(Enum):
    """Kinds of columns, and so of the numbers in their arrays."""

    WHOLE = "a whole number"  # the number
    AMOUNT = "an amount"  # multiples of the column's unit
    TEXT = "text"  # the place of the text in a vocabulary
    MOMENT = "a moment such as 2017-10-09 07:01:55"  # microseconds since 1970
    FLAG = "true or false"  # 1 or 0


@dataclass(frozen=True)
class Column:
    """A column of a table. A field of one that is not `required` may be empty: MISSING."""

    name: str
    kind: Kind
    required: bool = True
    unit: Fraction = Fraction(1)
    most: int = LARGEST  # of a whole number; the least is 0
    clipped: bool = False  # a whole number beyond LARGEST is LARGEST, and no mistake
    binary: bool = False  # the text stands for the nearest double, not for itself


@dataclass(frozen=True)
class Layout:
    """Shape of a table: its columns in order or, where it has a header, by name.

    `width` is the number of fields of a line without header; columns named "" are not read.
    """

    columns: tuple[Column, ...]
    header: bool = True
    delimiter: str = ","


@dataclass
class Vocabulary:
    """The distinct texts of a column; a code is the place in `texts`."""

    texts: list[str] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)

    def forget(self) -> None:
        """Begins anew: codes given so far mean nothing any more."""
        self.texts.clear()
        self.codes.clear()

    def code(self, text: str) -> int:
        """The text's code, a new one if it is new."""
        code = self.codes.setdefault(text, len(self.texts))
        if code == len(self.texts):
            self.texts.append(text)
        return code


_SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab"}

Part = Mapping[str, Ints]
"""Some consecutive lines of a table: an array a column."""


def read_rows(
    paths: Sequence[str], layout: Layout, words: Mapping[str, Vocabulary]
) -> dict[str, Ints]:
    """All rows of files of one layout, one after the other. Raises InputError."""
    read = [part for path in paths for part in parts(path, layout, words)]
    return {name: np.concatenate([part[name] for part in read]) for name in read[0]}


def parts(
    path: str, layout: Layout, words: Mapping[str, Vocabulary] | None = None
) -> Iterator[Part]:
    """The table in parts, in its order. Texts are coded by the vocabularies in `words`, one for
    each column of texts. Raises InputError with file and line."""
    codes: dict[str, dict[str, int]] = {column.name: {} for column in layout.columns}
    rows = 0
    try:
        with streamed(path) as stream:
            for batch in _reader(stream, layout):
                rows += batch.num_rows
                yield {
                    column.name: _array(batch.column(column.name), column, codes, words or {})
                    for column in layout.columns
                    if column.name
                }
    except (pa.ArrowException, *UNREADABLE, _WrongError) as error:
        raise _explain(path, layout, error) from error
    if layout.header and not one_line_each(path, rows + 1):
        _refuse_quotes(path, layout)


def arrays(
    batch: Any, columns: Sequence[Column], words: Mapping[str, Vocabulary], path: str
) -> Part:
    """The rows of a table that was not read from text, as `parts` gives them. Raises InputError
    where a column does not hold what it should."""
    found: dict[str, Ints] = {}
    for column in columns:
        values = batch.column(column.name)
        try:
            if column.kind is Kind.TEXT:
                values = values.cast(pa.string()).dictionary_encode()
            elif column.kind is Kind.WHOLE:
                values = values.cast(pa.int64())
            found[column.name] = _array(values, column, {}, words)
        except (pa.ArrowException, _WrongError) as error:
            what = f"{path}: the column {column.name} holds what is not {column.kind.value}"
            raise InputError(what, f"write {column.kind.value}") from error
    return found


class _WrongError(Exception):
    """A field is not what its column holds; the line is looked for only then."""


def _reader(stream: Any, layout: Layout) -> Any:
    named = [column for column in layout.columns if column.name]
    kinds = {
        Kind.WHOLE: pa.int64(),
        Kind.AMOUNT: pa.dictionary(pa.int32(), pa.string()),
        Kind.TEXT: pa.dictionary(pa.int32(), pa.string()),
        Kind.MOMENT: pa.timestamp("us"),
        Kind.FLAG: pa.bool_(),
    }
    names = [column.name or f"#{place}" for place, column in enumerate(layout.columns)]
    return pacsv.open_csv(
        stream,
        read_options=pacsv.ReadOptions(
            block_size=BLOCK, column_names=None if layout.header else names
        ),
        parse_options=pacsv.ParseOptions(
            delimiter=layout.delimiter, quote_char='"' if layout.header else False
        ),
        convert_options=pacsv.ConvertOptions(
            column_types={
                column.name: pa.uint64() if column.clipped else kinds[column.kind]
                for column in named
            },
            include_columns=[column.name for column in named],
            null_values=[""],
            true_values=["true"],
            false_values=["false"],
            strings_can_be_null=True,
        ),
    )


def _array(
    values: Any,
    column: Column,
    codes: Mapping[str, dict[str, int]],
    words: Mapping[str, Vocabulary],
) -> Ints:
    if column.required and values.null_count:
        raise _WrongError
    if column.kind in (Kind.AMOUNT, Kind.TEXT):
        return _encode(values, column, codes.get(column.name, {}), words)
    if column.clipped:
        values = pc.min_element_wise(values, pa.scalar(LARGEST, pa.uint64()), skip_nulls=False)
    plain = values.cast(pa.int64())
    array: Ints = np.asarray(pc.fill_null(plain, MISSING))
    if column.kind is Kind.WHOLE and len(array):
        there = array if not values.null_count else np.asarray(pc.drop_null(plain))
        if len(there) and (there.min() < 0 or there.max() > column.most):
            raise _WrongError
    return array


def _encode(
    values: Any, column: Column, known: dict[str, int], words: Mapping[str, Vocabulary]
) -> Ints:
    """Each distinct text is looked at once."""
    texts = values.dictionary.to_pylist()
    table = np.full(len(texts) + 1, MISSING, dtype=np.int64)
    for place, text in enumerate(texts):
        if column.kind is Kind.TEXT:
            table[place] = words[column.name].code(text)
            continue
        if text not in known:
            known[text] = _amount(text, column)
        table[place] = known[text]
    indices = np.asarray(pc.fill_null(values.indices, len(texts)))
    found: Ints = table[indices]
    return found


def _amount(text: str, column: Column) -> int:
    units = _units(text, column)
    if isinstance(units, Mistake):
        raise _WrongError
    return units


def _units(text: str, column: Column) -> int | Mistake:
    """The amount in units, or what is wrong with it."""
    try:
        amount = exact(text)
    except InputError as error:
        return Mistake(f"{column.name} is {text!r}, which is no amount", error.mistakes[0].right)
    if column.binary:
        amount = Fraction(float(amount))
    units = amount / column.unit
    if amount < 0:
        return Mistake(f"{column.name} is {text}, which is less than 0", "write 0 or more")
    if units.denominator != 1:
        return Mistake(
            f"{column.name} is {text}, which is finer than its unit {column.unit}",
            "round it, or choose a finer unit",
        )
    if units > LARGEST:
        return Mistake(f"{column.name} is {text}, which is too large", "choose a larger unit")
    return int(units)


def _explain(path: str, layout: Layout, error: Exception) -> InputError:
    """The error as a sentence with its line, which a second reading finds."""
    try:
        if is_empty(path):
            return InputError(f"{called(path)} is empty", "give a file with lines")
        with as_text(path) as file:
            mistake = _first_mistake(path, layout, file)
    except UnicodeDecodeError:
        return InputError(undecodable(path))
    except UNREADABLE as wrong:
        return InputError(unreadable(path, wrong))
    if mistake is None:
        reason = " ".join(str(error).split())
        what = f"{called(path)} cannot be read: {reason}"
        mistake = Mistake(what, "check the path and its permissions")
    return InputError(mistake)


def place_of(path: str, layout: Layout, row: int, name: str) -> Place:
    """Where the field of a column stands in a row (from 0) of a table with a header, which was read
    as it should be. What is not read of it need not be UTF-8."""
    with as_text(path, "replace") as file:
        rows = records(file, layout.delimiter)
        index = list(next(rows).fields).index(name)
        found = next(itertools.islice(rows, row, None))
        return Place(called(path), *found.place(index))


def _refuse_quotes(path: str, layout: Layout) -> None:
    """Raises InputError where quotes do not end: what follows them was read as text of a field."""
    row = None
    with as_text(path, "replace") as file:
        for row in records(file, layout.delimiter):
            if row.is_long and row.opened is not None:
                break
    if row is not None and row.opened is not None:
        raise InputError(_not_ended(path, row, row.opened))


def _not_ended(path: str, row: Record, index: int) -> Mistake:
    at = Place(called(path), *row.place(index))
    return Mistake("the quotes that begin here do not end", 'write another "', at)


def _first_mistake(path: str, layout: Layout, file: TextIO) -> Mistake | None:
    rows = records(file, layout.delimiter, quoted=layout.header)
    columns: Sequence[Column | None] = layout.columns
    width = len(layout.columns)
    if layout.header:
        names = next(rows).fields
        by_name = {column.name: column for column in layout.columns}
        for name in by_name:
            if name not in names:
                right = f"the first line names {', '.join(names)}"
                return Mistake(f"the column {name} is missing", right, Place(called(path), 1, 1))
        columns = [by_name.get(name) for name in names]
        width = len(names)
    for row in rows:
        if len(row.fields) != width:
            if row.opened is not None:
                return _not_ended(path, row, row.opened)
            what = f"the line has {counted(len(row.fields), 'field')}, not {width}"
            right = "write one field for each column"
            if layout.header and len(row.fields) > width:
                right += f", and one that holds {_SEPARATORS[layout.delimiter]} in quotes"
            return Mistake(what, right, Place(called(path), row.line, 1))
        for index, (text, column) in enumerate(zip(row.fields, columns, strict=True)):
            if column is None or not column.name:
                continue
            mistake = _field_mistake(text, column)
            if mistake:
                at = Place(called(path), *row.place(index))
                return Mistake(mistake.what, mistake.right, at)
    return None


def _field_mistake(text: str, column: Column) -> Mistake | None:
    if not text:
        return Mistake(f"{column.name} is empty", "write a value") if column.required else None
    match column.kind:
        case Kind.WHOLE:
            return _whole_mistake(text, column)
        case Kind.AMOUNT:
            units = _units(text, column)
            return units if isinstance(units, Mistake) else None
        case Kind.MOMENT:
            return _moment_mistake(text, column)
        case Kind.FLAG if text not in ("true", "false"):
            return Mistake(f"{column.name} is {text!r}, which is no flag", "write true or false")
        case _:
            return None


def _whole_mistake(text: str, column: Column) -> Mistake | None:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()):
        return Mistake(f"{column.name} is {text!r}, which is no whole number", "write digits")
    if 0 <= int(text) <= (2**64 - 1 if column.clipped else column.most):
        return None
    what = f"{column.name} is {text}, which is not between 0 and {column.most}"
    return Mistake(what, "write one that is")


def _moment_mistake(text: str, column: Column) -> Mistake | None:
    try:
        pa.scalar(text).cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        what = f"{column.name} is {text!r}, which is no moment"
        return Mistake(what, "write one such as 2017-10-09 07:01:55")
    return None
