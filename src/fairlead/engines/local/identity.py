"""Which engine this is, across restarts, and whether the machine is up since it last ran."""

from __future__ import annotations

import uuid
from pathlib import Path

from fairlead.engines.local.processes import boot
from fairlead.whole_file import write_private


class Identity:
    """The name of an engine, by which its processes are known, kept in a file.

    `same_boot`: the machine was not started anew since. What was written without being synced can
    be relied on only then, and only then do process numbers mean what they meant."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if path.exists():
            self.name, last = path.read_text().split()
            self.same_boot = last == boot()
        else:
            self.name, self.same_boot = uuid.uuid4().hex[:12], True

    def keep(self) -> None:
        """From now on the machine is taken to be up since: call this once everything that was
        found is said durably."""
        if self.same_boot and self._path.exists():
            return
        write_private(self._path, f"{self.name} {boot()}\n")
        self.same_boot = True
