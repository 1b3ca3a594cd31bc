"""Frozen mappings and plain names: the values that machines, jobs and tenants are made of."""

from __future__ import annotations

import re
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Generic, TypeVar, overload

from fairlead.model.errors import InputError

T = TypeVar("T")
V = TypeVar("V")

LONGEST_NAME = 255

_NAME = re.compile(r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f-\x9f\u2028\u2029]*[^\s\x00-\x1f\x7f])?")


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

    def __contains__(self, key: object) -> bool:
        return key in self._items

    # The methods below are those of Mapping, without its detour through __getitem__.

    @overload
    def get(self, key: str, /) -> V | None: ...
    @overload
    def get(self, key: str, /, default: V) -> V: ...
    @overload
    def get(self, key: str, /, default: T) -> V | T: ...
    def get(self, key: str, /, default: T | None = None) -> V | T | None:
        return self._items.get(key, default)

    def keys(self) -> KeysView[str]:
        return self._items.keys()

    def values(self) -> ValuesView[V]:
        return self._items.values()

    def items(self) -> ItemsView[str, V]:
        return self._items.items()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, FrozenMap):
            return self._items == other._items
        return self._items == dict(other) if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(tuple(self._items.items()))
        return self._hash

    def __reduce__(self) -> tuple[type[FrozenMap[V]], tuple[dict[str, V]]]:
        # The hash of a text is another one in another process.
        return (type(self), (self._items,))

    def __repr__(self) -> str:
        return repr(self._items)


def plain_name(name: object) -> str:
    """The name itself: text without control characters or spaces around it."""
    if not isinstance(name, str):
        raise InputError(f"a name is text, not {name!r}", "write it in quotes")
    if not name:
        raise InputError("a name cannot be empty", "write at least one letter")
    if len(name) > LONGEST_NAME:
        raise InputError(f"a name of {len(name)} characters", f"use at most {LONGEST_NAME}")
    if not _NAME.fullmatch(name):
        raise InputError(
            f"the name {name!r} begins or ends with a space or holds a control character",
            f"write {''.join(c if c.isprintable() else ' ' for c in name).strip()!r}",
        )
    return name
