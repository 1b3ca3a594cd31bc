"""Files of traces, opened: compressed or not, from the standard input too, and what they are that
are no text."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

import pyarrow as pa

from fairlead.files import called, held, unreadable
from fairlead.model.errors import InputError, Mistake, Place

UNREADABLE = (OSError, EOFError, zlib.error)
"""What reading raises of a file that is not there, or that is half of an archive or none."""

_GZIP = b"\x1f\x8b"
_OTHERS = (
    (b"PK\x03\x04", "is an archive or a spreadsheet", "save the table as CSV"),
    (b"PAR1", "is a Parquet file", "write the table as CSV"),
    (b"BZh", "is compressed by bzip2", "unpack it, or compress it by gzip"),
    (b"\xfd7zXZ", "is compressed by xz", "unpack it, or compress it by gzip"),
    (b"\x28\xb5\x2f\xfd", "is compressed by zstd", "unpack it, or compress it by gzip"),
    (b"\xff\xfe", "is UTF-16", "save it as UTF-8"),
    (b"\xfe\xff", "is UTF-16", "save it as UTF-8"),
)
"""How files begin that are no text which is read, and what to do about them."""


def opened(path: str) -> BinaryIO:
    """The file's bytes, unpacked where they are compressed by gzip."""
    contents = held(path).get(path)
    if is_compressed(path):
        return cast("BinaryIO", gzip.open(path if contents is None else io.BytesIO(contents)))
    return _raw(path)


def is_compressed(path: str) -> bool:
    """Whether it is compressed by gzip, as its name or its first bytes say."""
    return path.endswith(".gz") or _begins(path).startswith(_GZIP)


def streamed(path: str) -> Any:
    """The same bytes for Arrow."""
    contents = held(path).get(path)
    source = path if contents is None else pa.py_buffer(contents)
    return pa.input_stream(source, compression="gzip" if is_compressed(path) else None)


def one_line_each(path: str, rows: int) -> bool:
    """Whether so many rows of a table surely have a line each, for no quotes take another one into
    their field: there are none, or they are even and no line is left."""
    lines, quotes, last = 0, 0, b"\n"
    with opened(path) as file:
        while block := file.read(1 << 20):
            lines += block.count(b"\n")
            quotes += block.count(b'"')
            last = block[-1:]
    lines += last != b"\n"
    return quotes == 0 or (quotes % 2 == 0 and lines == rows)


def as_text(path: str, errors: str = "strict") -> TextIO:
    """The file's text, with its ends of lines as they are."""
    return io.TextIOWrapper(opened(path), encoding="utf-8-sig", errors=errors, newline="")


def first_line(path: str) -> str:
    """The first line of a file, compressed or not. Raises InputError."""
    try:
        with opened(path) as file:
            line = file.readline(1 << 16)
        return line.decode("utf-8-sig", "replace").partition("\r")[0].rstrip("\n")
    except UNREADABLE as error:
        raise InputError(unreadable(path, error)) from error


def numbered(path: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers, for what is no table. Raises InputError."""
    try:
        with opened(path) as file:
            yield from enumerate(file, 1)
    except UNREADABLE as error:
        raise InputError(unreadable(path, error)) from error


def is_empty(path: str) -> bool:
    """Whether nothing is in the file."""
    return not _begins(path)


def no_text(path: str) -> Mistake | None:
    """What is wrong with a file of another kind, as its first bytes say."""
    begins = _begins(path)
    for magic, what, right in _OTHERS:
        if begins.startswith(magic):
            return Mistake(f"{called(path)} {what}", right)
    return None


def undecodable(path: str) -> Mistake:
    """The mistake that a file, which was decoded in vain, is not UTF-8."""
    place, byte = Place(called(path), 1, 1), 0
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                column = len(line[: error.start].decode()) + 1
                place, byte = Place(called(path), number, column), line[error.start]
                break
    what = f"the file is not UTF-8: byte 0x{byte:02x} cannot be decoded"
    return Mistake(what, "save it as UTF-8", place)


def _raw(path: str) -> BinaryIO:
    contents = held(path).get(path)
    return Path(path).open("rb") if contents is None else io.BytesIO(contents)


def _begins(path: str) -> bytes:
    with _raw(path) as file:
        return file.read(8)
