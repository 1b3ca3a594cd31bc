"""The named options of a loader: every assumption that it makes, with a default."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairlead.model.errors import InputError
from fairlead.model.quantity import exact
from fairlead.model.times import read_moment
from fairlead.model.values import FrozenMap

SECOND = 1_000_000
"""In microseconds, the unit of all times."""


@dataclass(frozen=True)
class Option:
    """A named assumption: what is taken where nothing is said, and what it means."""

    name: str
    default: str
    meaning: str


@dataclass(frozen=True)
class Settings:
    """The value of every option of one loader, given or default, as text."""

    values: FrozenMap[str]

    def choice(self, name: str, among: Sequence[str]) -> str:
        """The value, which is one of these words. Raises InputError."""
        value = self.values[name]
        if value not in among:
            raise refusal(name, value, f"write one of {', '.join(among)}")
        return value

    def whole(self, name: str, least: int = 0) -> int:
        """The value as a whole number of at least `least`. Raises InputError."""
        value = self.values[name]
        if not value.isascii() or not value.isdecimal() or int(value) < least:
            raise refusal(name, value, f"write a whole number of at least {least}")
        return int(value)

    def amount(self, name: str) -> Fraction:
        """The value as a quantity of more than 0, as in `128MiB`. Raises InputError."""
        try:
            value = exact(self.values[name])
        except InputError as error:
            raise refusal(name, self.values[name], error.mistakes[0].right) from error
        if value <= 0:
            raise refusal(name, self.values[name], "write more than 0")
        return value

    def span(self, name: str) -> int:
        """The value as a time in microseconds, as in `300s` or `1h`. Raises InputError."""
        span = microseconds(self.values[name])
        if span is None:
            raise refusal(name, self.values[name], "write a time such as 300s, 1h or 1d")
        return span


def microseconds(text: str) -> int | None:
    """The microseconds that `300s`, `1.5h` or `1d` mean; None where the text is no time, or none
    of whole microseconds."""
    try:
        span = read_moment(text) * SECOND
    except InputError:
        return None
    return int(span) if span.denominator == 1 else None


def refusal(name: str, value: str, right: str) -> InputError:
    """The error that the value of an option cannot be used."""
    return InputError(f"the option {name} cannot be {value!r}", right)


def settings(options: Sequence[Option], given: Mapping[str, str], owner: str) -> Settings:
    """The options with the values given, and defaults for the rest. Raises InputError with the
    list where a name is unknown."""
    known = {option.name: option.default for option in options}
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            listed = ", ".join(f"{name}={default}" for name, default in known.items())
            right = f"did you mean {close[0]!r}? " if close else ""
            right += f"its options are {listed}" if known else "it has none"
            raise InputError(f"the format {owner} has no option {name!r}", right)
    return Settings(FrozenMap({**known, **given}))
