"""Disks of a few megabytes, which a test can fill: only root can mount them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[None]:
    """The folder is a disk of its own, of that size. Skips the test where none can be mounted."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk")
    folder.mkdir(mode=0o700)
    words = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "none", str(folder)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


def fill(file: Path) -> None:
    """Takes all room that there is on the file's disk."""
    disk = os.statvfs(file.parent)
    with pytest.raises(OSError, match="No space left"):
        file.write_bytes(bytes(disk.f_bavail * disk.f_frsize + 1))
