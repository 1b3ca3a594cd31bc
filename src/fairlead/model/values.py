"""Frozen mappings: the values that machines, jobs and tenants are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

V = TypeVar("V")


class FrozenMap(Mapping[str, V], Generic[V]):
    """An immutable, hashable mapping from names; equal to any mapping with the same items.

    Iteration is in the order of the names, so that nothing depends on the order of writing.
    """

    __slots__ = ("_hash", "_items")

    def __init__(self, items: Mapping[str, V] | None = None) -> None:
        self._items: dict[str, V] = {key: items[key] for key in sorted(items)} if items else {}
        self._hash: int | None = None

    def __getitem__(self, key: str) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(tuple(self._items.items()))
        return self._hash

    def __repr__(self) -> str:
        return repr(self._items)
