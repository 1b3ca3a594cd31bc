"""Checks a journal in a process of its own, whole and with one entry changed: a program that prints
what it heard each time, and how many of its processes are left."""

from __future__ import annotations

import multiprocessing
import sqlite3
import sys
from pathlib import Path

from fairlead.service.journal.entry import JournalError
from fairlead.service.journal.places import open_store
from fairlead.service.recovery.verify_process import aside


def main(path: Path) -> None:
    """Checks it, changes it, and checks it again."""
    store = open_store(path)
    for change in ("", "UPDATE journal_entry SET body = replace(body, '1', '2') WHERE seq = 20"):
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute(change)
        connection.close()
        try:
            aside(path, path.parent)(store)
        except JournalError as error:
            sys.stdout.write(f"{error}\n")
        else:
            sys.stdout.write("right\n")
    store.close()
    sys.stdout.write(f"left {len(multiprocessing.active_children())}\n")


if __name__ == "__main__":
    main(Path(sys.argv[2]))
