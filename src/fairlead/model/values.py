"""Frozen mappings and plain names: the values that machines, jobs and tenants are made of."""

from __future__ import annotations

import re
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar, overload

from fairlead.model.errors import InputError

T = TypeVar("T")
V = TypeVar("V")

LONGEST_NAME = 255

_NAME = re.compile(r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f-\x9f\u2028\u2029]*[^\s\x00-\x1f\x7f])?")


_UNSHOWN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\ufff0-\ufff8\U0001d159\U000e0000-\U000e0fff]"
)
"""Letters that are printable by their category and yet nothing is seen of them: fillers, joiners,
variation selectors, and the rest of what Unicode has programs ignore where they do not know it."""

_BELIEVED: ContextVar[bool] = ContextVar("_BELIEVED", default=False)


@contextmanager
def believing() -> Iterator[None]:
    """Within, names and times may be what was allowed once: a journal is read as it was
    accepted."""
    token = _BELIEVED.set(True)
    try:
        yield
    finally:
        _BELIEVED.reset(token)


def is_believed() -> bool:
    """Whether what is read now was accepted before."""
    return _BELIEVED.get()


def is_shown(text: str) -> bool:
    """Whether all of the text is seen, in the order in which it is written: it holds no control
    character, nothing that changes the direction of text, and nothing of which nothing is seen."""
    return (text.isascii() and text.isprintable()) or (
        text.isprintable() and (is_believed() or not _UNSHOWN.search(text))
    )


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
    if not name.strip():
        what = "be spaces alone" if name else "be empty"
        raise InputError(f"a name cannot {what}", "write at least one letter")
    if len(name) > LONGEST_NAME:
        raise InputError(f"a name of {len(name)} characters", f"use at most {LONGEST_NAME}")
    if not _NAME.fullmatch(name):
        raise InputError(
            f"the name {name!r} begins or ends with a space or holds a control character",
            f"write {''.join(c if c.isprintable() else ' ' for c in name).strip()!r}",
        )
    if not (name.isascii() or is_shown(name) or _BELIEVED.get()):
        raise InputError(
            f"the name {name!a} holds letters that change the direction of text or are not shown",
            f"write {''.join(c for c in name if is_shown(c)).strip()!r}",
        )
    return name
