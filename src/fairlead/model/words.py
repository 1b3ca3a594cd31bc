"""Numbers, plurals and lists as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_BINARY = (("Pi", 2**50), ("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20))
_DECIMAL = (("P", 10**15), ("T", 10**12), ("G", 10**9), ("M", 10**6))
_SHORTER = 3  # characters that a decimal unit must save: less is chance
_IRREGULAR = {
    "holds": "hold",
    "says": "say",
    "runs": "run",
    "is": "are",
    "has": "have",
    "was": "were",
    "class": "classes",
    "entry": "entries",
}


def number(value: float | None, digits: int = 6) -> str:
    """The value with at most so many significant digits and no noise; a dash for none."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 1e15:
        if abs(value) >= 10 ** (digits - 1):
            return f"{value:.0f}"
        text = f"{value:.{digits}g}"
        return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
    return f"{value:.{digits}g}"


def amounts(values: Iterable[float], digits: int = 6) -> list[str]:
    """Amounts of one resource, all in the unit that suits the largest of them.

    From 2^20 on that is Mi, Gi, Ti or Pi: nobody has a million of what is not bytes. Where the
    largest is shorter in M, G, T or P (`7T`, not `6.36646Ti`) that is how it was written.
    """
    values = list(values)
    largest = max(map(abs, values), default=0.0)
    suffix, size = _unit(largest, _BINARY)
    if suffix:
        other, unit = _unit(largest, _DECIMAL)
        texts = (f"{number(largest / size, digits)}{suffix}", f"{number(largest / unit, digits)}")
        if len(texts[1]) + len(other) + _SHORTER <= len(texts[0]):
            suffix, size = other, unit
    return [_in_unit(value, size, suffix, digits) for value in values]


def _in_unit(value: float, size: float, suffix: str, digits: int) -> str:
    """The value in this unit; in one of its own where that is much too large for it."""
    if size > 1 and abs(value) < size / 10_000:
        return amounts([value], digits)[0] if value else "0"
    return f"{number(value / size, digits)}{suffix}"


def size(value: float, digits: int = 4) -> str:
    """So many bytes: `10 B`, `40Mi`."""
    return f"{number(value)} B" if value < 2**20 else amounts([value], digits)[0]


def _unit(largest: float, kind: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """The unit of this kind that suits the amount; none for small ones."""
    return next(((text, unit) for text, unit in kind if largest >= unit), ("", 1))


def amount(value: float, resource: str, digits: int = 6) -> str:
    """An amount of a resource with its name: `4 gpu`, `12Gi memory`."""
    return f"{amounts([value], digits)[0]} {resource}"


def plural(word: str, count: float) -> str:
    """The word as it is for one, or in the plural."""
    return word if count == 1 else _IRREGULAR.get(word, word + "s")


def counted(count: float, word: str) -> str:
    """`1 machine`, `2 machines`, `0.5 tasks`, `0 jobs`."""
    shown = number(count)
    return f"{shown} {plural(word, 1 if shown == '1' else 2)}"


def tally(count: int, word: str) -> str:
    """`1 entry`, `2,000 entries`: of what may be very many."""
    return f"{count:,} {plural(word, count)}"


def machines(count: int) -> str:
    """`1 machine`, `2 machines`."""
    return f"{count} {plural('machine', count)}"


def verb(count: int, many: str) -> str:
    """The verb as it goes with so many."""
    one = {"are": "is", "have": "has", "satisfy": "satisfies", "run": "runs"}
    return one[many] if count == 1 else many


def listing(items: Iterable[str], most: int | None = None, last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`; past `most` items the rest is counted: `a, b and 7 more`."""
    shown = list(items)
    if most is not None and len(shown) > most + 1:  # "and 1 more" is longer than the one
        shown = [*shown[:most], f"{len(shown) - most} more"]
    if len(shown) <= 1:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} {last} {shown[-1]}"


def percent(part: float, whole: float) -> str:
    """The part of the whole in percent, with up to 3 digits."""
    return f"{number(100 * part / whole, 3)}%" if whole else "0%"


def timespan(seconds: float) -> str:
    """A span of time as people say it, with two or three digits."""
    seconds = max(seconds, 0)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def sentence(text: str) -> str:
    """The text with a full stop at the end. A name at its start stays as it is written."""
    return text if text.endswith((".", ":", "!", "?")) else text + "."


def escaped(text: str) -> str:
    """The text with everything that would move the cursor or break a line made visible."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
