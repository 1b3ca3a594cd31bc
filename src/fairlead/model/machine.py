"""Machines and the cluster that they make up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from fairlead.model.quantity import Amount, quantities
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap

Label = str | Decimal
"""A label's value: text, or a number that was written without quotes (kept as it was written)."""


@dataclass(frozen=True)
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
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "capacity", quantities(capacity))
        object.__setattr__(self, "labels", label_values(labels or {}))


def label_values(labels: Mapping[str, str | int | float | Decimal]) -> FrozenMap[Label]:
    """The labels with numbers kept as they were written."""
    if isinstance(labels, FrozenMap):
        return labels
    return FrozenMap(
        {
            key: value if isinstance(value, (str, Decimal)) else Decimal(repr(value))
            for key, value in labels.items()
        }
    )


@dataclass(frozen=True)
class Cluster:
    """The machines and the tenants who share them; `devices` are resources that come in pieces."""

    machines: tuple[Machine, ...]
    tenants: tuple[Tenant, ...] = ()
    devices: frozenset[str] = frozenset()

    def __init__(
        self,
        machines: Iterable[Machine],
        tenants: Iterable[Tenant] = (),
        devices: Iterable[str] = (),
    ) -> None:
        object.__setattr__(self, "machines", tuple(machines))
        object.__setattr__(self, "tenants", tuple(tenants))
        object.__setattr__(self, "devices", frozenset(devices))
