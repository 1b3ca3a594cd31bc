"""Constraints: what a selector means for a machine with labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from fairlead.model.errors import InputError, Mistake
from fairlead.model.values import is_shown
from fairlead.model.version import version

Label = str | Decimal
"""A label's value: text, or a number that was written without quotes (kept as it was written)."""


class Operator(Enum):
    """Comparisons of a label. The values are what people write."""

    EQUAL = "="
    NOT_EQUAL = "!="
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    NOT_EXISTS = "!"
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="


# Tuples: `in` finds members of an enum by identity, while a set would hash them, in Python.
ORDERINGS = (Operator.LESS, Operator.AT_MOST, Operator.GREATER, Operator.AT_LEAST)
_NEGATIVE = (Operator.NOT_EQUAL, Operator.NOT_IN, Operator.NOT_EXISTS)
_SETS = (Operator.IN, Operator.NOT_IN)
_PRESENCE = (Operator.EXISTS, Operator.NOT_EXISTS)

_BARE = re.compile(r"(?!.*(?:&&|\|\|))[^\s,()!=<>\"'\\\x00-\x1f\x7f-\x9f]+")


def ordering_mistake(label: Label) -> Mistake | None:
    """The mistake of a label that is compared by `<` and the like; None where it has an order."""
    text = str(label)
    if isinstance(label, Decimal) and "." in text:
        return Mistake(
            f"{text} is compared as a version but written as a number",
            f'write it in quotes: "{text}"',
        )
    if version(text) is None:
        return Mistake(
            f'"{text}" is neither a whole number nor a version, so it has no order',
            'write a label such as "5.10", or compare with = or in',
        )
    return None


def quoted(text: str) -> str:
    """The text as a selector writes it: in quotes where it would not be read back without them."""
    if _BARE.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@dataclass(frozen=True, slots=True)
class Requirement:
    """One part of a selector: a key, an operator and the values it compares with."""

    key: str
    operator: Operator
    values: tuple[str, ...]

    def __init__(self, key: str, operator: Operator, values: Iterable[str] = ()) -> None:
        values = (values,) if isinstance(values, str) else tuple(values)
        _check_requirement(key, operator, values)
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "operator", operator)
        object.__setattr__(self, "values", values)

    def matches(self, labels: Mapping[str, Label]) -> bool:
        """Does a machine with these labels satisfy it? Raises InputError where an ordering meets a
        label that has no order."""
        operator = self.operator
        label = labels.get(self.key)
        if label is None:
            return operator in _NEGATIVE
        if operator in _PRESENCE:
            return operator is Operator.EXISTS
        if operator in ORDERINGS:
            return self._ordered(label)
        return (str(label) in self.values) is (operator not in _NEGATIVE)

    def _ordered(self, label: Label) -> bool:
        mine, other = version(str(label)), version(self.values[0])
        if mine is None or other is None or not isinstance(label, str):
            mistake = ordering_mistake(label)
            if mistake or mine is None or other is None:
                raise InputError(mistake or Mistake(f'"{label}" has no order'))
        match self.operator:
            case Operator.LESS:
                return mine < other
            case Operator.AT_MOST:
                return mine <= other
            case Operator.GREATER:
                return mine > other
            case _:
                return mine >= other

    def __str__(self) -> str:
        key = quoted(self.key)
        if self.operator in _PRESENCE:
            return key if self.operator is Operator.EXISTS else f"!{key}"
        values = ", ".join(map(quoted, self.values))
        if self.operator in _SETS:
            values = f"({values})"
        return f"{key} {self.operator.value} {values}"


def _check_requirement(key: object, operator: object, values: tuple[object, ...]) -> None:
    for text in (key, *values):
        if not isinstance(text, str):
            raise InputError(f"{text!r} in a constraint is not text", f"write {str(text)!r}")
        if not is_shown(text):
            raise InputError(f"{text!a} holds a character that is not shown", "take it out")
    if not key:
        raise InputError("a label's key cannot be empty", "write a key")
    if not isinstance(operator, Operator):
        raise InputError(f"{operator!r} is not an operator", "use one of Operator")
    wanted = 0 if operator in _PRESENCE else 1
    if operator in _SETS:
        if not values:
            raise InputError(f'"{operator.value}" without values', "write at least one value")
    elif len(values) != wanted:
        raise InputError(
            f'"{operator.value}" takes {wanted} values, not {len(values)}', "write as many"
        )
    if operator in ORDERINGS and version(str(values[0])) is None:
        raise InputError(
            f'"{values[0]}" after {operator.value} is neither a whole number nor a version',
            "write a number such as 80 or a version such as 5.10",
        )


@dataclass(frozen=True, slots=True)
class Selector:
    """Requirements on labels, all of which a machine must satisfy. The empty one matches all."""

    requirements: tuple[Requirement, ...] = ()

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        object.__setattr__(self, "requirements", tuple(requirements))

    def matches(self, labels: Mapping[str, Label]) -> bool:
        """Does a machine with these labels satisfy every requirement?"""
        for requirement in self.requirements:  # noqa: SIM110  all() takes a fifth longer
            if not requirement.matches(labels):
                return False
        return True

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def __str__(self) -> str:
        return ", ".join(map(str, self.requirements))
