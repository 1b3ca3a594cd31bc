"""What the compiler makes, kept in files between runs."""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import stat
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from fairlead.compiled import KERNEL, VARIABLE, compiler, distrusted, folder, stamp
from fairlead.model.errors import OutputError
from fairlead.whole_file import as_any_new_file, written_whole

logger = logging.getLogger(__name__)

DIGEST = 16
"""Bytes at the beginning of a file."""

_AT_FIRST = stamp()
"""Of the sources, before most of them are imported."""

_warned: set[Path] = set()
"""Folders of which it was said that they cannot be written."""


class NotKeptError(Exception):
    """What a kernel calls is not there, or is another one."""


class CompilerCache:
    """What is kept of one function: a file for each kind of arguments and of processor.

    Each begins with a digest of whose it is and of all that follows. One that another digest
    belongs to, since power or disk failed while it was written, is as if it were not there.
    Numba's own cache believes its files, and names them in one that two processes may exchange
    (docs/decisions/0336-what-is-kept-is-checked.md).
    """

    def __init__(self, function: Callable[..., object]) -> None:
        assert function.__closure__ is None, "what it closes over would have to be of its name"
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._function = repr((self._name, identity(function), compiler()))

    def load_overload(self, kinds: Any, context: Any) -> Any:
        """What Numba made of the function for arguments of these kinds, if it is kept and can be
        read."""
        context.refresh()
        path, whose = self._file(kinds, context.codegen())
        found = _read(path)
        content = found[DIGEST:]
        if found[:DIGEST] != _checked(whose, content):
            return None
        try:
            return CompileResult._rebuild(context, *pickle.loads(content))  # noqa: SLF001  Numba has no other way
        except NotKeptError:
            return None

    def save_overload(self, kinds: Any, made: Any) -> None:
        """Keeps it. Where that cannot be, the next process compiles again."""
        if made.library.has_dynamic_globals:  # addresses that are of this process alone
            return
        path, whose = self._file(kinds, made.codegen)
        content = dumps(made._reduce())  # noqa: SLF001  Numba has no other way
        try:
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            if not _is_ours(path.parent) or _changed():
                return
            with written_whole(path, private=True) as beside:
                beside.write_bytes(_checked(whose, content) + content)
                as_any_new_file(beside)
                beside.chmod(beside.stat().st_mode & ~0o022)
        except (OSError, OutputError) as error:
            _warn(path.parent, error)

    def _file(self, kinds: Any, codegen: Any) -> tuple[Path, bytes]:
        """Where it is, and whose: of this function, for these arguments and this processor."""
        whose = hashlib.blake2b(
            repr((self._function, kinds, codegen.magic_tuple())).encode(), digest_size=DIGEST
        )
        return folder() / f"{self._name}.{whose.hexdigest()}{KERNEL}", whose.digest()


def _read(path: Path) -> bytes:
    """The content of a file that this user or root keeps there; empty where there is none. Nobody
    waits for a pipe."""
    try:
        if not _is_ours(path.parent) or _is_of_others(path.parent):
            return b""
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(file, "rb") as opened:
            about = os.fstat(file)
            sound = stat.S_ISREG(about.st_mode) and not distrusted(path, about)
            return opened.read() if sound else b""
    except OSError:
        return b""


def _is_ours(place: Path) -> bool:
    """Whether nobody but this user and root can have put something into the folder."""
    why = distrusted(place, place.stat())
    if why:
        _warn(place, f"{why}; {VARIABLE} names another folder")
    return not why


def _changed() -> bool:
    """Whether a source was written since this process began with them: what it makes may be of both
    then, and is neither's."""
    try:
        return stamp() != _AT_FIRST
    except OSError:
        return True


@cache
def _is_of_others(_place: Path) -> bool:
    """Whether the sources that name the folder may be others than those with which this process
    began. Asked once, when they were read."""
    return _changed()


def identity(function: Callable[..., object]) -> int:
    """A number that functions of one name have alike where they are of the same source."""
    code = function.__code__
    whose = repr((function.__module__, code.co_firstlineno, _digest(code.co_filename)))
    return int.from_bytes(hashlib.blake2b(whose.encode(), digest_size=8).digest())


def _checked(whose: bytes, content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST, key=whose).digest()


@cache
def _digest(path: str) -> str:
    """Of a source. That of ours names the folder, too; others have kernels in their own files."""
    return hashlib.blake2b(Path(path).read_bytes(), digest_size=DIGEST).hexdigest()


def _warn(place: Path, error: Exception | str) -> None:
    """Says once why the next process compiles again."""
    if place not in _warned:
        _warned.add(place)
        logger.warning("what is compiled cannot be kept, so each start compiles it: %s", error)
