"""Files of the service that its owner alone can read: written durably, whole or not at all."""

from __future__ import annotations

from pathlib import Path

from fairlead import whole_file
from fairlead.model.errors import OutputError


def write_private(file: Path, text: str) -> None:
    """Writes a line, in place of what is there. Raises OutputError."""
    try:
        whole_file.write_private(file, text + "\n")
    except OSError as error:
        raise OutputError(f"{file} cannot be written: {error.strerror}") from error
