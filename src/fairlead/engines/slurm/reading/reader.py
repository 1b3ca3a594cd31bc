"""A cluster of Slurm that is read again and again: what seldom changes is seldom asked for, and of
jobs only those are made that changed."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from fairlead.engines.interface import EngineError
from fairlead.engines.slurm.reading.commands import ACCOUNTS, NOTHING, VERSION, AwayError, ask
from fairlead.engines.slurm.reading.parse import Known, parse
from fairlead.engines.slurm.reading.values import Picture
from fairlead.model.errors import InputError

SELDOM = 300.0
"""Seconds between two readings of the accounts and the version, which change seldom."""

PART = 40
"""Readings take at most so small a part of the time, whatever was asked for, and so do Slurm's
commands with them: with very many jobs there are fewer readings."""

SMALL = 0.2
"""Seconds of processor time that a reading may take without being made less often for it."""

Ask = Callable[[Mapping[str, str]], dict[str, str]]
"""Slurm's outputs by the names of their files, but for those that are known."""


def processor_time() -> float:
    """Seconds of processor time of this thread, and of commands that ended."""
    commands = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.thread_time() + commands.ru_utime + commands.ru_stime


def pause(every: float, took: float) -> float:
    """Seconds until the next reading, after one that took so much of the processor's time."""
    return max(every, PART * (took - SMALL))


class Reader:
    def __init__(self, asked: Ask = ask) -> None:
        self._ask = asked
        self._jobs: Known = {}
        self._known: Mapping[str, str] = NOTHING  # what is seldom asked for
        self._known_at: float | None = None
        self._dated = ""

    def read(self) -> Picture:
        """The cluster now. Raises EngineError and InputError."""
        try:
            return self._read(time.monotonic())
        except (EngineError, InputError):
            # Slurm may be of another version when it is there again.
            self._known = {name: text for name, text in self._known.items() if name != VERSION}
            raise

    def _read(self, now: float) -> Picture:
        due = self._known_at is None or now - self._known_at >= SELDOM
        try:
            outputs = self._ask(NOTHING if due else self._known)
        except AwayError as error:
            if self._known_at is None or not due:
                raise
            # Where slurmdbd alone is away, all goes on with the accounts that were read before.
            outputs, self._dated = {**self._known, **self._ask(self._known)}, str(error)
        else:
            if due:
                self._dated = ""
            else:
                outputs = {**self._known, **outputs}
        if due:
            self._known_at = now
        self._known = {ACCOUNTS: outputs.get(ACCOUNTS, ""), VERSION: outputs[VERSION]}
        picture = parse(outputs, self._jobs)
        return replace(picture, dated=self._dated) if self._dated else picture
