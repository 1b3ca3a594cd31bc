"""Frames between a service and the driver of its engine: JSON behind its length, over a pipe."""

from __future__ import annotations

import json
from typing import IO, Any

LONGEST_FRAME = 1 << 30
"""Bytes. A length beyond it is no length: the other side wrote something else."""


class BrokenFrameError(Exception):
    """The other side wrote no frame."""


def to_frame(tree: dict[str, Any]) -> bytes:
    data = json.dumps(tree, separators=(",", ":")).encode("ascii")
    return len(data).to_bytes(4, "big") + data


def write_frame(pipe: IO[bytes], tree: dict[str, Any]) -> None:
    """Writes a frame whole. Raises OSError where nobody reads any more."""
    pipe.write(to_frame(tree))
    pipe.flush()


def read_frame(pipe: IO[bytes]) -> dict[str, Any] | None:
    """The next frame; None at the end of the pipe, wherever in a frame it comes. Raises
    BrokenFrameError."""
    head = pipe.read(4)
    if len(head) < 4:
        return None
    length = int.from_bytes(head, "big")
    if length > LONGEST_FRAME:
        raise BrokenFrameError(f"a frame of {length} bytes")
    data = pipe.read(length)
    if len(data) < length:
        return None
    try:
        tree = json.loads(data)
    except ValueError as error:
        raise BrokenFrameError(str(error)) from error
    if not isinstance(tree, dict):
        raise BrokenFrameError("a frame that is no mapping")
    return tree
