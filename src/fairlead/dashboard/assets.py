"""The files of the dashboard, as the service answers with them: all that there are, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b

from fairlead.dashboard.page import FOLDER

PAGE = "index.html"
"""The file that a browser is given first."""

MEDIA = {".css": "text/css", ".html": "text/html", ".js": "text/javascript"}
"""The kinds of files that there are, by the ends of their names."""


ROOT = b'"/dashboard/'
"""How the page begins the address of what it loads."""


@dataclass(frozen=True, slots=True)
class ServedFile:
    """A file's bytes, their media type, and a tag that changes with them."""

    content: bytes
    media: str
    tag: str


@dataclass(frozen=True, slots=True)
class ServedFiles:
    """All files by name, those of a room below the others as `room/name`, and the build that they
    are of, which changes with any of them: the page loads them from below it, so that what a
    browser has of a build need never be asked for again."""

    build: str
    files: Mapping[str, ServedFile]


@cache
def served_files() -> ServedFiles:
    """All that there are."""
    read: dict[str, bytes] = {}
    for each in FOLDER.iterdir():
        if each.is_file():
            read[each.name] = each.read_bytes()
        else:
            read |= {f"{each.name}/{one.name}": one.read_bytes() for one in each.iterdir()}
    whole = blake2b(digest_size=16)
    for name in sorted(read):
        whole.update(f"{name} {len(read[name])} ".encode() + read[name])
    build = whole.hexdigest()
    read[PAGE] = read[PAGE].replace(ROOT, ROOT + f"{build}/".encode())
    return ServedFiles(build, {name: _served(name, content) for name, content in read.items()})


def _served(name: str, content: bytes) -> ServedFile:
    media = MEDIA[name[name.rindex(".") :]]
    return ServedFile(content, media, f'"{blake2b(content, digest_size=16).hexdigest()}"')
