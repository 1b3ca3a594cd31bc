"""Which engine this is, across restarts, and whether the machine is up since it last ran."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from fairlead.engines.local.processes import boot


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
        fresh = self._path.with_name("engine.new")
        with fresh.open("w") as file:
            file.write(f"{self.name} {boot()}\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)
        self.same_boot = True
