"""Shares over time in a file beside the journal, so that a restart does not forget them.

The file is no part of the journal: nothing follows from it, and it is not synced. Each moment is
added at its end with a checksum; when the history thins, the file is written anew. What a kill or a
full disk left half-written is passed over.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from fairlead.service.fairness.history import MOST_POINTS, History, Sample

START = b"fairlead shares 1\n"

_HEAD = struct.Struct("<II")  # length and checksum of what follows
_BODY = struct.Struct("<qI")  # time, and length of the names; none: those of the one before
_SAME = 0xFFFF_FFFF
_WIDTH = 4


class LastingHistory(History):
    """A history that is kept in a file, which one process has. `problem`: why it is not kept now;
    empty if it is. It is read when it is made, and one that is no history is left aside."""

    def __init__(self, path: Path, most: int = MOST_POINTS) -> None:
        super().__init__(most)
        self.problem = ""
        self._path = path
        self._file = -1
        self._names: tuple[str, ...] | None = None  # those that the end of the file knows
        with suppress(FileNotFoundError):
            self._take(path)
        self._write_anew()

    def add(self, sample: Sample) -> None:
        """As `History.add`; it is in the file on return, where that can be written."""
        thinned = self._thinned
        dropped = self._drop_after(sample.time)
        super().add(sample)
        if dropped or self._thinned != thinned or self._file < 0:
            self._write_anew()
        else:
            self._append(self._samples[-1])

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _take(self, path: Path) -> None:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise
        except OSError as error:
            self.problem = f"{path} cannot be read: {error.strerror}"
            return
        for sample in _samples(data):
            if not self._samples or sample.time >= self._samples[-1].time:
                super().add(sample)

    def _append(self, sample: Sample) -> None:
        record = _record(sample, self._names)
        try:
            done = os.write(self._file, record)
        except OSError as error:
            self._failed(error)
            return
        if done < len(record):
            self.close()  # what comes next would not be understood: it is written anew
            return
        self._names = sample.names

    def _write_anew(self) -> None:
        """The whole file, in place of the one that there is."""
        self.close()
        new = self._path.with_name(f"{self._path.name}.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        try:
            self._file = os.open(new, flags, 0o600)
            names: tuple[str, ...] | None = None
            with os.fdopen(os.dup(self._file), "wb") as out:
                out.write(START)
                for sample in self._samples:
                    out.write(_record(sample, names))
                    names = sample.names
            new.replace(self._path)
        except OSError as error:
            self._failed(error)
            with suppress(OSError):
                new.unlink(missing_ok=True)
            return
        self._names, self.problem = names, ""

    def _failed(self, error: OSError) -> None:
        self.problem = f"{self._path} cannot be written: {error.strerror}"
        self.close()


def _record(sample: Sample, known: tuple[str, ...] | None) -> bytes:
    names = b"" if sample.names == known else json.dumps(sample.names).encode()
    length = len(names) if names else _SAME
    values = np.ascontiguousarray(sample.values, "<f4").tobytes()
    body = _BODY.pack(sample.time, length) + names + values
    return _HEAD.pack(len(body), zlib.crc32(body)) + body


def _samples(data: bytes) -> Iterator[Sample]:
    """The moments in the file, to the first that is not whole."""
    if not data.startswith(START):
        return
    at, names = len(START), None
    while at + _HEAD.size <= len(data):
        length, checksum = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        body = data[at : at + length]
        at += length
        if len(body) < max(length, _BODY.size) or zlib.crc32(body) != checksum:
            return
        time, size = _BODY.unpack_from(body)
        place = _BODY.size
        if size != _SAME:
            names = tuple(map(str, json.loads(body[place : place + size])))
            place += size
        if names is None:
            return
        values = np.frombuffer(body, "<f4", offset=place)
        if values.size != _WIDTH * len(names):
            return
        yield Sample(time, names, values.astype(np.float32).reshape(-1, _WIDTH))
