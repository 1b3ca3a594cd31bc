"""Large arguments and results, by way of Ray's object store where this script is joined to it.

What is kept there belongs to Fairlead's launcher on the head, not to this script: it outlives it.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import ray

from fairlead.engines.ray.engine import LAUNCHER, NAMESPACE
from fairlead.ray.errors import CallError

INLINE = 256 * 1024
"""Bytes of pickled arguments beyond which they go through the object store."""

TOGETHER = 5_000_000
"""Bytes of all that a job carries with it: a request to the service is no longer than 8 MiB, and
text for bytes takes a third more."""

Key = tuple[int, int, int]


def launcher() -> Any:
    """The actor that keeps them; None where this script is not joined to the cluster."""
    if not ray.is_initialized():
        return None
    try:
        return ray.get_actor(LAUNCHER, namespace=NAMESPACE)
    except ValueError:
        return None


def carry(items: Sequence[bytes], function: bytes) -> list[Any]:
    """The arguments as a call carries them: as text, or by the name under which they are kept.
    Raises CallError where they are too many for that."""
    keeper: Any = None
    total = len(function) + sum(map(len, items))
    by_size = INLINE if total <= TOGETHER else 1024
    if total > TOGETHER or any(len(item) > INLINE for item in items):
        keeper = launcher()
    found: list[Any] = []
    left = len(function)
    for item in items:
        if keeper is not None and len(item) > by_size:
            found.append({"kept": ray.get(keeper.keep.remote(item))})
        else:
            found.append(base64.b64encode(item).decode("ascii"))
            left += len(item)
    if left > TOGETHER:
        raise CallError(
            f"a call and its arguments take {left} bytes, and {TOGETHER} is the most that goes"
            " through the service; join the cluster with init(address=...), so that they go"
            " through Ray's object store, or make several calls of it"
        )
    return found


def fetch(keeper: Any, keys: Sequence[Key]) -> list[bytes | None]:
    """The results of these attempts, None where they are not there. Raises RayError."""
    answer = ray.get(keeper.results.remote(list(keys)))
    found: list[bytes | None] = []
    for each in answer:
        if each is None or not each["size"]:
            found.append(None)
        else:
            found.append(ray.get(each["ref"][0]) if each["ref"] else each["tail"])
    return found
