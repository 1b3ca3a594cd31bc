"""Servers that the service cannot reach, said once when that begins, and once when it is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class Part(Enum):
    """The servers that a service may fail to reach."""

    ENGINE = "engine"
    JOURNAL = "journal"
    COLLECTOR = "collector"  # of telemetry
    ISSUER = "issuer"  # of the JWTs of people who sign in


@dataclass(frozen=True, slots=True)
class Change:
    """A part cannot be reached, `why`; or (None) it can again, after so many microseconds."""

    part: Part
    why: str | None
    after: int = 0

    def sentence(self) -> str:
        """For whoever sees the terminal."""
        if self.why is None:
            return f"the {self.part.value} answers again, after {self.after / 1e6:.0f} s"
        does = {
            Part.ENGINE: "tasks that run go on, and nothing new starts",
            Part.JOURNAL: "nothing is accepted",
            Part.COLLECTOR: "spans are lost, and nothing else",
            Part.ISSUER: "people sign in by its last keys, if there are any; tokens are good",
        }[self.part]
        return f"the {self.part.value} cannot be reached: {self.why}; until it answers, {does}"


class Reaching(Protocol):
    """A service, as far as it fails to reach what it needs: sentences, empty where it does not."""

    @property
    def journal_trouble(self) -> str:
        """Why the journal cannot be reached."""

    @property
    def engine_trouble(self) -> str:
        """Why the engine cannot be reached."""


class Troubles:
    """Looks after each step. That the sentences differ from one try to the next is no news."""

    def __init__(self, say: Callable[[Change], None]) -> None:
        self._say = say
        self._since: dict[Part, int] = {}

    def look(self, service: Reaching, now: int) -> None:
        """Says what began or ended since the last time."""
        found = {Part.JOURNAL: service.journal_trouble, Part.ENGINE: service.engine_trouble}
        for part, why in found.items():
            if why and part not in self._since:
                self._since[part] = now
                self._say(Change(part, why))
            elif not why and part in self._since:
                self._say(Change(part, None, max(0, now - self._since.pop(part))))
