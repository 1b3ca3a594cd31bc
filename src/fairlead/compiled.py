"""The folder that keeps compiled functions between runs, and notes on its contents.

What is kept of a function holds what it calls in other files, too: so the folder is named by a hash
of all sources that are compiled (docs/decisions/0072-compiled-state.md).
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent
COMPILED = frozenset({"kernels", "placement"})
"""Folders whose files are compiled."""

ALSO = ("compiling.py", "compiler_cache.py", "scheduling/transitions.py")
"""How they are compiled and kept, and the states whose numbers are compiled with them."""

KERNEL = ".kernel"
"""How the name of a file ends that holds a compiled function."""

SIMULATION = "simulation"
"""The functions that are compiled together for simulations."""

LEFT_FOR = 3600.0
"""Seconds after which nobody writes a file any more that has not got its name yet."""

VARIABLE = "FAIRLEAD_CACHE"
"""The environment variable that names another folder than the user's usual one."""


@cache
def sources() -> tuple[Path, ...]:
    """Every file that is compiled, in the order of their paths."""
    found = [PACKAGE / name for name in ALSO]
    top = str(PACKAGE)
    for place, folders, files in os.walk(top):
        folders[:] = (name for name in folders if name != "__pycache__")
        if not COMPILED.isdisjoint(place.removeprefix(top).split("/")):
            found += (Path(place, name) for name in files if name.endswith(".py"))
    return tuple(sorted(found))


def stamp() -> tuple[tuple[int, ...], ...]:
    """Of each of them what is another one once it is written anew."""
    found = map(os.stat, sources())
    return tuple((each.st_mtime_ns, each.st_size, each.st_ino) for each in found)


@cache
def folder() -> Path:
    """The folder where what is compiled of exactly these sources is kept, if it can be."""
    digest = hashlib.blake2b(digest_size=12)
    for path in sources():
        digest.update(str(path.relative_to(PACKAGE)).encode())
        digest.update(hashlib.blake2b(path.read_bytes()).digest())
    named = os.environ.get(VARIABLE)
    usual = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    base = Path(named) if named else Path(usual) / "fairlead"
    return base / f"compiled-{digest.hexdigest()}"


def distrusted(path: Path, about: os.stat_result) -> str:
    """Why somebody else than this user and root may have put there what is at the path; empty where
    nobody can. It is machine code, and a pickle: who writes it does what he likes with whom it is
    read by."""
    if about.st_uid not in (0, os.geteuid()):
        return f"{path} belongs to another user"
    if about.st_mode & 0o022:
        return f"others may write to {path}"
    return ""


def first_time(what: str) -> bool:
    """Whether nobody has noted yet that all of `what` is compiled: it will take its time."""
    return not _note(what).exists()


def note(what: str) -> None:
    """Notes that all of `what` is compiled and kept."""
    with suppress(OSError):  # then it is said once more than needed that it takes long
        folder().mkdir(parents=True, exist_ok=True)
        _note(what).touch()


def tidy() -> None:
    """Removes what a process left that was killed while it wrote a function, and notes by the
    folder's time that this version is used."""
    with suppress(OSError):
        old = time.time() - LEFT_FOR
        for path in folder().glob(f".*{KERNEL}.*"):
            with suppress(OSError):
                if path.stat().st_mtime < old:
                    path.unlink()
        os.utime(folder())


def of_other_versions() -> tuple[list[Path], int, float]:
    """The folders of other versions beside this one's, the bytes of their files, and when one of
    them was last used, in seconds since 1970 (0: there is none)."""
    mine = folder()
    others = sorted(path for path in mine.parent.glob("compiled-*") if path != mine)
    size, used = 0, 0.0
    for other in others:
        with suppress(OSError):
            used = max(used, other.stat().st_mtime)
            size += sum(path.stat().st_size for path in other.rglob("*") if path.is_file())
    return others, size, used


@cache
def compiler() -> str:
    """By what functions are compiled: who has another one cannot use what is kept."""
    versions = (importlib.metadata.version(name) for name in ("numba", "llvmlite"))
    return "-".join((sys.implementation.cache_tag or "python", *versions))


def _note(what: str) -> Path:
    """The file of the note."""
    return folder() / f"{what}-{compiler()}.compiled"
