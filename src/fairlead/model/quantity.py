"""Quantities: exact amounts of a resource, from what people write and back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, isfinite
from numbers import Integral, Real

from fairlead.model.errors import InputError, Mistakes, brief
from fairlead.model.values import FrozenMap, plain_name

Amount = int | float | str | Decimal | Fraction
"""An amount as people give it; text may carry a unit, as in `500m` or `64GiB`."""

UNITS = {
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "P": 10**15,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "Pi": 2**50,
}

SMALLEST, LARGEST = Fraction(1, 10**30), Fraction(10**30)
"""Amounts other than 0 lie between these: what is beyond is a slip, and no solver could use it."""

MOST_DIGITS = 200
"""Of the numerator and the denominator of an exact amount."""

_SURE, _SHORT = 98, 600
"""Bits by which numerator and denominator may differ within those bounds, and have together within
these digits, whatever they are."""

_FEW = 7
"""Signs that are read at a glance."""

LONGEST_TEXT = 1000
"""Enough for every amount within the bounds above when it is written out as a decimal."""

NUMBER = r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?"
RATIO = r"[+-]?[0-9]+/[0-9]+"
_QUANTITY = re.compile(rf"({NUMBER})(?:(m)|([kMGTP]|[KMGTP]i|)B?)")
_RATIO = re.compile(RATIO)
_LOOSE = re.compile(r"([+-]?[0-9][0-9_,' ]*(?:\.[0-9]*)?|[+-]?\.[0-9]+)\s*([A-Za-z%]*)")


def exact(amount: Amount) -> Fraction:
    """The amount as written, exactly: the float 0.1 is 1/10. Raises InputError."""
    if isinstance(amount, str):
        return _parse(amount)
    if isinstance(amount, Fraction):
        return _bounded(amount, lambda: "the fraction")
    amount = _python_number(amount)
    if isinstance(amount, int):
        return _bounded(Fraction(amount), lambda: "the number")
    if not (amount.is_finite() if isinstance(amount, Decimal) else isfinite(amount)):
        raise InputError(f"{amount} is not a finite number", "write a finite number")
    # repr of a float is the shortest decimal that means it: what its writer wrote. float() first,
    # for the sake of NumPy's floats, which are floats with another repr.
    text = str(amount) if isinstance(amount, Decimal) else repr(float(amount))
    return _parse(text)


def _python_number(amount: object) -> int | float | Decimal | Fraction:
    """The number as one of Python's own. Raises InputError for what is none."""
    if isinstance(amount, bool):
        pass
    elif isinstance(amount, (int, float, Decimal, Fraction)):
        return amount
    elif isinstance(amount, Real):
        # NumPy's whole numbers and short floats, as columns of tables have them.
        return int(amount) if isinstance(amount, Integral) else Decimal(str(amount))
    raise InputError(f"{amount!r} is not a number", "write a number such as 4 or 0.5")


@lru_cache(maxsize=65536)
def _parse(text: str) -> Fraction:
    if len(text) > LONGEST_TEXT:
        raise InputError(f"a quantity of {len(text)} characters", f"use at most {LONGEST_TEXT}")
    match = _QUANTITY.fullmatch(text)
    if match:
        number, milli, unit = match.groups()
        value = _number(number)
        return _bounded(value / 1000 if milli else value * UNITS[unit], lambda: f'"{text}"')
    if _RATIO.fullmatch(text):
        numerator, denominator = text.split("/")
        if int(denominator):
            return _bounded(Fraction(int(numerator), int(denominator)), lambda: f'"{text}"')
    raise InputError(f'"{brief(text)}" is not a quantity', _hint(text))


def _number(text: str) -> Fraction:
    mantissa, _, exponent = text.replace("E", "e").partition("e")
    # An absurd exponent would take for ever to write out before the bounds are seen.
    power = max(-2000, min(2000, int(exponent or 0)))
    whole, _, decimals = mantissa.partition(".")
    power -= len(decimals)
    digits = int(whole + decimals)
    return Fraction(digits * 10**power) if power >= 0 else Fraction(digits, 10**-power)


def _bounded(value: Fraction, name: object) -> Fraction:
    # Almost all are so far within the bounds that the lengths of two numbers say so.
    above, below = value.numerator.bit_length(), value.denominator.bit_length()
    if abs(above - below) <= _SURE and above + below <= _SHORT:
        return value
    if value and not SMALLEST <= abs(value) <= LARGEST:
        size = "large" if abs(value) > 1 else "small"
        raise InputError(
            f"{_called(name)} is too {size}", "write 0 or a number between 1e-30 and 1e30"
        )
    if max(abs(value.numerator), value.denominator) >= 10**MOST_DIGITS:
        raise InputError(f"{_called(name)} has too many digits", f"use at most {MOST_DIGITS}")
    return value


def _called(name: object) -> str:
    return brief(str(name() if callable(name) else name))


def _hint(text: str) -> str:
    """Advice on the meaning that the writer probably had in mind."""
    plain = text.strip()
    match = _LOOSE.fullmatch(plain)
    if plain.lower().strip("+-.") in ("inf", "infinity", "nan"):
        return "write a finite number"
    if re.fullmatch(r"0[0-9]+(\.[0-9]*)?", plain):
        return f"write {plain.lstrip('0') or '0'} (a leading zero may mean an octal number)"
    if not match:
        return "write a number such as 4, 0.5, 500m or 64GiB"
    digits, unit = match.groups()
    number = re.sub(r"[_,' ]", "", digits)
    if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", digits) and not re.fullmatch(r".*,[0-9]{3}", digits):
        return f"write {digits.replace(',', '.')}{unit} with a point"
    if unit in ("", "m", "B") or re.fullmatch(r"([kMGTP]|[KMGTP]i)B?", unit):
        return f"write {number}{unit} without spaces or separators"
    letter = unit[0].upper()
    if unit == "%":
        return "write a part of one as a decimal such as 0.5"
    if re.fullmatch(r"[kmgtp](ib?|b)?", unit, re.IGNORECASE):
        thousand = "k" if letter == "K" else letter
        b = "B" if unit[-1] in "bB" else ""
        return (
            f"write {number}{thousand}{b} (powers of 1000) or {number}{letter}i{b} (powers of 1024)"
        )
    return "units are m, k M G T P (powers of 1000) and Ki Mi Gi Ti Pi (of 1024)"


class _Quantities(FrozenMap[Fraction]):
    """Amounts that passed the check."""

    __slots__ = ()


def quantities(mapping: Mapping[str, Amount]) -> FrozenMap[Fraction]:
    """Exact amounts of resources, none negative. Equal mappings give one object, and what this
    function returned is returned as it is. Raises InputError with every mistake."""
    if isinstance(mapping, _Quantities):
        return mapping
    if not isinstance(mapping, Mapping):
        raise InputError(
            f"{mapping!r} names no resources", "write resources with amounts: {cpu: 4}"
        )
    items = tuple(mapping.items())
    # Most machines repeat what another has. Only types whose values are equal if, and only if,
    # they mean the same may be looked up: 1 equals True.
    if all(type(amount) in (str, int) for amount in mapping.values()):
        return _repeated(items)
    return _quantities(items)


@lru_cache(maxsize=4096)
def _repeated(items: tuple[tuple[str, Amount], ...]) -> FrozenMap[Fraction]:
    return _quantities(items)


def _quantities(items: tuple[tuple[str, Amount], ...]) -> FrozenMap[Fraction]:
    mistakes = Mistakes()
    amounts: list[tuple[str, Fraction]] = []
    for resource, amount in items:
        about = (str(resource),)
        value = mistakes.attempt(about, exact, amount)
        mistakes.attempt(about, plain_name, resource)
        if value is None:
            continue
        if value < 0:
            mistakes.add(about, f"{write_amount(value)} is negative", "write 0 or more")
        amounts.append((resource, value))
    mistakes.report()
    return _shared(tuple(sorted(amounts)))


@lru_cache(maxsize=4096)
def _shared(items: tuple[tuple[str, Fraction], ...]) -> FrozenMap[Fraction]:
    return _Quantities(dict(items))


def write_amount(amount: Fraction) -> str:
    """The amount as text that reads back to exactly the same: in decimals, in Mi to Pi where it is
    a whole number of them, and as a ratio (`1/3`) where the decimals do not end."""
    if amount.denominator == 1 and amount and amount.numerator % UNITS["Mi"] == 0:
        for unit in ("Pi", "Ti", "Gi", "Mi"):
            if amount.numerator % UNITS[unit] == 0:
                return f"{amount.numerator // UNITS[unit]}{unit}"
    return write_plain(amount)


def write_short(amount: Fraction) -> str:
    """As `write_amount`, and in M to P where it is a whole number of them: as people write it."""
    text = write_amount(amount)
    for unit in ("P", "T", "G", "M") if len(text) > _FEW and text.isdecimal() else ():
        if amount % UNITS[unit] == 0:
            return f"{amount.numerator // UNITS[unit]}{unit}"
    return text


def write_near(amount: Fraction, *, up: bool) -> str:
    """The amount as people read it: as `write_short` where that is short, else with four digits
    and a unit, and no less than it (`up`), or no more."""
    text = write_short(amount)
    unit = next((each for each in ("Pi", "Ti", "Gi", "Mi") if amount >= UNITS[each]), None)
    if len(text) <= _FEW or unit is None:
        return text
    parts = amount / UNITS[unit]
    scale = 10 ** max(0, 4 - len(str(int(parts))))
    rounded = ceil(parts * scale) if up else floor(parts * scale)
    return f"{write_plain(Fraction(rounded, scale))}{unit}"


def write_plain(amount: Fraction) -> str:
    """As `written`, without units."""
    sign = "-" if amount < 0 else ""
    rest, twos, fives = amount.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return f"{amount.numerator}/{amount.denominator}"
    places = max(twos, fives)
    digits = str(abs(amount.numerator) * 10**places // amount.denominator)
    if not places:
        short = digits.rstrip("0")
        zeros = len(digits) - len(short)
        return f"{sign}{digits}" if zeros < 15 else f"{sign}{short}e{zeros}"
    if places > 15 and len(digits) < places:
        return f"{sign}{digits}e-{places}"
    digits = digits.rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}"
