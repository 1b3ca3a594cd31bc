"""Small files that are written whole or not at all, and read whatever lies in their place.

It imports nothing of Fairlead, as the spawner and its shims use it, too.
"""

from __future__ import annotations

import contextlib
import os
import stat

LONGEST = 200
"""Bytes of a file that are looked at."""

UNFINISHED = ".new"
"""The ending of a file that is being written; the word before it is its writer's number."""


def create(name: str, text: str, folder: int | None = None, within: str = "") -> bool:
    """Make a file with this text in an open folder, or by its path; False: something is there
    already, which stays as it is. Who finds the file finds all of it. It is written `within`
    another folder, and made only while that is there."""
    new = f"{name}.{os.getpid()}{UNFINISHED}"
    new = f"{within}/{new}" if within else new
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new, dir_fd=folder)
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        try:
            if os.write(file, text.encode()) != len(text):
                raise OSError(28, "No space left on device")  # a part of a line says nothing
        finally:
            os.close(file)
        # Unlike a rename it leaves what is there as it is.
        os.link(new, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        return False
    finally:
        os.unlink(new, dir_fd=folder)
    return True


def add(name: str, text: str, folder: int) -> None:
    """Adds a line to a small file, which takes no room of the disk: what it has there is a block.
    When it was changed stays as it was. Raises OSError."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    file = os.open(name, flags, dir_fd=folder)
    try:
        about = os.fstat(file)
        os.write(file, text.encode())
        os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
    finally:
        os.close(file)


def writer(name: str) -> int | None:
    """The process that writes the file of this name; None: nobody does."""
    word = name.removesuffix(UNFINISHED).rpartition(".")[2]
    known = name.endswith(UNFINISHED) and word.isascii() and word.isdigit() and len(word) < 10
    return int(word) if known else None


def read(path: str) -> tuple[str, int] | None:
    """The beginning of a plain file and when it was changed (nanoseconds); None: there is none.
    Something else in its place, such as a folder, a link or a pipe, reads as an empty text: it says
    nothing. Raises OSError where the disk does not answer."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError:
        about = os.lstat(path)
        if stat.S_ISREG(about.st_mode) and os.access(path, os.R_OK):
            raise
        return "", about.st_mtime_ns
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            return "", about.st_mtime_ns
        return os.read(file, LONGEST).decode("ascii", "replace"), about.st_mtime_ns
    finally:
        os.close(file)
