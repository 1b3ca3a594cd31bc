"""Witnesses as files in a directory, one for each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from fairlead.audit.finding import Witness
from fairlead.audit.witness import witness_json
from fairlead.model.errors import OutputError
from fairlead.whole_file import write_whole


def write_witnesses(witnesses: Iterable[tuple[str, str, Witness]], directory: str) -> None:
    """Writes each witness under its policy and what it is a witness of, which come first, and makes
    the directory for them. Raises OutputError."""
    folder = Path(directory)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{directory} cannot be made: {error.strerror}") from error
    for policy, about, witness in witnesses:
        name = re.sub(r"[^A-Za-z0-9.-]+", "_", policy).strip("_")
        write_whole(folder / f"{name}-{about}.json", witness_json(witness) + "\n")
