"""The files of the dashboard, as the service answers with them: all that there are, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources.abc import Traversable

from fairlead.dashboard.page import FOLDER

PAGE = "index.html"
"""The file that a browser is given first."""

MEDIA = {".css": "text/css", ".html": "text/html", ".js": "text/javascript"}
"""The kinds of files that there are, by the ends of their names."""


@dataclass(frozen=True, slots=True)
class ServedFile:
    """A file's bytes, their media type, and a tag that changes with them."""

    content: bytes
    media: str
    tag: str


@cache
def served_files() -> Mapping[str, ServedFile]:
    """All files by name; those of a room below the others as `room/name`."""
    found: dict[str, ServedFile] = {}
    for each in sorted(FOLDER.iterdir(), key=lambda each: each.name):
        if each.is_file():
            found[each.name] = _read(each)
        else:
            found |= {f"{each.name}/{one.name}": _read(one) for one in each.iterdir()}
    return found


def _read(file: Traversable) -> ServedFile:
    content = file.read_bytes()
    media = MEDIA[file.name[file.name.rindex(".") :]]
    return ServedFile(content, media, f'"{blake2b(content, digest_size=16).hexdigest()}"')
