"""Tables and bars: with colour and blocks on a terminal, plain and reproducible in a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

_EIGHTHS = " ▏▎▍▌▋▊▉"
_DIM, _BOLD, _BAR, _END = "\x1b[2m", "\x1b[1m", "\x1b[36m", "\x1b[0m"


@dataclass(frozen=True)
class Screen:
    """Where the output goes. `width` None: a pipe or a file, where nothing is cut or coloured."""

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

    On a terminal the last column is cut where the line would not fit; in a pipe nothing is.
    """
    widths = [columns(cell) for cell in header]
    for row in rows:
        for index, cell in enumerate(row):
            widths[index] = max(widths[index], columns(cell))
    before_last = sum(widths[:-1]) + 2 * (len(widths) - 1)
    room = None if screen.width is None else max(12, screen.width - before_last)

    def line(row: Sequence[str]) -> str:
        cells = []
        for index, cell in enumerate(row):
            if index == len(row) - 1 and room is not None:
                cell = cut(cell, room)
            pad = " " * (widths[index] - columns(cell))
            cells.append(pad + cell if right[index] == ">" else cell + pad)
        return "  ".join(cells).rstrip()

    return [screen.dim(line(header)), *(line(row) for row in rows)]


def cut(text: str, room: int) -> str:
    """The text, or its beginning with an ellipsis where it is wider than the room."""
    if columns(text) <= room:
        return text
    while text and columns(text) > room - 1:
        text = text[:-1]
    return text.rstrip(" ,") + "…"


def wrapped(text: str, screen: Screen, indent: str = "") -> list[str]:
    """The text broken into lines at spaces: at 100 columns at most, less on a narrow terminal."""
    width = min(100, screen.width or 100)
    lines, line = [], indent
    for word in text.split():
        if line.strip() and columns(line) + 1 + columns(word) > width:
            lines.append(line)
            line = indent + word
        else:
            line = f"{line} {word}" if line.strip() else indent + word
    return [*lines, line] if line.strip() else lines


def warn(text: str, stream: TextIO | None = None) -> None:
    """A sentence on the error stream, which never mixes with a result in a pipe."""
    print(f"warning: {text}", file=stream or sys.stderr)
