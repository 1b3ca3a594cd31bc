"""Machines and the cluster that they make up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from fairlead.model.constraint import Label
from fairlead.model.errors import InputError, Mistakes
from fairlead.model.names import machine_name
from fairlead.model.quantity import Amount, quantities
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap, is_shown, plain_name

LONGEST_LABEL = 1000

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Machine:
    """A named set of capacities and labels. A resource that is not named is 0."""

    name: str
    capacity: FrozenMap[Fraction]
    labels: FrozenMap[Label] = field(default_factory=FrozenMap)

    def __init__(
        self,
        name: str,
        capacity: Mapping[str, Amount],
        labels: Mapping[str, str | int | float | Decimal] | None = None,
    ) -> None:
        mistakes = Mistakes()
        about = ("machine", name)
        mistakes.attempt(about, machine_name, name)
        object.__setattr__(self, "name", name)
        object.__setattr__(
            self, "capacity", mistakes.attempt((*about, "capacity"), quantities, capacity)
        )
        object.__setattr__(
            self, "labels", mistakes.attempt((*about, "labels"), label_values, labels or {})
        )
        mistakes.report()


def number_label(text: str) -> Decimal | None:
    """The number that a label's text without quotes is, if it is one that is kept as written;
    None for all else, such as 0x10, 1e3, 12:30 and yes, which are text."""
    if len(text) <= LONGEST_LABEL and _NUMBER.fullmatch(text):
        value = Decimal(text)
        if str(value) == text:
            return value
    return None


class _Labels(FrozenMap[Label]):
    """Labels that passed the check. The numbers 5.10 and 5.1 are equal, the labels are not."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return super().__eq__(other) and (
            not isinstance(other, FrozenMap)
            or all(str(value) == str(other[key]) for key, value in self.items())
        )

    def __hash__(self) -> int:
        return super().__hash__()


def label_values(labels: Mapping[str, str | int | float | Decimal]) -> FrozenMap[Label]:
    """The labels with numbers kept as they were written. Equal labels give one object. Raises
    InputError with every mistake."""
    if isinstance(labels, _Labels):
        return labels
    if not isinstance(labels, Mapping):
        raise InputError(f"{labels!r} names no labels", "write keys with values")
    if all(type(value) in (str, int) for value in labels.values()):  # 1 equals True, and 1.0
        return _repeated(tuple(labels.items()))
    return _label_values(tuple(labels.items()))


@lru_cache(maxsize=4096)
def _repeated(items: tuple[tuple[str, str | int | float | Decimal], ...]) -> FrozenMap[Label]:
    return _label_values(items)


def _label_values(items: Iterable[tuple[str, str | int | float | Decimal]]) -> FrozenMap[Label]:
    mistakes = Mistakes()
    found: list[tuple[str, Label]] = []
    for key, value in items:
        about = (str(key),)
        mistakes.attempt(about, plain_name, key)
        label = mistakes.attempt(about, _label, value)
        if label is not None:
            found.append((key, label))
    mistakes.report()
    found.sort(key=lambda item: item[0])
    return _shared(tuple((key, isinstance(label, str), str(label)) for key, label in found))


@lru_cache(maxsize=4096)
def _shared(items: tuple[tuple[str, bool, str], ...]) -> FrozenMap[Label]:
    return _Labels({key: text if is_text else Decimal(text) for key, is_text, text in items})


def _label(value: object) -> Label:
    if isinstance(value, str):
        if len(value) > LONGEST_LABEL or not is_shown(value):
            raise InputError(
                "a label holds control characters, letters that are not shown, or more than"
                f" {LONGEST_LABEL} characters: {value[:40]!r}",
                "shorten it",
            )
        return value
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        text = str(value) if isinstance(value, (int, Decimal)) else repr(float(value))
        number = number_label(text)
        if number is not None:
            return number
    raise InputError(f"{value!r} is no label", f'write it as text: "{value}"')


@dataclass(frozen=True, slots=True)
class Cluster:
    """The machines and the tenants who share them; `devices` are resources that come in pieces.

    The machines are in the order of their names, whatever order they were given in.
    """

    machines: tuple[Machine, ...]
    tenants: tuple[Tenant, ...] = ()
    devices: frozenset[str] = frozenset()

    def __init__(
        self,
        machines: Iterable[Machine],
        tenants: Iterable[Tenant] = (),
        devices: Iterable[str] = (),
    ) -> None:
        if isinstance(devices, str):
            devices = (devices,)
        machines, tenants = tuple(machines), tuple(tenants)
        for given, kind in ((machines, Machine), (tenants, Tenant)):
            other = next((one for one in given if not isinstance(one, kind)), None)
            if other is not None:
                what, word = type(other).__name__, kind.__name__
                raise InputError(
                    f"a {what} is no {word.lower()}", f"give a list of fairlead.{word}"
                )
        ordered = sorted(machines, key=lambda machine: machine.name)
        object.__setattr__(self, "machines", tuple(ordered))
        object.__setattr__(self, "tenants", tenants)
        object.__setattr__(self, "devices", frozenset(devices))
