"""Are two records of one journal the same, one of them from a snapshot that may be an older one?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairlead.service.records.book import Records
from fairlead.service.records.dump import VERSION, take
from fairlead.service.records.marks import Marks
from fairlead.service.records.tasks import TaskRecord

SEQ = 6
"""Where a row of a dump says which entry the job's submission is."""


def alike(one: Records, other: Records) -> bool:
    """Whether they say the same, as far as each of the dumps that they came through said it. What
    an older version did not write down is not in a snapshot, and in none that is made on top."""
    version = min(one.version or VERSION, other.version or VERSION)
    return _told(one, version) == _told(other, version)


def _told(records: Records, version: int) -> tuple[bytes, list[list[TaskRecord]]]:
    """What a dump of that version says of them. The differences are told beside `READ`."""
    dump = take(records)
    known, rows, tasks = dump.records, dump.rows, list[list[TaskRecord]]()
    known.version = None
    if version < 7:
        known.marks = Marks()
    if version < 5 and known.start is not None:  # nobody had counted the starts so far
        known.start = replace(known.start, owner=0)
    for row in rows if version < 8 else ():
        _forget(row, version)
    if version == 3:
        known.keys, known.over_tasks, known.table.free = {}, 0, 0
        dump.columns.clear()
        tasks = [records.tasks(job, most=job.tasks) for job in records.jobs.values()]
    return dump.encode(), tasks


def _forget(row: list[Any], version: int) -> None:
    """Leaves out of a job's row what that version did not know of it."""
    row[-2] = 0  # what its tasks wrote
    if version < 5:
        row[SEQ] = 0
    if version == 3:
        row[2] = row[4] = 0  # where its rows are, and how many
