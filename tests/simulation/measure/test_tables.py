"""Tables on disk: the schema travels with the file, and a file is whole or not there."""

from __future__ import annotations

import json
import signal
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from fairlead.children import Terminated, unwinding
from fairlead.model.errors import InputError, OutputError
from fairlead.simulation.engine.run import simulate
from fairlead.simulation.measure.measures import FORMS, Utilisation
from fairlead.simulation.measure.sinks import RunInfo
from fairlead.simulation.measure.tables import Form, Table, dictionary, schema_of
from fairlead.simulation.studies.study_files import write_file
from fairlead.simulation.workloads.registry import generate

FORM = Form(
    "fairlead.test/1",
    (("time", pa.int64()), ("who", pa.dictionary(pa.int32(), pa.string())), ("x", pa.float64())),
)


def rows(count: int) -> dict[str, object]:
    return {
        "time": np.arange(count),
        "who": dictionary(np.arange(count) % 2, ["a,b", "c"]),
        "x": pa.array([0.5] * count, mask=np.arange(count) == 1),
    }


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_what_was_written_is_read_with_its_schema(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"some{ending}"
    with closing(Table(path, FORM)) as table:
        table.write(rows(2))
        table.write(rows(1))
    assert schema_of(path) == "fairlead.test/1"
    if ending == ".csv":
        options = pyarrow.csv.ReadOptions(skip_rows=1)
        found = pyarrow.csv.read_csv(path, read_options=options)
    else:
        found = pyarrow.parquet.read_table(path)
    assert found["time"].to_pylist() == [0, 1, 0]
    assert found["who"].to_pylist() == ["a,b", "c", "a,b"]
    assert found["x"].to_pylist() == [0.5, None, 0.5]


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_nothing_is_there_before_the_end(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"some{ending}"
    table = Table(path, FORM)
    table.write(rows(2))
    assert not path.exists()
    table.abandon()
    assert list(tmp_path.iterdir()) == []


def test_a_finished_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    for count in (3, 1):
        with closing(Table(path, FORM)) as table:
            table.write(rows(count))
    assert len(path.read_text(encoding="utf-8").splitlines()) == 3  # schema, names, one row
    assert list(tmp_path.iterdir()) == [path]


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"use \.parquet or \.csv"):
        Table(tmp_path / "some.xlsx", FORM)


def test_a_place_that_cannot_be_written_to_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(OutputError, match="cannot be written"):
        Table(tmp_path / "file" / "some.csv", FORM)
    with pytest.raises(OutputError, match="cannot be written"):
        write_file(tmp_path / "file" / "some.json", "{}")


def test_texts_are_written_whole(tmp_path: Path) -> None:
    write_file(tmp_path / "new" / "some.json", json.dumps({"ä": 1}))
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["some.json"]


def test_every_form_has_a_version_of_its_own_name() -> None:
    assert {name: form.name for name, form in FORMS.items()} == {
        name: f"fairlead.simulation.{name}/1" for name in FORMS
    }


class Told(Utilisation):
    """A pool's second word to end comes while it is abandoned, as its first does when it began."""

    def start(self, run: RunInfo) -> None:
        super().start(run)
        signal.raise_signal(signal.SIGTERM)

    def abandon(self) -> None:
        signal.raise_signal(signal.SIGTERM)
        super().abandon()


def test_signals_at_the_beginning_and_the_end_of_a_run_leave_no_file(tmp_path: Path) -> None:
    sinks = [Told(tmp_path / "first.parquet"), Utilisation(tmp_path / "second.parquet")]
    with pytest.raises(Terminated), unwinding():
        simulate(generate("table-ii(vary=0)", 0), sinks=sinks)
    assert list(tmp_path.iterdir()) == []
