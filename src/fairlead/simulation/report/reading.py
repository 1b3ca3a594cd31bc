"""Reads the folder of a study: its settings, its runs and their tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from fairlead.model.errors import InputError
from fairlead.simulation.measure.tables import schema_of
from fairlead.simulation.studies.study_files import RUN, RUN_SCHEMA, STUDY, STUDY_SCHEMA, content_of
from fairlead.simulation.workload import Floats


@dataclass(frozen=True)
class Run:
    """One run that is there: what it was, and where its tables are."""

    folder: Path
    policy: str
    placement: str
    seed: int
    workload: str
    notes: tuple[str, ...]
    result: dict[str, object]

    def number(self, key: str) -> float | None:
        """A number of the result; None where it was not measured."""
        value = self.result.get(key)
        return float(value) if isinstance(value, int | float) else None

    def columns(self, table: str, names: Sequence[str]) -> dict[str, pa.ChunkedArray] | None:
        """These columns of one of the run's tables; None if the run did not write it."""
        for ending in (".parquet", ".csv"):
            file = self.folder / f"{table}{ending}"
            if file.is_file():
                return _columns(file, f"fairlead.simulation.{table}/1", names)
        return None


@dataclass(frozen=True)
class Folder:
    """A study's folder. After the policy that comes first, runs are in the order of their
    policies' names, placements and seeds."""

    path: Path
    settings: dict[str, object]
    runs: tuple[Run, ...]

    @property
    def workload(self) -> str:
        return self.runs[0].workload

    def series(self) -> dict[str, tuple[Run, ...]]:
        """The runs by what is compared: the policy, with the placement where that differs."""
        several = len({run.placement for run in self.runs}) > 1
        found: dict[str, tuple[Run, ...]] = {}
        for run in self.runs:
            name = f"{run.policy}, {run.placement}" if several else run.policy
            found[name] = (*found.get(name, ()), run)
        return found


def read_folder(path: Path, first: str | None = None) -> Folder:
    """The study in the folder, the runs of the policy `first` (as the runs have it) before all
    others; if None, those of TSF where there are any. Raises InputError where there is no study,
    one that is not ours, or no such policy in it."""
    if not path.is_dir():
        raise InputError(f"{path} is no folder", "give the folder of `fairlead simulate --out`")
    if not (path / STUDY).is_file():
        raise InputError(
            f"{path} holds no study: there is no {STUDY} in it",
            "give the folder of `fairlead simulate --out`",
        )
    study = content_of(path / STUDY, STUDY_SCHEMA)
    settings = study.get("settings")
    runs = [_run(file) for file in sorted(path.glob(f"*/{RUN}"))]
    if not runs:
        raise InputError(
            f"no run of the study in {path} is finished", "give the command that began it again"
        )
    policies = sorted({run.policy for run in runs})
    if first is not None and first not in policies:
        raise InputError(
            f"{path} has no run of the policy {first}", f"it has {', '.join(policies)}"
        )
    runs.sort(
        key=lambda run: (run.policy != (first or "tsf"), run.policy, run.placement, run.seed),
    )
    return Folder(path, settings if isinstance(settings, dict) else {}, tuple(runs))


def _run(file: Path) -> Run:
    content = content_of(file, RUN_SCHEMA)
    try:
        result = dict(content["result"])
        return Run(
            folder=file.parent,
            policy=str(result["policy"]),
            placement=str(result["placement"]),
            seed=int(result["seed"]),
            workload=str(content["workload"]),
            notes=tuple(str(note) for note in content.get("notes", ())),
            result=result,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{file} lacks {error}", "remove its folder and simulate again") from error


def _columns(file: Path, schema: str, names: Sequence[str]) -> dict[str, pa.ChunkedArray]:
    try:
        found = schema_of(file)
        if found != schema:
            raise InputError(
                f"{file} is {found or 'of no schema'}, not {schema}",
                "use the version of Fairlead that wrote it",
            )
        if file.suffix == ".csv":
            table = pyarrow.csv.read_csv(
                file,
                read_options=pyarrow.csv.ReadOptions(skip_rows=1, use_threads=False),
                convert_options=pyarrow.csv.ConvertOptions(include_columns=list(names)),
            )
        else:
            table = pyarrow.parquet.ParquetFile(file).read(list(names), use_threads=False)
        return {name: table.column(name) for name in names}
    except (pa.ArrowException, KeyError, OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{file} cannot be read: {str(error).splitlines()[0]}",
            "remove its folder and simulate again",
        ) from error


def floats(column: pa.ChunkedArray) -> Floats:
    """The numbers of a column, nan where there is none."""
    values: Floats = np.array(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    return values


def texts(column: pa.ChunkedArray) -> list[str]:
    return [str(value) for value in column.to_pylist()]
