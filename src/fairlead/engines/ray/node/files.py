"""On a node: where outputs of tasks are kept, how parts of them are read, how they are removed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Any

TAIL = 4096
"""Bytes at the end of each output that are told with a task's end, and outlive its node."""


def base(service: str) -> Path:
    """The folder of a service's outputs on this node: this user's alone. Raises OSError."""
    folder = Path(tempfile.gettempdir()) / f"fairlead-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to somebody else")
    folder.chmod(0o700)
    within = folder / service
    within.mkdir(mode=0o700, exist_ok=True)
    return within


def path_of(service: str, key: tuple[int, int, int], stream: str) -> Path:
    job, task, number = key
    folder = base(service) / str(job)
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"{task}.{number}.{stream}"


def size_and_tail(path: Path) -> dict[str, Any]:
    """The size of an output that is over, and its last bytes; an empty one is removed."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - TAIL))
            tail = file.read(TAIL)
    except FileNotFoundError:
        return {"size": 0, "tail": b""}
    if not size:
        path.unlink(missing_ok=True)
    return {"size": size, "tail": tail}


def read_part(
    service: str, key: tuple[int, int, int], stream: str, offset: int, most: int
) -> tuple[bytes, int, int]:
    """At most so many bytes of an output, where they begin, and how many there are in all."""
    try:
        with path_of(service, key, stream).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            begin = max(0, size + offset) if offset < 0 else min(offset, size)
            file.seek(begin)
            return file.read(most), begin, size
    except FileNotFoundError:
        return b"", 0, 0


def remove(service: str, keys: list[tuple[int, int, int]]) -> None:
    """Removes all outputs of these attempts, and the folders that are empty then."""
    for key in keys:
        for stream in ("stdout", "stderr"):
            path_of(service, key, stream).unlink(missing_ok=True)
    for job in sorted({key[0] for key in keys}):
        # Another attempt of the job may have outputs there, or just begin to.
        with contextlib.suppress(OSError):
            (base(service) / str(job)).rmdir()
