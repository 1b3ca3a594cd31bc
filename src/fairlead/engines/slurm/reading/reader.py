"""A cluster of Slurm that is read again and again: what seldom changes is seldom asked for, and of
jobs only those are made that changed."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from fairlead.engines.slurm.reading.commands import OPTIONAL, AwayError, ask
from fairlead.engines.slurm.reading.parse import Known, parse
from fairlead.engines.slurm.reading.values import Picture

SELDOM = 300.0
"""Seconds between two readings of the accounts, which change seldom."""

PART = 40
"""Readings take at most so small a part of the time, whatever was asked for, and so do Slurm's
commands with them: with very many jobs there are fewer readings."""

SMALL = 0.2
"""Seconds of processor time that a reading may take without being made less often for it."""

Ask = Callable[[bool], dict[str, str]]
"""Slurm's outputs by the names of their files; with those that are seldom read, or without."""


def processor_time() -> float:
    """Seconds of processor time of this thread, and of commands that ended."""
    commands = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.thread_time() + commands.ru_utime + commands.ru_stime


def pause(every: float, took: float) -> float:
    """Seconds until the next reading, after one that took so much of the processor's time."""
    return max(every, PART * (took - SMALL))


class Reader:
    """Reads by `asked`."""

    def __init__(self, asked: Ask = ask) -> None:
        self._ask = asked
        self._jobs: Known = {}
        self._accounts: Mapping[str, str] = {}
        self._accounts_at: float | None = None
        self._dated = ""

    def read(self) -> Picture:
        """The cluster now. Raises EngineError and InputError."""
        began = time.monotonic()
        accounts = self._accounts_at is None or began - self._accounts_at >= SELDOM
        try:
            outputs = self._ask(accounts)
        except AwayError as error:
            if self._accounts_at is None or not accounts:
                raise
            # Where slurmdbd alone is away, all goes on with the accounts that were read before.
            outputs, self._dated = self._ask(False), str(error)
        else:
            if accounts:
                self._accounts = {name: text for name, text in outputs.items() if name in OPTIONAL}
                self._dated = ""
        if accounts:
            self._accounts_at = began
        picture = parse({**self._accounts, **outputs}, self._jobs)
        return replace(picture, dated=self._dated) if self._dated else picture
