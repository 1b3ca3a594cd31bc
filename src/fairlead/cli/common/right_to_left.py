"""Names that are written from right to left, in lines for a terminal."""

from __future__ import annotations

import re
from functools import cache
from typing import TextIO

_LETTER = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff"
_PART = r"[^\s,;:()\[\]{}\"'`]"
_WORD = rf"{_PART}*[{_LETTER}](?:{_PART}*[\w{_LETTER}])?"


def apart(line: str, out: TextIO) -> str:
    """The line as it is printed there: on a terminal such names are set apart (U+2068, U+2069), for
    a number beside one would else stand on its other side, and a line that begins with one would
    go from right to left. In a pipe it stays as it is: what reads there looks for names."""
    if line.isascii() or not out.isatty():
        return line
    names, colours = _patterns()
    parts = colours.split(line)
    parts[::2] = (names.sub("\u2068\\g<0>\u2069", part) for part in parts[::2])
    return "".join(parts)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Such names, words of which one space parts, and what colours a line: made where there is one,
    as each command begins with this file."""
    return re.compile(rf"{_WORD}(?: {_WORD})*"), re.compile("(\x1b\\[[0-9;]*m)")
