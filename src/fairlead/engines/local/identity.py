"""Which engine this is, across restarts, who owns it, and whether the machine is up since it last
ran."""

from __future__ import annotations

import re
import uuid
from pathlib import Path

from fairlead.engines.interface import EngineError, damaged, overtaken
from fairlead.engines.local.processes import boot
from fairlead.model.errors import InputError
from fairlead.whole_file import write_private

IDENTITY = re.compile(r"([0-9a-f]{12}) (\S+)(?: ([0-9]{1,18}))?\n")
"""The name, the start of the machine, and the owner, of which versions before said nothing."""


class Identity:
    """The name of an engine, by which its processes are known, kept in a file with the number of
    its newest owner. `new`: it was not kept before.

    `same_boot`: the machine was not started anew since. What was written without being synced can
    be relied on only then, and only then do process numbers mean what they meant. Making one raises
    InputError where the file is damaged: no time mends it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.new = not path.exists()
        self.owner = 0
        if self.new:
            self.name, self.same_boot = uuid.uuid4().hex[:12], True
        else:
            try:
                self.name, last, self.owner = self._read()
            except EngineError as error:
                raise InputError(*damaged(path)) from error
            self.same_boot = last == boot()

    def _read(self) -> tuple[str, str, int]:
        try:
            text = self._path.read_text(encoding="ascii")
        except (OSError, UnicodeError) as error:
            raise EngineError("; ".join(damaged(self._path))) from error
        found = IDENTITY.fullmatch(text)
        if found is None:
            raise EngineError("; ".join(damaged(self._path)))
        return found[1], found[2], int(found[3] or 0)

    def take(self, owner: int) -> None:
        """From now on, durably, nobody with a lower number starts anything here. Raises EngineError
        where another one has a higher number."""
        self.owner = max(owner, self.owner)
        self.check(owner)
        self._write()

    def check(self, owner: int) -> None:
        """Raises EngineError where somebody with a higher number was here."""
        newest = max(self.owner, 0 if self.new else self._read()[2])
        if owner < newest:
            raise EngineError(overtaken("this state folder", newest, owner))

    def disown(self) -> None:
        """The journal of its owners is gone, and a new one numbers them from the first: durably."""
        self.owner = 0
        self._write()

    def keep(self) -> None:
        """From now on the machine is taken to be up since: call this once everything that was
        found is said durably."""
        if not self.same_boot:
            self.same_boot = True
            self._write()

    def _write(self) -> None:
        last = boot() if self.same_boot else self._read()[1]
        if self.new or self._read() != (self.name, last, self.owner):
            write_private(self._path, f"{self.name} {last} {self.owner}\n")
            self.new = False
