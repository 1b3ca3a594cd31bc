"""Tenants: whom shares are accounted to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from fairlead.model.quantity import Amount, exact, quantities
from fairlead.model.values import FrozenMap


@dataclass(frozen=True)
class Tenant:
    """A tenant with a weight (1 if nothing is said) or a pool: the machines that it brought.

    `limit` is a hard cap on what all its jobs, and those of the tenants below it, hold together.
    """

    name: str
    weight: Fraction | None = None
    pool: tuple[str, ...] | None = None
    parent: str | None = None
    limit: FrozenMap[Fraction] = field(default_factory=FrozenMap)

    def __init__(
        self,
        name: str,
        *,
        weight: Amount | None = None,
        pool: tuple[str, ...] | list[str] | None = None,
        parent: str | None = None,
        limit: Mapping[str, Amount] | None = None,
    ) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "weight", None if weight is None else exact(weight))
        object.__setattr__(self, "pool", None if pool is None else tuple(pool))
        object.__setattr__(self, "parent", parent)
        object.__setattr__(self, "limit", quantities(limit or {}))
