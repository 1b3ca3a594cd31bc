"""Names of machines, and ranges of them as Slurm writes them: `a[01-25]`, `r[1-2]n[1,3-5]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import product
from math import prod

from fairlead.model.errors import InputError, Mistake, brief, caret
from fairlead.model.values import LONGEST_NAME, plain_name

MOST_NAMES = 1_000_000
"""In one range. More is a slip of the pen, and would only fill the memory."""

_PLAIN = re.compile(r"[^\s,\[\]\x00-\x1f\x7f-\x9f]+")
_NUMBERS = re.compile(r"[0-9]+")
_BRACES = re.compile(r"\{([0-9]+)\.\.([0-9]+)\}")


def machine_name(name: object) -> str:
    """The name itself: one plain name, no range. Raises InputError."""
    if isinstance(name, str) and len(name) <= LONGEST_NAME and _PLAIN.fullmatch(name):
        return name if name.isascii() else plain_name(name)
    name = plain_name(name)
    raise InputError(
        f'"{name}" is not the name of one machine',
        "write a name without spaces, commas and brackets",
    )


def expand(text: str) -> tuple[str, ...]:
    """The names that a range means, in its order; a plain name means itself. Commas outside
    brackets part ranges. Raises InputError."""
    if not isinstance(text, str):
        raise InputError(f"a name is text, not {text!r}", "write it in quotes")
    if "{" in text and _BRACES.search(text):
        ours = _BRACES.sub(r"[\1-\2]", text)
        what = f'"{brief(text)}" is a range as shells write it'
        raise InputError(what, f'write "{brief(ours)}"')
    if len(text) <= LONGEST_NAME and _PLAIN.fullmatch(text):
        return (text if text.isascii() else plain_name(text),)
    return _expand(text)


@lru_cache(maxsize=64)
def _expand(text: str) -> tuple[str, ...]:
    ranges = list(_ranges(text))
    count = sum(prod(len(piece) for piece in pieces) for pieces in ranges)
    if count > MOST_NAMES:
        raise InputError(
            f'"{brief(text)}" means {count if count < 10**18 else "far too many"} names',
            f"use ranges of at most {MOST_NAMES} names",
        )
    names = tuple("".join(parts) for pieces in ranges for parts in product(*pieces))
    for name in names:
        if len(name) > LONGEST_NAME:
            raise InputError(f"a name of {len(name)} characters", f"use at most {LONGEST_NAME}")
        if not name.isascii():
            plain_name(name)
    return names


class _Numbers:
    """The numbers in a pair of brackets, not yet written out: a range may be absurdly long."""

    def __init__(self) -> None:
        self.runs: list[tuple[int, int, int]] = []

    def __len__(self) -> int:
        # len() holds no more than a machine word.
        return min(sum(high - low + 1 for low, high, _ in self.runs), 10**18)

    def __iter__(self) -> Iterator[str]:
        for low, high, width in self.runs:
            for number in range(low, high + 1):
                yield str(number).zfill(width)


def _ranges(text: str) -> Iterator[list[_Numbers | tuple[str]]]:
    """The ranges of a text, each as the pieces whose product it is."""

    def wrong(what: str, right: str, at: int) -> InputError:
        return InputError(Mistake(what, right, context=caret(text, at)))

    pieces: list[_Numbers | tuple[str]] = []
    at = 0
    while True:
        if at == len(text) or text[at] == ",":
            if not pieces:
                raise wrong("a name is missing", "write a name such as a01 or a[01-25]", at)
            yield pieces
            if at == len(text):
                return
            pieces = []
            at += 1
            while at < len(text) and text[at] == " ":
                at += 1
        elif text[at] == "[":
            numbers, at = _brackets(text, at, wrong)
            pieces.append(numbers)
        elif text[at] == "]":
            raise wrong("a closing bracket without an opening one", "write a[01-25]", at)
        elif plain := _PLAIN.match(text, at):
            pieces.append((plain.group(),))
            at = plain.end()
        else:
            raise wrong(
                "a name of a machine holds no spaces or control characters", "take it out", at
            )


def _brackets(
    text: str, opening: int, wrong: Callable[[str, str, int], InputError]
) -> tuple[_Numbers, int]:
    numbers = _Numbers()
    at = opening + 1
    while True:
        low = _NUMBERS.match(text, at)
        if not low:
            raise wrong("a number is missing in brackets", "write a[01-25] or a[1,3-5]", at)
        at = low.end()
        high = low
        if at < len(text) and text[at] == "-":
            end = _NUMBERS.match(text, at + 1)
            if not end:
                raise wrong("the end of a range is missing", "write a[01-25]", at + 1)
            high = end
            at = high.end()
        first, last = low.group(), high.group()
        if max(len(first), len(last)) > 18:
            raise wrong("a number of more than 18 digits", "use shorter numbers", low.start())
        if int(first) > int(last):
            raise wrong(
                f"the range {first}-{last} runs backwards", f"write {last}-{first}", low.start()
            )
        if len(last) > len(first) and last.startswith("0"):
            raise wrong(
                f"the range {first}-{last} has a zero before its end only",
                f"write {first.zfill(len(last))}-{last}",
                low.start(),
            )
        numbers.runs.append((int(first), int(last), len(first)))
        if at == len(text):
            raise wrong("a bracket is not closed", 'write a "]"', opening)
        if text[at] == "]":
            return numbers, at + 1
        if text[at] != ",":
            raise wrong(
                f"a {text[at]!r} in brackets", "write numbers and ranges: a[01-25] or a[1,3-5]", at
            )
        at += 1


def expand_all(texts: Iterable[str]) -> tuple[str, ...]:
    """The names that all these ranges mean together, each once, in the order of the names.
    Raises InputError with every mistake."""
    return _expand_all((texts,) if isinstance(texts, str) else tuple(texts))


@lru_cache(maxsize=64)
def _expand_all(texts: tuple[str, ...]) -> tuple[str, ...]:
    names: dict[str, None] = {}
    mistakes: list[Mistake] = []
    for index, text in enumerate(texts):
        try:
            names.update(dict.fromkeys(expand(text)))
        except InputError as error:
            mistakes.extend(
                Mistake(m.what, m.right, context=m.context, about=(index,)) for m in error.mistakes
            )
    if mistakes:
        raise InputError(mistakes)
    return tuple(sorted(names))


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """A key that puts a2 before a10."""
    parts = re.split(r"([0-9]+)", name)
    return tuple((0, int(part)) if i % 2 else (1, part) for i, part in enumerate(parts))


def compress(names: Iterable[str]) -> tuple[str, ...]:
    """Few ranges that together mean exactly these names (each once), in natural order."""
    shapes: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for name in sorted(set(names), key=lambda name: (natural(name), name)):
        # At most 18 digits at a time, as much as a number in brackets may have.
        parts = re.split(r"([0-9]{1,18})", name)
        shapes.setdefault(tuple(parts[::2]), []).append(tuple(parts[1::2]))
    ranges: list[str] = []
    for texts, numbers in shapes.items():
        rows: list[tuple[tuple[str, ...], ...]] = [tuple((n,) for n in row) for row in numbers]
        for column in reversed(range(len(texts) - 1)):
            merged: dict[tuple[tuple[str, ...], ...], list[str]] = {}
            for row in rows:
                rest = (*row[:column], (), *row[column + 1 :])
                merged.setdefault(rest, []).extend(row[column])
            rows = [
                (*rest[:column], tuple(values), *rest[column + 1 :])
                for rest, values in merged.items()
            ]
        for row in rows:
            brackets = [*map(_bracket, row), ""]
            ranges.append("".join(t + b for t, b in zip(texts, brackets, strict=True)))
    return tuple(sorted(ranges, key=lambda text: (natural(text), text)))


def _bracket(numbers: tuple[str, ...]) -> str:
    """Numbers as a range; a single one is itself."""
    if len(numbers) == 1:
        return numbers[0]
    runs: list[list[str]] = []
    expected: dict[str, list[str]] = {}
    for number in sorted(numbers, key=lambda number: (int(number), len(number))):
        run = expected.pop(number, None)
        if run is None:
            runs.append(run := [number, number])
        run[1] = number
        # The width of a range is that of its first number, so this is the name that comes next.
        expected[str(int(number) + 1).zfill(len(run[0]))] = run
    return "[" + ",".join(a if a == b else f"{a}-{b}" for a, b in runs) + "]"
