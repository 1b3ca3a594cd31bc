"""Reading input from files, directories and standard input; the parsers themselves take text."""

from __future__ import annotations

import difflib
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from fairlead.model.errors import InputError, Mistake, Mistakes, Place
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.reading import Check, read

STANDARD_INPUT = "-"

ENDINGS = (".yaml", ".yml", ".json")

Remark = Callable[[str], object]
"""Who is told in a sentence what is waited for."""

SILENT = 1.0
"""Seconds after which that is told."""

LARGEST = 256 * 2**20
"""Bytes of a file. What has as many parts as are read at most is smaller; a device never ends."""

NEAR = 0.7
"""How much of two names is to be the same where one is taken for the other."""

PART = 2**20
"""Bytes that are read at once."""

_held: dict[str, bytes] = {}
"""What was read ahead of files that can be read only once."""


def load(
    *paths: str | os.PathLike[str], check: Check = lambda _cluster, _jobs: ()
) -> tuple[Cluster, tuple[Job, ...]]:
    """The cluster and the jobs that files describe together.

    A directory stands for the files in it that end in .yaml, .yml or .json, in the order of their
    names; `-` for the standard input. Raises InputError with all mistakes of all files, and with
    those that `check` finds in what they describe.
    """
    return read(texts(paths), check)


def texts(
    paths: Iterable[str | os.PathLike[str]], on_wait: Remark = lambda _: None
) -> list[tuple[str, str]]:
    """The texts of all files with their names. `on_wait` is told of a pipe to which nobody writes.
    Raises InputError with every file that cannot be read."""
    mistakes = Mistakes()
    found: list[tuple[str, str]] = []
    seen: set[str] = set()
    for path in paths:
        for file in mistakes.attempt((), _files, os.fspath(path)) or ():
            if file in seen:
                mistakes.append(Mistake(f"{file} is given twice", "give it once"))
                continue
            seen.add(file)
            text = mistakes.attempt((), text_of, file, on_wait)
            if text is not None:
                found.append((called(file), text))
    if not seen and not mistakes:
        mistakes.append(Mistake("no file is given", "give a file, a directory, or - for stdin"))
    mistakes.report()
    return found


def _files(path: str) -> list[str]:
    if not path:
        raise InputError("a file's name is empty", "give a file, or `.` for this folder")
    if path == STANDARD_INPUT or not Path(path).is_dir():
        return [path]
    try:
        names = sorted(entry.name for entry in Path(path).iterdir())
    except OSError as error:
        raise InputError(f"the directory {path} cannot be read: {error.strerror}") from error
    files = [str(Path(path, name)) for name in names if _is_input(path, name)]
    if not files:
        raise InputError(
            f"the directory {path} holds no file that ends in {', '.join(ENDINGS)}",
            "give the files, or another directory",
        )
    return files


def _is_input(directory: str, name: str) -> bool:
    return (
        name.endswith(ENDINGS) and not name.startswith(".") and not Path(directory, name).is_dir()
    )


def called(file: str) -> str:
    """How messages call the file."""
    return "<stdin>" if file == STANDARD_INPUT else file


@contextmanager
def holding(files: Iterable[str]) -> Iterator[None]:
    """Reads the standard input and pipes among the files now, for those who read them more than
    once: until the end, each finds there what they held. Raises InputError."""
    before = dict(_held)
    try:
        for file in files:
            if file not in _held and (file == STANDARD_INPUT or Path(file).is_fifo()):
                _held[file] = _whole(file)
        yield
    finally:
        hold(before)


def held(*files: str) -> dict[str, bytes]:
    """What is held of these files."""
    return {file: _held[file] for file in files if file in _held}


def hold(contents: Mapping[str, bytes]) -> None:
    """Holds this and nothing else, which another process has read."""
    _held.clear()
    _held.update(contents)


def unreadable(file: str, error: Exception) -> Mistake:
    """The mistake that a file cannot be read, or that there is no such file."""
    if isinstance(error, FileNotFoundError) and Path(file).is_symlink():
        there = Path(file).readlink()
        return Mistake(f"{file} is a link to {there}, which is not there", "see to the link")
    if isinstance(error, FileNotFoundError):
        return Mistake(f"no such file: {file}", _nearest(file))
    if isinstance(error, IsADirectoryError):
        return Mistake(f"{file} is a folder, and a file is needed", "name the file")
    reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return Mistake(f"{called(file)} cannot be read: {reason}", "check the path and its permissions")


def _nearest(file: str) -> str:
    """The file of that folder whose name is nearest, as a question; where none is, a hint to look
    at the folder, because a wrong one is the usual mistake."""
    folder, name = Path(file).parent, Path(file).name
    if folder.is_dir():
        if near := _near(name, sorted(path.name for path in folder.iterdir())):
            return f"did you mean {folder / near}?"
        return "check its name, or the folder that you are in"
    return f"there is no folder {folder} either"


def _near(name: str, names: Sequence[str]) -> str:
    """The nearest of the names, empty if none is near: what stands before the ending decides, for
    any two names have their ending in common."""
    stems: dict[str, list[str]] = {}
    for each in names:
        stems.setdefault(Path(each).stem, []).append(each)
    found = difflib.get_close_matches(Path(name).stem, list(stems), n=1, cutoff=NEAR)
    alike = stems[found[0]] if found else []
    return max(
        alike, key=lambda each: difflib.SequenceMatcher(None, each, name).ratio(), default=""
    )


def _bytes(file: str, on_wait: Remark) -> bytes:
    """The file's bytes, or one more than there may be. A named pipe has some once somebody writes
    to it, for which programs wait; who forgot that one is to write is told."""
    if file in _held:
        return _held[file]
    if file == STANDARD_INPUT:
        return _read(sys.stdin.fileno())
    if not Path(file).is_fifo():
        with Path(file).open("rb") as stream:
            return stream.read(LARGEST + 1)
    number = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return _read(
            number, lambda: on_wait(f"{file} is a pipe: waiting for somebody who writes to it")
        )
    finally:
        os.close(number)


def _read(number: int, on_wait: Callable[[], object] = lambda: None) -> bytes:
    """What comes until the end, or is too much; `on_wait` hears that nothing has come for a
    while."""
    parts, left = list[bytes](), LARGEST + 1
    silent: float | None = 1000 * SILENT
    with _signals() as signals:
        there = select.poll()
        for each in (number, signals):
            there.register(each, select.POLLIN)
        while left:
            ready = dict(there.poll(silent))
            if not ready:
                on_wait()
            elif signals in ready:
                os.read(signals, PART)  # it did not end this
                continue
            else:
                part = os.read(number, min(left, PART))
                if not part:
                    break
                parts.append(part)
                left -= len(part)
            silent = None
    return b"".join(parts)


@contextmanager
def _signals() -> Iterator[int]:
    """A descriptor that can be read once a signal came. Python looks for signals before it calls
    the system, and what waits there would not hear of one that came in between: Ctrl-C seemed to
    do nothing, now and then."""
    told, tells = os.pipe()
    os.set_blocking(tells, False)
    heard = threading.current_thread() is threading.main_thread()  # others have no signals
    before = signal.set_wakeup_fd(tells) if heard else -1
    try:
        yield told
    finally:
        if heard:
            signal.set_wakeup_fd(before)
        os.close(told)
        os.close(tells)


def _whole(file: str, on_wait: Remark = lambda _: None) -> bytes:
    """All bytes of a file. Raises InputError."""
    try:
        raw = _bytes(file, on_wait)
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise InputError(unreadable(file, error)) from error
    if len(raw) > LARGEST:
        raise InputError(
            f"{called(file)} has more than {LARGEST >> 20} MiB, which is the most that is read",
            "check its name, or part it into several",
        )
    return raw


def text_of(file: str, on_wait: Remark = lambda _: None) -> str:
    """The text of a file, or of the standard input; `on_wait` as in `texts`. Raises InputError."""
    raw = _whole(file, on_wait)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        raise InputError(
            Mistake(
                f"the file is not UTF-8: byte 0x{raw[error.start]:02x} cannot be decoded",
                "save it as UTF-8",
                Place(called(file), line, column),
            )
        ) from error
