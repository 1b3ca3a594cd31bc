"""A state folder that is a copy: whatever it says to be under way, the original may go on with."""

from __future__ import annotations

from pathlib import Path

from fairlead.client.places import ORIGINAL
from fairlead.model.errors import InputError, OutputError
from fairlead.whole_file import write_private


def check_original(state: Path, is_moved: bool) -> None:
    """Raises InputError where the state folder is a copy of another one, whose file `original` has
    another number in the file system than the one that it holds, unless an operator has
    said that it `is_moved`: nothing goes on with the original; or where the file is damaged, so
    that it may be one. Nothing has changed then.

    Two services with one folder's records would stop each other's tasks, and start what waits in
    both journals twice."""
    file = state / ORIGINAL
    try:
        said = file.read_bytes().strip() if file.exists() else b""
        if said and said == b"%d" % file.stat().st_ino:
            return
        if said and not is_moved:
            what = "may be a copy, since `original` in it is damaged"
            if said.isdigit():
                what = "is a copy, or was restored"
            raise InputError(
                f"{state} {what}: a service may go on with the original, and with the same tasks",
                "name another folder with --state; if nothing goes on with the original, say so"
                " once with --state-is-moved",
            )
        write_private(file, "")
        file.write_text(f"{file.stat().st_ino}\n", encoding="ascii")
    except OSError as error:
        raise OutputError(f"{file} cannot be used: {error}") from error
