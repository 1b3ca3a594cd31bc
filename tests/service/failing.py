"""Fairlead's command line with a mistake: what keeps books fails at each entry about a job of this
name: `python -m tests.service.failing WORDS`."""

from __future__ import annotations

import sys
from typing import Any

from fairlead.cli.main import main
from fairlead.service.journal.entry import Entry
from fairlead.service.loop import commit
from fairlead.service.records.book import Records
from fairlead.service.records.fold import fold
from fairlead.service.recovery import recover

POISON = "poison"


def failing_fold(records: Records, entry: Entry, content: Any) -> None:
    """As `fold`, but for that job."""
    if entry.kind == "job_submitted" and entry.body["job"]["name"] == POISON:
        raise ZeroDivisionError("a secret of the job")
    fold(records, entry, content)


if __name__ == "__main__":
    for module in (commit, recover):
        vars(module)["fold"] = failing_fold
    sys.exit(main(sys.argv[1:]))
