"""The first traced hour of Google's 2011 trace, counted from a file of task events."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from fairlead.model.errors import InputError
from fairlead.simulation.workload import Bools, Floats, Ints

# The columns of a file of task events, in their order, as schema.csv of the trace has them.
COLUMNS = (
    "time",
    "missing",
    "job",
    "task",
    "machine",
    "event",
    "user",
    "class",
    "priority",
    "cpu",
    "memory",
    "disk",
    "spread",
)
SUBMIT = 0
BEGIN, END = 600_000_000, 4_200_000_000
"""Microseconds. The trace begins at 600 s; what has the time 0 was there before."""


@dataclass(frozen=True)
class FirstHour:
    """The tasks that were submitted up to END, ordered by the size of their job, then by job.

    Job i has the tasks first[i]:first[i + 1]. A demand is NaN where the trace has none.
    """

    submit: Ints  # (J,) microseconds
    first: Ints  # (J + 1,)
    spread: Bools  # (J,)
    cpu: Floats  # (T,) of the largest machine
    memory: Floats  # (T,)

    @property
    def sizes(self) -> Ints:
        """The number of tasks of each job (J,), not decreasing."""
        return np.diff(self.first)


def read_first_hour(path: str) -> FirstHour:
    """The first hour of the file `task_events/part-00000-of-00500.csv`, packed or not. A task that
    was submitted several times counts once, with its first demands. Raises InputError.

    The file that was read last is not read again while it is as it was: the repetitions of a study
    draw from the same one."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"no such file: {path}", "name a file of the trace's task_events")
    found = file.stat()
    return _read(path, found.st_ino, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=1)
def _read(path: str, *_as_it_was: int) -> FirstHour:
    table = _table(path)
    rows = pc.and_(pc.equal(table["event"], SUBMIT), pc.less_equal(table["time"], END))
    table = table.filter(rows)
    job, task = table["job"].to_numpy(), table["task"].to_numpy()
    if not len(job):
        raise InputError(
            f"{path}: no task is submitted in the first hour",
            "take the first part of the trace's task_events",
        )
    # The first event of each task, and tasks ordered by job: np.lexsort is stable.
    order = np.lexsort((task, job))
    job, task = job[order], task[order]
    new = np.concatenate([[True], (job[1:] != job[:-1]) | (task[1:] != task[:-1])])
    order, job = order[new], job[new]
    _, of, sizes = np.unique(job, return_inverse=True, return_counts=True)
    order = order[np.lexsort((np.arange(len(order)), of, sizes[of]))]
    sizes = np.sort(sizes)
    first = np.concatenate([[0], np.cumsum(sizes)])
    column = {
        name: table[name].to_numpy(zero_copy_only=False)[order]
        for name in ("time", "cpu", "memory", "spread")
    }
    hour = FirstHour(
        submit=column["time"][first[:-1]],
        first=first,
        spread=column["spread"][first[:-1]] == 1,
        cpu=column["cpu"].astype(np.float64),
        memory=column["memory"].astype(np.float64),
    )
    for each in (hour.submit, hour.first, hour.spread, hour.cpu, hour.memory):
        each.setflags(write=False)  # whoever asks next gets the same arrays
    return hour


def _table(path: str) -> pa.Table:
    types = {name: pa.int64() for name in ("time", "job", "task", "event", "spread")}
    types |= {name: pa.float64() for name in ("cpu", "memory")}
    try:
        return csv.read_csv(
            path,
            read_options=csv.ReadOptions(column_names=list(COLUMNS)),
            convert_options=csv.ConvertOptions(column_types=types, include_columns=list(types)),
        )
    except pa.ArrowInvalid as error:
        sentence = str(error).partition("\n")[0]
        raise InputError(
            f"{path}: not a file of task events ({sentence})",
            f"it has {len(COLUMNS)} columns without a header, as Google's trace of 2011",
        ) from error
