"""Durations that are values of options."""

from __future__ import annotations

from fractions import Fraction

from fairlead.model.errors import InputError, Mistake
from fairlead.model.times import read_duration


def duration_of(option: str, text: str) -> Fraction:
    """The seconds in the value of an option. Raises InputError, which names the option."""
    try:
        return read_duration(text)
    except InputError as error:
        raise InputError(
            Mistake(f"{option}: {each.what}", each.right) for each in error.mistakes
        ) from error
