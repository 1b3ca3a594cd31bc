"""The folder of a study: its data, pictures and page, each file whole or not there."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from fairlead.model.errors import OutputError
from fairlead.model.report import json_text
from fairlead.studies.claims import Row
from fairlead.studies.cost import Cost
from fairlead.studies.page import PAGE, page
from fairlead.studies.pictures.picture import draw
from fairlead.studies.study import Findings, Study, Table
from fairlead.version import __version__
from fairlead.whole_file import write_whole

SCHEMA = "fairlead.study/1"
DONE = "study.json"
"""The last file that is written: with it the folder is whole."""


def tree(study: Study, rows: tuple[Row, ...]) -> dict[str, object]:
    return {"schema": SCHEMA, "study": study.name, "rows": [row.tree() for row in rows]}


def keep(study: Study, found: Findings, out: Path, *, quick: bool, cost: Cost) -> None:
    """Writes the folder of the study in `out`. Raises OutputError."""
    there = out / study.name
    try:
        there.mkdir(parents=True, exist_ok=True)
        # While it is being written it is not whole.
        (there / DONE).unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{there} cannot be written: {error.strerror}") from error
    for table in found.tables:
        write_whole(there / f"{table.name}.csv", as_csv(table))
        if find_spec("pyarrow") is not None:
            write_whole(there / f"{table.name}.parquet", as_parquet(table))
    for picture in found.pictures:
        plot = draw(picture)
        write_whole(there / f"{picture.name}.png", plot.png)
        write_whole(there / f"{picture.name}.svg", plot.svg)
    for name, text in found.files.items():
        (there / name).parent.mkdir(exist_ok=True)
        write_whole(there / name, text)
    write_whole(there / PAGE, page(study, found, quick=quick, cost=cost))
    about = {"version": __version__, "quick": quick, **cost.tree()}
    write_whole(there / DONE, json_text({**tree(study, found.rows), **about}) + "\n")


def find_rows(study: Study, out: Path, *, quick: bool) -> tuple[tuple[Row, ...], Cost] | None:
    """The rows of a study that this version has made in `out` already, as quickly or as fully, and
    what they cost then; None where it has not."""
    try:
        content = json.loads((out / study.name / DONE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(content, Mapping) or content.get("schema") != SCHEMA:
        return None
    if (content.get("version"), content.get("quick")) != (__version__, quick):
        return None
    if "processor_seconds" not in content:  # made before it was counted
        return None
    return tuple(Row.from_tree(row) for row in content["rows"]), Cost.from_tree(content)


def as_csv(table: Table) -> str:
    """The table as CSV: a header, a row a line."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(zip(*map(_plain, table.columns.values()), strict=True))
    return text.getvalue()


def as_parquet(table: Table) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet

    sink = pa.BufferOutputStream()
    columns = pa.table({name: list(column) for name, column in table.columns.items()})
    pyarrow.parquet.write_table(columns, sink, compression="zstd")
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _plain(column: object) -> list[object]:
    """The cells as CSV has them: numbers of not more than six digits, for people; Parquet has
    all."""
    assert isinstance(column, list | tuple | range) or hasattr(column, "__iter__")
    return [f"{value:.6g}" if isinstance(value, float) else value for value in column]
