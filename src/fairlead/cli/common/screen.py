"""Tables and bars: with colour and blocks on a terminal, plain and reproducible in a pipe."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from fairlead.model.words import escaped

_EIGHTHS = " ▏▎▍▌▋▊▉"
_HEIGHTS = " ▁▂▃▄▅▆▇█"
LONGEST = 2000
"""So many characters of a text that somebody else wrote are shown."""
_NARROWEST = 12  # columns that the last column of a table gets in any case
_DIM, _BOLD, _BAR, _END = "\x1b[2m", "\x1b[1m", "\x1b[36m", "\x1b[0m"


@dataclass(frozen=True)
class Screen:
    """Abilities of the output. `width` None: a pipe or a file, nothing is folded or coloured."""

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
        """Values over time, as blocks of `most` in height: each of `width` columns has the largest
        of its values; a space where there is none."""
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
    """The abilities of the stream. NO_COLOR and TERM=dumb are kept (https://no-color.org)."""
    if not stream.isatty():
        return Screen()
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() else 0
    if not width:
        try:
            width = os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError):
            width = 80
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    blocks = "utf" in (stream.encoding or "").lower()
    return Screen(width=max(40, width or 80), colour=not plain, blocks=blocks)


def brief(text: str) -> str:
    """The text escaped, its middle left out where it is very long: what others wrote into a file
    that is checked is not to fill the screen, nor to look like the answer."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"
    return escaped(text)


def columns(text: str) -> int:
    """The columns of a terminal that the text takes, escape sequences not counted."""
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
    """Lines of an aligned table. `right` has a letter a column: `>` numbers, `<` text. Columns
    without any names have no header.

    In a pipe a row is a line. On a terminal that is too narrow for that, cells go on below
    themselves, broken at spaces, and columns stand close together where that helps; where not even
    single words stand beside one another, the cells of a row stand one below the other.
    """
    widths, gap = widths_of([header, *rows]), 2
    if screen.width is not None and sum(widths) + gap * (len(widths) - 1) > screen.width:
        least = [max(map(_least, cells)) for cells in zip(header, *rows, strict=True)]
        least[-1] = max(least[-1], min(widths[-1], _NARROWEST))
        for gap in (2, 1):
            room = screen.width - gap * (len(widths) - 1)
            if sum(least) <= room:
                break
        else:
            return _one_below_the_other(header, rows, screen)
        # Names of columns are broken before any cell is.
        cells = widths_of([[""] * len(header), *rows])
        whole = [max(cell, few) for cell, few in zip(cells, least, strict=True)]
        fits = sum(whole) <= room
        widths = narrow_columns(widths, whole, room) if fits else narrow_columns(whole, least, room)

    def lines(row: Sequence[str]) -> list[str]:
        cells = [
            [cell] if screen.width is None else _broken(cell, width)
            for cell, width in zip(row, widths, strict=True)
        ]
        found = []
        for at in range(max(map(len, cells))):
            parts = []
            for cell, width, side in zip(cells, widths, right, strict=True):
                text = cell[at] if at < len(cell) else ""
                pad = " " * (width - columns(text))
                parts.append(pad + text if side == ">" else text + pad)
            found.append((" " * gap).join(parts).rstrip())
        return found

    head = lines(header) if any(header) else []
    return [*map(screen.dim, head), *(line for row in rows for line in lines(row))]


def _broken(cell: str, width: int) -> list[str]:
    """The cell in lines that are as far to the right as it is. What is coloured stays whole."""
    if columns(cell) <= width or "\x1b" in cell:
        return [cell]
    indent = " " * (len(cell) - len(cell.lstrip(" ")))
    return [indent + line for line in fold(cell.strip(" "), width - len(indent))]


def _least(cell: str) -> int:
    """The columns that the cell takes in any case."""
    if "\x1b" in cell:
        return columns(cell)
    indent = len(cell) - len(cell.lstrip(" "))
    return indent + max(map(columns, cell.strip(" ").split(" ")))


def narrow_columns(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """The widths of columns that have so much room together: the widest give way, down to the
    least that they need."""
    found = list(widths)
    while sum(found) > room:
        widest = max((i for i in range(len(found)) if found[i] > least[i]), key=found.__getitem__)
        found[widest] -= 1
    return found


def _one_below_the_other(
    header: Sequence[str], rows: Sequence[Sequence[str]], screen: Screen
) -> list[str]:
    """The cells of each row, with their names; rows apart by an empty line."""
    wide = max(map(columns, header))
    room = max(_NARROWEST, (screen.width or 0) - wide - 2)
    lines: list[str] = []
    for row in rows:
        lines += [""] if lines else []
        for name, cell in zip(header, row, strict=True):
            first, *more = _broken(cell, room)
            title = screen.dim(name) + " " * (wide - columns(name))
            lines += [f"{title}  {first}".rstrip(), *(" " * (wide + 2) + text for text in more)]
    return lines


def widths_of(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(columns, cells)) for cells in zip(*rows, strict=True)]


def fold(text: str, room: int) -> list[str]:
    """The text in lines of at most so many columns, broken at spaces; a longer word stays whole."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and columns(lines[-1]) + 1 + columns(word) > room:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines


def wrap(text: str, screen: Screen, indent: str = "") -> list[str]:
    """The text broken into lines at spaces: at 100 columns at most, less on a narrow terminal."""
    width = min(100, screen.width or 100) - len(indent)
    return [indent + line for line in fold(" ".join(text.split()), width)]
