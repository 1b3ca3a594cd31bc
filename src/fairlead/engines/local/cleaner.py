"""Removes the working folders of attempts, whatever their owners left in them or still do there.

A folder first gets a name that no attempt can have, at once and in the spawner, which makes the
folders, too: so what has an attempt's name is never taken away from who has that name next.

A process of its own, forked from the spawner, does the removing, for a large file can hold it up
for seconds. It remembers nothing: it takes a step at a folder and says whether that is gone. So it
can die or be killed at any moment, and a folder that never ends holds up no other. What is left
where the spawner dies, too, is found by the next one.

Nothing is followed, nothing recursive: a folder within a folder is moved up to the top first, so
that all that is ever open is the top and one folder in it, however deep the tree is. It imports
nothing of Fairlead.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections import deque
from collections.abc import Callable, Iterator

STEP = 1000
"""Files and folders that are removed at a time."""

BATCH = 50
"""Names that are handed over at a time: they are written into a pipe in one step."""

DEATHS = 3
"""So often a folder is tried at which the process that removes dies."""

MARK = 8
"""Random bytes in the name of what is to be removed."""

LIST = "*"
"""Asks for what was forgotten before."""

OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Cleaner:
    """The spawner's end: what is to be removed, and the process that does so.

    `work`: the folder of the folders; `outputs`: the path of an output that an attempt has until it
    is forgotten; `main`: what that process runs, given the pipe from which it reads and the one
    into which it writes; it closes all else that it has."""

    def __init__(
        self, work: str, outputs: Callable[[str], str], main: Callable[[int, int], None]
    ) -> None:
        self._work, self._outputs, self._main = work, outputs, main
        self._waiting = deque([LIST])
        self._given: list[str] = []
        self._deaths: dict[str, int] = {}
        self._in = b""
        self._begin()

    def _begin(self) -> None:
        reading, writing = os.pipe()
        self._hears, its = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                self._main(reading, its)
                code = 0
            finally:
                os._exit(code)
        os.close(reading)
        os.close(its)
        self._tells = writing
        self._hand_over()

    def fileno(self) -> int:
        """Where its words arrive."""
        return self._hears

    def add(self, names: list[str]) -> list[str]:
        """Remove the folders of these attempts, whose names are free from now on; `?` before a
        name: only if it is empty. Why folders could not be removed."""
        kept: list[str] = []
        try:
            folder = os.open(self._work, OPEN)
        except FileNotFoundError:
            return kept
        except OSError as error:
            return [_why(self._work, error)]
        try:
            for name in names:
                plain = name.removeprefix("?")
                try:
                    if not _remove(folder, plain) and plain == name:
                        self._waiting.append(_set_aside(folder, plain))
                except OSError as error:
                    kept.append(_why(f"{self._work}/{plain}", error))
        finally:
            os.close(folder)
        self._hand_over()
        return kept

    def hear(self) -> list[str]:
        """Takes in what it said; why folders could not be removed."""
        self._in += os.read(self._hears, 1 << 16)
        *lines, self._in = self._in.split(b"\n")
        kept = []
        for line in lines:
            word, _, rest = os.fsdecode(line).partition(" ")
            if word == "found":
                if _is_aside(rest):
                    self._waiting.append(rest)
                elif not os.path.exists(self._outputs(rest)):  # else somebody has the name by now
                    kept += self.add([rest])
                continue
            name = self._given.pop(0)
            self._deaths.pop(name, None)
            if word == "left":
                self._waiting.append(name)
            elif word == "kept":
                kept.append(rest)
        self._hand_over()
        return kept

    def bury(self) -> list[str]:
        """Its process is dead: begin another, that tries the folder at which it died last of all.
        Why folders are not tried any more."""
        kept = []
        os.close(self._hears)
        os.close(self._tells)
        self._in = b""
        if self._given:
            name = self._given.pop(0)
            self._waiting.extendleft(reversed(self._given))
            self._given = []
            times = self._deaths[name] = self._deaths.get(name, 0) + 1
            if times < DEATHS:
                self._waiting.append(name)
            else:
                kept.append(f"{name}: what removes it dies over it")
        self._begin()
        return kept

    def _hand_over(self) -> None:
        if self._given or not self._waiting:
            return
        count = min(BATCH, len(self._waiting))
        self._given = [self._waiting.popleft() for _ in range(count)]
        with contextlib.suppress(OSError):  # it is dead, which is seen soon
            write_all(self._tells, os.fsencode("".join(f"{name}\n" for name in self._given)))


def _set_aside(folder: int, name: str) -> str:
    """Give what has this name in an open folder a name that no attempt has; which one."""
    new = f".{name}.{os.urandom(MARK).hex()}"
    os.rename(name, new, src_dir_fd=folder, dst_dir_fd=folder)
    return new


def _is_attempt(name: str) -> bool:
    """Whether it is an attempt's: three numbers. (Patterns take long to load.)"""
    parts = name.split(".")
    return len(parts) == 3 and all(
        len(part) <= 18 and part.isascii() and part.isdigit() for part in parts
    )


def _is_aside(name: str) -> bool:
    """Whether it is one that `_set_aside` gives."""
    attempt, _, mark = name[1:].rpartition(".")
    whole = len(mark) == 2 * MARK and all(each in "0123456789abcdef" for each in mark)
    return name.startswith(".") and whole and _is_attempt(attempt)


def write_all(to: int, data: bytes) -> None:
    """Writes it whole."""
    while data:
        data = data[os.write(to, data) :]


def serve(reading: int, writing: int, work: str, outputs: Callable[[str], str]) -> None:
    """Remove what is asked for in this folder, to the end of the input; `outputs`: the path of an
    output that an attempt has until it is forgotten."""
    os.nice(10)
    rest = b""
    while data := os.read(reading, 1 << 16):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            name = os.fsdecode(line)
            if name == LIST:
                for old in _forgotten(work, outputs):
                    write_all(writing, os.fsencode(f"found {old}\n"))
                write_all(writing, b"gone\n")
            else:
                write_all(writing, os.fsencode(_step(work, name)))


def _forgotten(work: str, outputs: Callable[[str], str]) -> Iterator[str]:
    """The leftovers that nobody got round to removing: outputs are forgotten first."""
    with contextlib.suppress(FileNotFoundError), os.scandir(work) as entries:
        for entry in entries:
            forgotten = _is_attempt(entry.name) and not os.path.exists(outputs(entry.name))
            if forgotten or _is_aside(entry.name):
                yield entry.name


def _step(work: str, name: str) -> str:
    """A step at this folder, in words."""
    try:
        folder = os.open(work, OPEN)
        try:
            return "gone\n" if remove(folder, name, STEP) else "left\n"
        finally:
            os.close(folder)
    except OSError as error:
        return f"kept {_why(f'{work}/{name}', error)}\n"


def _why(path: str, error: OSError) -> str:
    """A line of why what is there could not be removed."""
    return " ".join(f"{path}: {error.strerror}".split())


def remove(folder: int, name: str, most: int) -> bool:
    """Remove at most so many files and folders of what has this name in an open folder; whether
    there is nothing left to do. Raises OSError where something cannot be removed."""
    if _remove(folder, name):
        return True
    left = _Count(most)
    top = _open(folder, name)
    try:
        while not _remove(folder, name):
            for entry in _entries(top, left):
                if _remove(top, entry):
                    left.count -= 1
                else:
                    _empty(top, entry, left)
            if left.count <= 0:
                return _remove(folder, name)
        return True
    finally:
        os.close(top)


class _Count:
    """How much may be done yet."""

    def __init__(self, count: int) -> None:
        self.count = count


def _empty(top: int, name: str, left: _Count) -> None:
    """Empty a folder of the top one: its folders become folders of the top one, too."""
    within = _open(top, name)
    try:
        for entry in _entries(within, left):
            if not _remove(within, entry):
                _move(within, entry, top)
            left.count -= 1
    finally:
        os.close(within)
    _remove(top, name)


def _move(within: int, name: str, top: int) -> None:
    new = f".{os.urandom(8).hex()}"
    try:
        os.rename(name, new, src_dir_fd=within, dst_dir_fd=top)
    except PermissionError:  # a folder that is moved must be writable for who moves it
        os.close(_open(within, name))
        os.rename(name, new, src_dir_fd=within, dst_dir_fd=top)


def _entries(folder: int, left: _Count) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if left.count <= 0:
                return
            yield entry.name


def _remove(folder: int, name: str) -> bool:
    """Remove this if it is a file or an empty folder; whether it is not there any more."""
    try:
        os.rmdir(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except NotADirectoryError:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True


def _open(folder: int, name: str) -> int:
    """Open a folder, and have it to ourselves."""
    try:
        opened = os.open(name, OPEN, dir_fd=folder)
    except PermissionError:
        bare = os.open(name, OPEN | os.O_PATH, dir_fd=folder)
        try:
            os.chmod(f"/proc/self/fd/{bare}", 0o700)
        finally:
            os.close(bare)
        opened = os.open(name, OPEN, dir_fd=folder)
    try:
        if os.geteuid() == 0:
            os.fchown(opened, 0, 0)
        os.fchmod(opened, 0o700)
    except OSError:
        os.close(opened)
        raise
    return opened
