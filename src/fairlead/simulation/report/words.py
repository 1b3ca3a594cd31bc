"""Numbers as the report writes them: times in a unit that fits, parts in percent."""

from __future__ import annotations

from math import isnan

NOTHING = "–"


def duration(seconds: float) -> str:
    """A time to three digits: 850 ms, 12.3 s, 4.56 min, 1.2 h; – where there is none."""
    if isnan(seconds):
        return NOTHING
    for size, unit in ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s")):
        if seconds >= 2 * size or (unit == "s" and seconds >= 1):
            return f"{digits(seconds / size)} {unit}"
    return f"{digits(seconds * 1000)} ms" if seconds > 0 else "0 s"


def percent(part: float | None) -> str:
    """A number that is in percent already."""
    if part is None or isnan(part):
        return NOTHING
    return f"{digits(part)}%"


def times(factor: float) -> str:
    """A factor: 1.23×."""
    return NOTHING if isnan(factor) else f"{factor:.2f}×"


def digits(value: float) -> str:
    """Three digits, and all those before the point."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.01 else f"{value:.2g}"
