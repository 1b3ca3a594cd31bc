"""Every way to change one thing in a value made of frozen dataclasses and tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Any, TypeVar

from fairlead.model.errors import CertificateError

T = TypeVar("T")
Corrupt = tuple[str, T]


def corruptions(value: T, part: float, *leave: str) -> Iterator[Corrupt[T]]:
    """Each with one thing changed, and where: a number by that part of it, up and down, a text, an
    item that is dropped or there twice. The fields named in `leave` stay as they are."""
    return _changed(value, part, frozenset(leave), "")


def accepted(corrupt: Iterable[Corrupt[T]], check: Callable[[T], object]) -> list[str]:
    """The places of the changes that the check let pass."""
    found = []
    for path, wrong in corrupt:
        try:
            check(wrong)
        except CertificateError:
            continue
        found.append(path)
    return found


def _changed(value: Any, part: float, leave: frozenset[str], path: str) -> Iterator[Corrupt[Any]]:
    if value is None or isinstance(value, (bool, Enum)):
        return
    if isinstance(value, float):
        if value:
            yield f"{path} up", value * (1 + part)
            yield f"{path} down", value * (1 - part)
        else:
            yield f"{path} up", part
        yield f"{path} nan", float("nan")
    elif isinstance(value, Fraction):
        yield f"{path} up", value * (1 + Fraction(part)) or Fraction(part)
        if value:
            yield f"{path} down", value * (1 - Fraction(part))
    elif isinstance(value, int):
        yield f"{path} + 1", value + 1
        yield f"{path} - 1", value - 1
    elif isinstance(value, str):
        yield f"{path} renamed", value + "?"
    elif isinstance(value, tuple):
        named = len(value) == 2 and isinstance(value[0], str) and not isinstance(value[1], str)
        for index, item in enumerate(value):
            before, after = value[:index], value[index + 1 :]
            for where, other in _changed(item, part, leave, f"{path}[{index}]"):
                yield where, (*before, other, *after)
            if not named:
                yield f"{path}[{index}] dropped", before + after
                yield f"{path}[{index}] twice", (*before, item, item, *after)
    elif isinstance(value, dict):
        for key, item in value.items():
            for where, other in _changed(item, part, leave, f"{path}[{key!r}]"):
                yield where, value | {key: other}
            yield f"{path}[{key!r}] dropped", {k: v for k, v in value.items() if k != key}
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            if field.name not in leave:
                inside = getattr(value, field.name)
                for where, other in _changed(inside, part, leave, f"{path}.{field.name}"):
                    yield where, replace(value, **{field.name: other})
    else:
        raise TypeError(f"{path} is a {type(value).__name__}")
