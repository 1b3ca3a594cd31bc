"""Every error that Fairlead raises on purpose: one tree, in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

About = tuple[str | int, ...]
"""Subject of a mistake: kind, name, field, and the place within the field, as far as known."""


@dataclass(frozen=True, order=True)
class Place:
    """Place in a text: a file (or `<python>`), a line and a column, both from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong in what a user wrote.

    `what` says what is wrong, `right` what to write instead; `context` is the text with a caret
    where that helps (a constraint that does not parse). `about` names the thing it is about, as
    in `("job", "train", "demand", "cpu")`: it is part of the sentence, and who knows where that
    was written can add the place.
    """

    what: str
    right: str = ""
    place: Place | None = None
    context: str = ""
    about: About = field(default=(), compare=False)

    def __str__(self) -> str:
        sentence = f"{self.place}: " if self.place else ""
        if self.about:
            sentence += subject(self.about) + ": "
        sentence += self.what
        if self.right:
            sentence += f"; {self.right}"
        if not sentence.isprintable():  # a name may hold what would move the cursor
            sentence = "".join(c if c.isprintable() else repr(c)[1:-1] for c in sentence)
        return f"{sentence}\n{self.context}" if self.context else sentence


def subject(about: About) -> str:
    """The subject of a mistake in words: `job "train", demand, cpu`."""
    kind, *rest = about
    if str(kind).startswith("--"):  # an option of a command, with what was given to it
        rest = ["", *rest]
    words = [f'{kind} "{rest[0]}"' if rest and rest[0] != "" else str(kind)]
    return ", ".join(words + [part for part in rest[1:] if isinstance(part, str)])


def caret(text: str, position: int, length: int = 1) -> str:
    """The text, indented, with a caret under each of `length` places; long texts are cut."""
    start = max(0, position - 60) if len(text) > 100 else 0
    shown = "".join(c if c.isprintable() else " " for c in text[start : start + 100])
    return f"    {shown}\n    {' ' * (position - start)}{'^' * max(1, min(length, 40))}"


def brief(text: str) -> str:
    """The text, cut where it is too long to stand in a sentence."""
    return text if len(text) <= 60 else text[:57] + "..."


class FairleadError(Exception):
    """The root of all errors raised on purpose."""


class InputError(FairleadError):
    """A user's mistake. Carries every mistake that was found, in the order of their places. A text
    is a single mistake: what is wrong, what would be right, and what it is about."""

    def __init__(
        self, mistakes: str | Mistake | Iterable[Mistake], right: str = "", *, about: About = ()
    ) -> None:
        if isinstance(mistakes, str):
            mistakes = Mistake(mistakes, right, about=about)
        self.mistakes = (mistakes,) if isinstance(mistakes, Mistake) else tuple(mistakes)
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))

    def __reduce__(self) -> tuple[type[InputError], tuple[tuple[Mistake, ...]]]:
        return (InputError, (self.mistakes,))


class Mistakes(list[Mistake]):
    """The mistakes found so far, so that all of them can be reported together."""

    def attempt(
        self, about: About, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        """Calls the function; None where it raised InputError, whose mistakes are kept."""
        try:
            return function(*args, **kwargs)
        except InputError as error:
            self.extend(replace(m, about=about + m.about) for m in error.mistakes)
            return None

    def attempt_optional(
        self, about: About, function: Callable[[Any], T], value: object
    ) -> T | None:
        """As `attempt` with the value; None where there is no value, which is no mistake."""
        return None if value is None else self.attempt(about, function, value)

    def add(self, about: About, what: str, right: str = "") -> None:
        self.append(Mistake(what, right, about=about))

    def report(self) -> None:
        """Raise InputError if there is any."""
        if self:
            raise InputError(self)


class OutputError(FairleadError):
    """A result could not be written where the user wants it."""


class InternalError(FairleadError):
    """Fairlead failed, not the user."""


class SolverError(InternalError):
    """A solver stopped without an optimum; the message carries its status and the gap."""


class CertificateError(InternalError):
    """An allocation did not pass its own check, so it is not shown."""
