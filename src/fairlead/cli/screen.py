"""Tables and bars: with colour and blocks on a terminal, plain and reproducible in a pipe."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

_EIGHTHS = " ▏▎▍▌▋▊▉"
_HEIGHTS = " ▁▂▃▄▅▆▇█"
_NARROWEST = 12  # columns that the last column of a table gets in any case
_DIM, _BOLD, _BAR, _END = "\x1b[2m", "\x1b[1m", "\x1b[36m", "\x1b[0m"


@dataclass(frozen=True)
class Screen:
    """Where the output goes. `width` None: a pipe or a file, nothing is folded or coloured."""

    width: int | None = None
    colour: bool = False
    blocks: bool = False

    def dim(self, text: str) -> str:
        """The text in the background, where there is colour."""
        return f"{_DIM}{text}{_END}" if self.colour and text else text

    def bold(self, text: str) -> str:
        """The text standing out, where there is colour."""
        return f"{_BOLD}{text}{_END}" if self.colour and text else text

    def bar(self, value: float, most: float, width: int) -> str:
        """A bar as long as the value, `width` columns for `most`; a sliver for the smallest."""
        if value <= 0 or most <= 0:
            return ""
        eighths = max(1, round(8 * width * min(1.0, value / most)))
        text = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
        return f"{_BAR}{text}{_END}" if self.colour else text

    def line(self, values: Sequence[float | None], most: float, width: int) -> str:
        """How values went, as blocks of `most` in height: in each of `width` columns the largest of
        its values; a space where there is none."""
        count = min(width, len(values))
        cells = []
        for i in range(count):
            part = values[i * len(values) // count : (i + 1) * len(values) // count]
            known = [value for value in part if value is not None]
            height = round(8 * max(known) / most) if known and most > 0 else 0
            cells.append(_HEIGHTS[min(8, max(int(bool(known)), height))])
        text = "".join(cells)
        return f"{_BAR}{text}{_END}" if self.colour else text


def screen_of(stream: TextIO) -> Screen:
    """What the stream can show. NO_COLOR and TERM=dumb are kept (https://no-color.org)."""
    if not stream.isatty():
        return Screen()
    width = int(os.environ.get("COLUMNS", "0") or 0) if _columns_given() else 0
    if not width:
        try:
            width = os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError):
            width = 80
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    blocks = "utf" in (stream.encoding or "").lower()
    return Screen(width=max(40, width or 80), colour=not plain, blocks=blocks)


def _columns_given() -> bool:
    return os.environ.get("COLUMNS", "").isdecimal()


def shown(text: str) -> str:
    """The text with everything that would move the cursor or break a line made visible."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def columns(text: str) -> int:
    """How many columns of a terminal the text takes, escape sequences not counted."""
    if "\x1b" in text:
        for code in (_DIM, _BOLD, _BAR, _END):
            text = text.replace(code, "")
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: str,
    screen: Screen,
) -> list[str]:
    """Lines of an aligned table. `right` has a letter a column: `>` numbers, `<` text.

    On a terminal the last column goes on below itself where the line would not fit, and columns
    stand close together where not even that helps; in a pipe a row is a line.
    """
    widths = widths_of([header, *rows])
    least = sum(widths[:-1]) + 2 * (len(widths) - 1) + min(widths[-1], _NARROWEST)
    gap = 1 if screen.width is not None and least > screen.width else 2
    before_last = sum(widths[:-1]) + gap * (len(widths) - 1)
    room = None if screen.width is None else max(_NARROWEST, screen.width - before_last)

    def line(row: Sequence[str]) -> str:
        cells = []
        for index, cell in enumerate(row):
            pad = " " * (widths[index] - columns(cell))
            cells.append(pad + cell if right[index] == ">" else cell + pad)
        return (" " * gap).join(cells).rstrip()

    lines = [screen.dim(line(header))]
    for row in rows:
        last, *more = [row[-1]] if room is None else folded(row[-1], room)
        lines.append(line([*row[:-1], last]))
        lines += [" " * before_last + text for text in more]
    return lines


def widths_of(rows: Sequence[Sequence[str]]) -> list[int]:
    """The width of each column of these rows."""
    return [max(map(columns, cells)) for cells in zip(*rows, strict=True)]


def folded(text: str, room: int) -> list[str]:
    """The text in lines of at most so many columns, broken at spaces; a longer word stays whole."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and columns(lines[-1]) + 1 + columns(word) > room:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines


def wrapped(text: str, screen: Screen, indent: str = "") -> list[str]:
    """The text broken into lines at spaces: at 100 columns at most, less on a narrow terminal."""
    width = min(100, screen.width or 100) - len(indent)
    return [indent + line for line in folded(" ".join(text.split()), width)]
