"""Versions, and their order: that of packages' versions in Debian and RPM, where the two agree.

A version begins with whole numbers with dots. Behind them may stand what packagers and kernels add:
`5.15.0-91-generic`, `4.18.0-513.5.1.el8_9.x86_64`, `1.1.1w`, `2.0~rc1`; in front of one with a dot
an epoch, `1:2.35`. What a version is, and how two compare, is in the reference of constraints.
"""

from __future__ import annotations

import re
from functools import lru_cache

Part = tuple[int, int, str]
Version = tuple[Part, ...]
"""A key that compares as the version does. Each part says first of what kind it is."""

_BEFORE, _END, _REVISION, _AFTER, _LETTERS, _NUMBER = range(6)
"""The order of kinds: `~`, that nothing more comes, `-`, `^`, letters, a number."""

_MARKS = {"~": _BEFORE, "-": _REVISION, "^": _AFTER}

_WHOLE = re.compile(r"-?[0-9]{1,18}")
_VERSION = re.compile(
    r"(?:([0-9]{1,9}):(?=[0-9]+\.))?"  # an epoch
    r"([0-9]{1,18}(?:(?:\.[0-9]{1,18})+(?:[a-zA-Z._+~^-][a-zA-Z0-9._+~^-]*)?"
    r"|[-_+~^][a-zA-Z0-9._+~^-]*)?)"
)
_NOTHING = ((_NUMBER, 0, ""), (_REVISION, 0, ""))
"""Parts that do not count at the end."""

_PARTS = re.compile(r"[0-9]+|[a-zA-Z]+|[~^-]")
MOST = 200
"""Characters that a version has at most."""


@lru_cache(maxsize=65536)
def version(text: str) -> Version | None:
    """The parts by which the text is compared; None where it is neither a whole number nor a
    version. Zeros at the end, and before `~`, `-` and `^`, do not count, so that 5 is 5.0."""
    if _WHOLE.fullmatch(text):
        return _number(0), _number(int(text)), (_END, 0, "")
    found = _VERSION.fullmatch(text) if len(text) <= MOST else None
    if found is None:
        return None
    parts = [_number(int(found[1] or 0))]
    for part in (*map(_part, _PARTS.findall(found[2])), (_END, 0, "")):
        if part[0] not in (_LETTERS, _NUMBER):
            while len(parts) > 2 and parts[-1] in _NOTHING:
                parts.pop()
        parts.append(part)
    return tuple(parts)


def _number(value: int) -> Part:
    return _NUMBER, value, ""


def _part(text: str) -> Part:
    if text in _MARKS:
        return _MARKS[text], 0, ""
    return (_LETTERS, 0, text) if text.isalpha() else _number(int(text))
