"""Files that are written whole or not at all: under another name beside them, then renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairlead.model.errors import OutputError


@contextmanager
def written_whole(path: Path, *, private: bool = False) -> Iterator[Path]:
    """An empty file beside the path, to be written; it takes the path's name at the end, or leaves
    nothing behind. `private`: its owner alone may read it. Raises OutputError."""
    import tempfile  # slow to import, and few commands write files

    beside: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        beside = Path(name)
        yield beside
        if not private:
            as_any_new_file(beside)
        beside.replace(path)
        beside = None
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        if beside is not None:
            beside.unlink(missing_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes the file; what is no file, such as /dev/stdout, is written as it is. Raises
    OutputError."""
    data = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():  # nothing to rename over
        try:
            path.write_bytes(data)
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {error.strerror}") from error
        return
    with written_whole(path) as beside:
        beside.write_bytes(data)


def write_private(path: Path, text: str) -> None:
    """Writes a file that its owner alone may read, durably, in place of what is there. A process
    that is killed leaves at most one other file beside it, which the next one writes over. Raises
    OSError."""
    beside = path.with_name(path.name + ".new")
    beside.unlink(missing_ok=True)
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes durable which files are in the folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def as_any_new_file(path: Path) -> None:
    """The permissions of any other new file; a temporary one is private."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)
