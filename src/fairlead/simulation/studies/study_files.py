"""The files of a study's folder: its settings, each finished run, and how they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairlead.model.errors import InputError, OutputError
from fairlead.model.json_tree import json_tree
from fairlead.whole_file import write_whole

STUDY, RUN = "study.json", "run.json"
STUDY_SCHEMA, RUN_SCHEMA = "fairlead.simulation.study/1", "fairlead.simulation.run/1"


def content_of(file: Path, schema: str) -> dict[str, Any]:
    """Reads the file, which is of this schema. Raises InputError."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{file} cannot be read: {error}", "simulate again into another folder"
        ) from error
    content = json_tree(text, str(file), "simulate again into another folder")
    found = content.get("schema") if isinstance(content, dict) else None
    if not isinstance(content, dict) or found != schema:
        raise InputError(
            f"{file} is {found or 'of no schema'}, not {schema}",
            "use the version of Fairlead that wrote it",
        )
    return content


def write_file(file: Path, content: str | bytes) -> None:
    """Writes a file of the study whole or not at all, and makes its folder. Raises OutputError."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{file} cannot be written: {error.strerror}") from error
    write_whole(file, content)
