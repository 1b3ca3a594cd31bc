"""The log of a service in the background, while somebody waits for its start."""

from __future__ import annotations

from pathlib import Path

from fairlead.cli.common.inputs import complain
from fairlead.cli.serving.compiling import SAID
from fairlead.cli.serving.process import WARNING

NEWS = (SAID, WARNING)
"""How lines begin that are shown as they come: how far it is, and what is no good sign."""

GREETINGS = ("serving ", "following ")
"""How a service begins to say what it does, once it listens."""

LONGEST = 20_000
"""Bytes of it that are read at once."""


class ServiceLog:
    """The lines that one start writes to the log, from this byte on."""

    def __init__(self, file: Path, start: int) -> None:
        self._file, self._start, self._shown = file, start, start

    def show_news(self) -> None:
        """Shows what came since the last time of warnings and of how far it is."""
        text, end, _ = self._read(self._shown).rpartition(b"\n")
        self._shown += len(text) + len(end)
        for line in text.decode("utf-8", "replace").splitlines():
            if line.startswith(NEWS):
                complain(line)

    def show_others(self) -> None:
        """Shows the rest, which tells why it does not serve."""
        self.show_news()
        for line in self._read(self._start).decode("utf-8", "replace").splitlines():
            if not line.startswith(NEWS):
                complain(line)

    def greeting(self) -> str | None:
        """The line in which it says what it does, which is among the last; None before it did."""
        start = max(self._start, self._file.stat().st_size - LONGEST)
        for line in self._read(start).decode("utf-8", "replace").splitlines():
            if line.startswith(GREETINGS):
                return line
        return None

    def _read(self, start: int) -> bytes:
        with self._file.open("rb") as file:
            file.seek(start)
            return file.read(LONGEST)
