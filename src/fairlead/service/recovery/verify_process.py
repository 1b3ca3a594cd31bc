"""Checks a journal's snapshots in a process of its own, so that the loop does not wait."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from fairlead.service.journal.entry import JournalError, Store

LONGEST = 3600.0
"""Seconds after which the process is given up."""


def aside(place: str | Path, state: Path) -> Callable[[Store], None]:
    """Builds the check of the snapshots of the journal at this place: `fairlead journal check
    --recent`, at low priority. Raises JournalError where they are not right."""
    words = ["journal", "check", "--recent", "--state", str(state), str(place)]

    def verify(_store: Store) -> None:
        try:
            done = subprocess.run(
                [sys.executable, "-m", "fairlead", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=LONGEST,
                preexec_fn=_patient,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise JournalError(f"the journal's snapshots cannot be looked at: {error}") from error
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise JournalError(f"the journal is not shortened: {said}")

    return verify


def _patient() -> None:
    os.nice(10)
