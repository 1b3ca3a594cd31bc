"""Times as people write them: one time, or how they are spread over the tasks of a job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from fairlead.model.errors import InputError, brief
from fairlead.model.quantity import NUMBER, RATIO, Amount, exact, write_plain
from fairlead.model.tenant import positive
from fairlead.model.values import is_believed

SECONDS = {
    "us": Fraction(1, 1_000_000),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
}

LONGEST = 100_000 * SECONDS["d"]
"""Fewer than 2^53 microseconds: added to a moment and counted in doubles, all of them are exact."""

_DURATION = re.compile(rf"({NUMBER}|{RATIO})(us|ms|s|m|h|d)")


class TooLongError(InputError):
    """A duration beyond all that are kept."""


class Shape(Enum):
    """Shapes of a spread. The values are the keys that say it."""

    EXPONENTIAL = ("mean",)
    LOGNORMAL = ("median", "p90")
    UNIFORM = ("least", "most")


@dataclass(frozen=True, slots=True)
class Times:
    """Times of one shape, by the numbers that say it, in seconds: of `LOGNORMAL` the median, and
    what nine of ten do not exceed."""

    shape: Shape
    numbers: tuple[Fraction, ...]

    @property
    def typical(self) -> Fraction:
        """A time to expect: the mean, or the median where that is written."""
        return (
            sum(self.numbers, Fraction(0)) / 2 if self.shape is Shape.UNIFORM else self.numbers[0]
        )


Written = Amount | Mapping[str, Amount] | Times
"""Times as they are given: one, or the numbers of a spread by their names."""


def read_times(given: Written) -> Fraction | Times:
    """Reads a time, or a spread such as {median: 10m, p90: 1h}. Raises InputError."""
    if isinstance(given, Times):
        return given
    if not isinstance(given, Mapping):
        return read_duration(given)
    right = "write {median: 10m, p90: 1h}, {mean: 10m}, {least: 5m, most: 20m}, or one time"
    for shape in Shape:
        if set(given) == set(shape.value):
            numbers = tuple(read_duration(given[key]) for key in shape.value)
            if list(numbers) != sorted(numbers):
                low, high = shape.value
                raise InputError(f"{high} is less than {low}", f"write more for {high}")
            return Times(shape, numbers)
    keys = ", ".join(map(str, given)) or "nothing"
    raise InputError(f"a spread of times is not said by {keys}", right)


def read_duration(amount: Amount) -> Fraction:
    """The seconds in a duration such as `30s`, `5m` or `2h`, more than 0; a number that is not
    text is seconds. Raises InputError."""
    return positive(_seconds(amount))


def read_moment(amount: Amount) -> Fraction:
    """As `read_duration`, and it may be 0."""
    seconds = _seconds(amount)
    return seconds if seconds == 0 else positive(seconds)


def _seconds(amount: Amount) -> Fraction:
    seconds = _written(amount)
    if seconds > LONGEST and not is_believed():
        raise TooLongError(f"{brief(str(amount))} is too long", "write at most 100000d")
    return seconds


def _written(amount: Amount) -> Fraction:
    if not isinstance(amount, str):
        return exact(amount)
    match = _DURATION.fullmatch(amount)
    if not match:
        number = re.fullmatch(NUMBER, amount)
        if number and not exact(amount):
            return Fraction(0)  # the only time that needs no unit
        size = amount.lstrip("+-")  # no time is below 0: nobody is led to write one
        raise InputError(
            f'"{amount[:60]}" is not a duration',
            f"write the unit: {size}s, {size}m or {size}h"
            if number
            else "write a number and us, ms, s, m, h or d, as in 30s",
        )
    return exact(match[1]) * SECONDS[match[2]]


def write_duration(seconds: Fraction) -> str:
    """The duration as text that reads back to exactly the same."""
    for unit in ("h", "m"):
        if (seconds / SECONDS[unit]).denominator == 1:
            return f"{write_plain(seconds / SECONDS[unit])}{unit}"
    return f"{write_plain(seconds)}s"


def write_times(times: Fraction | Times) -> str | dict[str, str]:
    """The time or the spread as `read_times` takes it."""
    if isinstance(times, Fraction):
        return f"{write_plain(times)}s"
    numbers = zip(times.shape.value, times.numbers, strict=True)
    return {key: f"{write_plain(number)}s" for key, number in numbers}


def typical(times: Fraction | Times | None) -> Fraction | None:
    """The time to expect; None where nobody knows."""
    return times.typical if isinstance(times, Times) else times
