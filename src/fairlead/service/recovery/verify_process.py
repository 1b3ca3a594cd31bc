"""Checks a journal's snapshots in a process of its own, so that the loop does not wait."""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from fairlead import children
from fairlead.service.journal.entry import JournalError, Store

LONGEST = 3600.0
"""Seconds after which the process is given up."""


def aside(place: str | Path, state: Path) -> Callable[[Store], None]:
    """Builds the check of the snapshots of the journal at this place, as `fairlead journal check
    --recent` does it, at low priority. Raises JournalError where they are not right."""

    def verify(_store: Store) -> None:
        spawning = children.spawning()
        ours, theirs = spawning.Pipe(duplex=False)
        process = spawning.Process(target=check, args=(theirs, place, state), daemon=True)
        try:
            process.start()
            theirs.close()
            if not ours.poll(LONGEST):
                raise JournalError(f"the journal's snapshots took longer than {LONGEST:g} s")
            wrong = ours.recv()
        except (OSError, EOFError) as error:
            raise JournalError(f"the journal's snapshots cannot be looked at: {error}") from error
        finally:
            ours.close()
            if process.pid is not None:
                process.kill()
                process.join()
        if wrong:
            raise JournalError(f"the journal is not shortened: {wrong}")

    return verify


def check(theirs: Connection, place: str | Path, state: Path) -> None:
    """In the process: sends what is wrong, or nothing."""
    children.end_with_parent()
    os.nice(10)
    from fairlead.service.journal.places import HEAD, open_reader
    from fairlead.service.recovery.verify import verify

    try:
        reader = open_reader(place, state / HEAD)
        reader.check()
        snapshots = reader.snapshots()
        start = snapshots[0][0] if snapshots else reader.start()
        verify(reader.read(start), snapshots, start)
    except Exception as error:  # noqa: BLE001 - whatever it is, the journal stays as it is
        theirs.send(str(error) or type(error).__name__)
    else:
        theirs.send("")
