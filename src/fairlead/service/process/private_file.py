"""Files of the service that its owner alone can read: written durably, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from fairlead.model.errors import OutputError
from fairlead.whole_file import sync_folder


def write_private(file: Path, text: str) -> None:
    """Writes a line, in place of what is there. A process that is killed leaves at most one other
    file beside it, which the next writes over. Raises OutputError."""
    beside = file.with_name(file.name + ".new")
    try:
        beside.unlink(missing_ok=True)
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text + "\n")
            out.flush()
            os.fsync(out.fileno())
        beside.replace(file)
        sync_folder(file.parent)
    except OSError as error:
        raise OutputError(f"{file} cannot be written: {error.strerror}") from error
