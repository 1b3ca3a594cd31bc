"""Every error that Fairlead raises on purpose: one tree, in one place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Place:
    """Where something was written: a file (or `<python>`), a line and a column, both from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong in what a user wrote.

    `what` says what is wrong, `right` what to write instead; `context` is the text with a caret
    where that helps (a constraint that does not parse).
    """

    what: str
    right: str = ""
    place: Place | None = None
    context: str = ""

    def __str__(self) -> str:
        sentence = f"{self.place}: {self.what}" if self.place else self.what
        if self.right:
            sentence += f"; {self.right}"
        return f"{sentence}\n{self.context}" if self.context else sentence


class FairleadError(Exception):
    """The root of all errors raised on purpose."""


class InputError(FairleadError):
    """A user's mistake. Carries every mistake that was found, in the order of their places."""

    def __init__(self, mistakes: Mistake | Iterable[Mistake]) -> None:
        self.mistakes = (mistakes,) if isinstance(mistakes, Mistake) else tuple(mistakes)
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))


class InternalError(FairleadError):
    """Fairlead failed, not the user."""


class SolverError(InternalError):
    """A solver stopped without an optimum; the message carries its status and the gap."""


class CertificateError(InternalError):
    """An allocation did not pass its own check, so it is not shown."""
