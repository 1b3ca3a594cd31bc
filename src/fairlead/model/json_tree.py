"""JSON that somebody hands in, read with distrust."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isfinite
from typing import NoReturn

from fairlead.model.errors import InputError, Mistake, Place


def json_tree(
    text: str, file: str, right: str = "", number: Callable[[str], object] | None = None
) -> object:
    """Reads the text of a file, numbers as `number` makes them. Raises InputError, with `right`
    as what would be right: beside what is no JSON, a key that is written twice, numbers that are
    not finite or have thousands of digits, and nesting too deep are refused."""

    def refuse(what: str) -> NoReturn:
        raise InputError(f"{file}: {what}", right)

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            keys = [key for key, _ in pairs]
            refuse(f'"{next(key for key in keys if keys.count(key) > 1)[:60]}" is there twice')
        return found

    def finite(number: str) -> float:
        value = float(number)
        return value if isfinite(value) else refuse(f"{number[:60]} is too large")

    try:
        tree: object = json.loads(
            text,
            object_pairs_hook=unique,
            parse_float=number or finite,
            parse_int=number,
            parse_constant=lambda word: refuse(f"{word} is not a number"),
        )
    except json.JSONDecodeError as error:
        place = Place(file, error.lineno, error.colno)
        raise InputError(Mistake(f"this is not JSON: {error.msg}", right, place)) from None
    except RecursionError:
        refuse("it is nested too deeply")
    except ValueError:  # a whole number of thousands of digits
        refuse("a number in it is too long")
    return tree
