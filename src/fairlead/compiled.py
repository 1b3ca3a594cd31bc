"""The folder that keeps compiled functions between runs, and notes on its contents.

Numba keeps what it compiled, but does not notice an edit in a function of another file, nor two
swapped fields of one type: so the folder is named by a hash of all sources that are compiled
(docs/decisions/0072-compiled-state.md).
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent
COMPILED = ("kernels", "placement")
"""Folders whose files are compiled."""

ALSO = ("compiling.py", "scheduling/transitions.py")
"""How they are compiled, and the states whose numbers are compiled with them."""

SIMULATION = "simulation"
"""The functions that are compiled together for simulations."""

VARIABLE = "FAIRLEAD_CACHE"
"""The environment variable that names another folder than the user's usual one."""


def sources() -> tuple[Path, ...]:
    """Every file that is compiled, in the order of their paths."""
    compiled = (path for name in COMPILED for path in PACKAGE.glob(f"**/{name}/**/*.py"))
    return tuple(sorted([*compiled, *(PACKAGE / name for name in ALSO)]))


def cache_folder() -> Path:
    """The folder where what is compiled of exactly these sources is kept, if it can be."""
    digest = hashlib.blake2b(digest_size=12)
    for path in sources():
        digest.update(str(path.relative_to(PACKAGE)).encode())
        digest.update(hashlib.blake2b(path.read_bytes()).digest())
    named = os.environ.get(VARIABLE)
    usual = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    base = Path(named) if named else Path(usual) / "fairlead"
    return base / f"compiled-{digest.hexdigest()}"


@cache
def folder() -> Path:
    """The folder for what is compiled of exactly these sources. One that can be written to."""
    place = cache_folder()
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return place
    except OSError:
        # A home that cannot be written to (a service's user): compile again in each process.
        return Path(tempfile.mkdtemp(prefix="fairlead-compiled-"))


def first_time(what: str) -> bool:
    """Whether nobody has noted yet that all of `what` is compiled: it will take its time."""
    return not _note(what).exists()


def note(what: str) -> None:
    """Notes that all of `what` is compiled and kept."""
    with suppress(OSError):  # then it is said once more than needed that it takes long
        _note(what).touch()


def _note(what: str) -> Path:
    """The file of the note. What Numba keeps is of this installation, as it was made, and of the
    Python and the Numba that compiled it: so is the note."""
    made = [(str(path), path.stat().st_mtime_ns) for path in sources()]
    by = sys.implementation.cache_tag, importlib.metadata.version("numba")
    digest = hashlib.blake2b(repr((made, by)).encode(), digest_size=6).hexdigest()
    return folder() / f"{what}-{digest}.compiled"
