"""Failures that nobody foresaw, in words that quote nothing of what is somebody's own."""

from __future__ import annotations

from pathlib import Path
from traceback import extract_tb

from fairlead.model.errors import InternalError
from fairlead.service.journal.entry import Body, Entry
from fairlead.version import __version__

FRAMES = 6
"""Places in the program that are told of a failure, the innermost first."""


def origin(error: BaseException) -> str:
    """The kind of an error, and where it arose. What it says may quote a job."""
    frames = reversed(extract_tb(error.__traceback__)[-FRAMES:])
    places = " < ".join(f"{Path(each.filename).name}:{each.lineno} {each.name}" for each in frames)
    return f"{type(error).__name__} at {places}"


def failed_at(entry: Entry, error: BaseException, by: str = "") -> InternalError:
    """The program failed when it took in an entry that is durable, `by` that version. Nothing mends
    that but another version: the entry says what was accepted or done, and is not dropped."""
    written = f", which version {by} wrote," if by else ""
    return InternalError(
        f"entry {entry.seq} of the journal ({_subject(entry)}){written} is whole, and this version"
        f" ({__version__}) fails at it: {origin(error)}; nothing is lost, and each start ends here"
        " until another version of Fairlead goes on from it"
    )


def _subject(entry: Entry) -> str:
    """The kind of an entry, and what it is about."""
    for kind in ("job", "machine", "tenant"):
        about: Body | str | None = entry.body.get(kind)
        name = about.get("name") if isinstance(about, dict) else about
        if isinstance(name, str):
            return f"{entry.kind}, {kind} {name!r}"
    return entry.kind
