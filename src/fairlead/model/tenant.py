"""Tenants: whom shares are accounted to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from fairlead.model.errors import InputError, Mistakes
from fairlead.model.names import expand_all
from fairlead.model.quantity import Amount, exact, quantities, write_amount
from fairlead.model.values import FrozenMap, plain_name


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant with a weight (1 if nothing is said) or a pool: the machines that it brought.

    `limit` is a hard cap on what all its jobs, and those of the tenants below it, hold together.
    The pool may be given in ranges; it is kept as plain names in their order. `user`: the user of
    the system as whom its tasks run, where an engine can do that.
    """

    name: str
    weight: Fraction | None = None
    pool: tuple[str, ...] | None = None
    parent: str | None = None
    limit: FrozenMap[Fraction] = field(default_factory=FrozenMap)
    user: str | None = None

    def __init__(
        self,
        name: str,
        *,
        weight: Amount | None = None,
        pool: Iterable[str] | None = None,
        parent: str | None = None,
        limit: Mapping[str, Amount] | None = None,
        user: str | None = None,
    ) -> None:
        mistakes = Mistakes()
        about = ("tenant", name)
        mistakes.attempt(about, plain_name, name)
        values = {
            "name": name,
            "weight": mistakes.attempt_optional((*about, "weight"), positive, weight),
            "pool": mistakes.attempt_optional((*about, "pool"), some, pool),
            "parent": mistakes.attempt_optional((*about, "parent"), plain_name, parent),
            "limit": mistakes.attempt((*about, "limit"), quantities, limit or {}),
            "user": mistakes.attempt_optional((*about, "user"), plain_name, user),
        }
        if weight is not None and pool is not None:
            mistakes.add(
                (*about, "weight"),
                "a tenant has a weight or a pool, not both",
                "take one of them out: a pool says the weight",
            )
        mistakes.report()
        for key, value in values.items():
            object.__setattr__(self, key, value)


def positive(amount: Amount) -> Fraction:
    """The exact amount, which is more than 0."""
    value = exact(amount)
    if value <= 0:
        raise InputError(f"{write_amount(value)} is not positive", "write more than 0")
    return value


def some(names: Iterable[str]) -> tuple[str, ...]:
    """The names that these ranges mean, at least one."""
    expanded = expand_all(names)
    if not expanded:
        raise InputError("the list of machines is empty", 'name machines, as in ["a[01-25]"]')
    return expanded
