"""A word that is longer than a path may be, wherever in a command that came out."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping, Sequence

from fairlead.model.errors import InputError, brief

SHORTEST = 64
"""Letters that a word has at least that is told: no part of a path alone is longer than 255, and
one that was put together may be too long by its parts."""


def too_long(
    error: BaseException, words: Sequence[str], environment: Mapping[str, str]
) -> InputError | None:
    """The mistake behind the error, with the option or the variable that named it; None where it
    was about something else."""
    found = next(
        (e for e in _behind(error) if getattr(e, "errno", None) == errno.ENAMETOOLONG), None
    )
    if found is None:
        return None
    path = str(getattr(found, "filename", None) or "")
    named = [each for each in _named(words, environment) if each[1] in path]
    option, word = max(named, key=lambda each: len(each[1]), default=("", path))
    where = f"{option}: " if option else ""
    return InputError(
        f"{where}{brief(word)!r} is longer than a path may be", "give the path of a file or folder"
    )


def _behind(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes, each once: one that is told anew may be its own cause."""
    seen: list[BaseException] = []
    found: BaseException | None = error
    while found is not None and found not in seen:
        yield found
        seen.append(found)
        found = found.__cause__


def _named(words: Sequence[str], environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The long words that may be paths, with what names each."""
    before = ""
    for word in words:
        option, equals, value = word.partition("=")
        if word.startswith("-") and equals:
            yield from _long(option, value)
        yield from _long(before if before.startswith("-") else "", word)
        before = word
    for name, value in environment.items():
        yield from _long(name, value)


def _long(name: str, word: str) -> Iterator[tuple[str, str]]:
    if len(word) >= SHORTEST:
        yield name, word
