"""Tables on disk: Parquet or CSV with a versioned schema, whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from fairlead.model.errors import InputError, OutputError
from fairlead.whole_file import as_any_new_file

KEY = b"fairlead.schema"
"""In a Parquet file's metadata: the name and the version of its schema."""

ENDINGS = (".parquet", ".csv")
TOGETHER = 65_536
"""Rows that are written at a time: a part of a Parquet file costs the same whether it has many rows
or one, when it is written and when it is read."""


@dataclass(frozen=True)
class Form:
    """A table's schema: its name with the version, and its columns."""

    name: str
    columns: tuple[tuple[str, pa.DataType], ...]

    @property
    def schema(self) -> pa.Schema:
        """The schema as Arrow has it, with its name in the metadata."""
        return pa.schema(list(self.columns), metadata={KEY: self.name.encode()})


class Table:
    """A file that is being written: under another name beside it until it is closed."""

    def __init__(self, path: Path, form: Form) -> None:
        if path.suffix not in ENDINGS:
            raise InputError(
                f"{path.name} ends in {path.suffix or 'nothing'}", "use .parquet or .csv"
            )
        self.path = path
        self._form = form
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0  # of them
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
            os.close(handle)
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {error.strerror}") from error
        self._beside = Path(beside)
        try:
            self._sink = pa.OSFile(beside, "wb")
            if path.suffix == ".csv":
                self._sink.write(f"# {form.name}\n".encode())
                self._writer = pyarrow.csv.CSVWriter(self._sink, self._plain())
            else:
                self._writer = pyarrow.parquet.ParquetWriter(
                    self._sink, form.schema, compression="zstd"
                )
        except BaseException:  # also Ctrl-C, which may come in any moment
            self._beside.unlink(missing_ok=True)
            raise

    def write(self, columns: Mapping[str, object]) -> None:
        """More rows: a column of the same length for each of the form's names."""
        csv = self.path.suffix == ".csv"
        schema = self._plain() if csv else self._form.schema
        arrays = []
        for name, kind in self._form.columns:
            array = columns[name]
            if not isinstance(array, pa.Array):
                array = pa.array(array, kind)
            # CSV writes no dictionaries.
            arrays.append(array.cast(schema.field(name).type))
        self._waiting.append(pa.record_batch(arrays, schema=schema))
        self._rows += len(arrays[0])
        if self._rows >= TOGETHER:
            try:
                self._write_out()
            except OSError as error:
                raise OutputError(f"{self.path} cannot be written: {error}") from error

    def _write_out(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting).combine_chunks())
            self._waiting.clear()
            self._rows = 0

    def close(self) -> None:
        """The file is whole: give it its name."""
        try:
            self._write_out()
            self._writer.close()
            self._sink.close()
            as_any_new_file(self._beside)
            self._beside.replace(self.path)
        except OSError as error:
            self._beside.unlink(missing_ok=True)
            raise OutputError(f"{self.path} cannot be written: {error}") from error

    def abandon(self) -> None:
        """Leave nothing behind."""
        self._beside.unlink(missing_ok=True)
        # What cannot be written any more (a full disk) is not wanted any more either.
        with suppress(OSError):
            self._writer.close()
            self._sink.close()

    def _plain(self) -> pa.Schema:
        plain = [
            (name, kind.value_type if pa.types.is_dictionary(kind) else kind)
            for name, kind in self._form.columns
        ]
        return pa.schema(plain)


def dictionary(index: object, names: Sequence[str]) -> pa.Array:
    """A column of names by their indices, each name stored once."""
    return pa.DictionaryArray.from_arrays(pa.array(index, pa.int32()), pa.array(names, pa.string()))


def schema_of(path: Path) -> str:
    """The schema's name and version that a table carries; "" where it carries none."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8") as file:
            first = file.readline().strip()
        return first.removeprefix("# ") if first.startswith("# ") else ""
    found = pyarrow.parquet.read_schema(path).metadata or {}
    return bytes(found.get(KEY, b"")).decode()
