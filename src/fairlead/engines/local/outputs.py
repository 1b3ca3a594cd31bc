"""Passes on what a task writes, from pipes to the files that are kept, up to a limit: one that
writes without end fills no disk, and hears nothing of it.

The shim does this while it stands over the task, and on Ray a thread of the worker. What the task
leaves behind when it ends may write a little more until it is killed, which is left out."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Mapping
from enum import IntEnum

PIECE = 1 << 16
"""Bytes that are read at once: what a pipe holds."""

LAST = 1 << 20
"""Bytes of each output that are read at most once the task is over: what is in its pipe."""

UNSEEN = 1 << 20
"""Bytes that are kept until it is looked again whether no more are to be."""

REST = 0.005
"""Seconds between two pieces that are left out: who writes what nobody keeps waits for it."""

NOTICE = (
    "\n[fairlead: {} bytes of the output of a task are kept; what came after them is left out]\n"
)


class Missing(IntEnum):
    """Why some of the outputs is not kept. The last part of a status."""

    NOTHING = 0
    BEYOND_LIMIT = 1
    NOT_WRITTEN = 2  # a full disk


MISSING: Mapping[int, str] = {
    Missing.BEYOND_LIMIT: (
        "its output was longer than what is kept of one task, or than what its tenant had room for,"
        " and ends before its end"
    ),
    Missing.NOT_WRITTEN: "some of its output could not be written down, as on a full disk",
}
"""The sentences for outputs that are not whole."""


class Outputs:
    """The pipes of a task. `files`: descriptors of the two files, to which is added; `most`: bytes
    of both together; `uid`: who is to find the pipes his own, where another user runs the task;
    `cut`: whether nothing more is to be kept, asked with how much is."""

    def __init__(
        self,
        files: tuple[int, int],
        most: int,
        uid: int | None,
        cut: Callable[[int], bool] = lambda _: False,
    ) -> None:
        self.missing = Missing.NOTHING
        self._cut, self._unseen = cut, 0
        self._left = self._most = most
        self._told: set[int] = set()
        self._files: dict[int, int] = {}
        writing = []
        for file in files:
            reading, end = os.pipe()
            if uid is not None:
                os.fchown(end, uid, -1)  # it may open /dev/stdout
            os.set_blocking(reading, False)
            self._files[reading] = file
            writing.append(end)
        self.writing = (writing[0], writing[1])

    def close_writing(self) -> None:
        """In the shim, once the task has its ends."""
        for end in self.writing:
            os.close(end)

    def close(self) -> None:
        """Once all was passed on, where the process goes on."""
        for reading in self._files:
            os.close(reading)

    def pass_on(self, child: int) -> None:
        """Until the process, a child that nobody waited for, is over."""
        handle = os.pidfd_open(child)
        poller = select.poll()
        for descriptor in (handle, *self._files):
            poller.register(descriptor, select.POLLIN)
        over = False
        while not over:
            for descriptor, _ in poller.poll():
                if descriptor == handle:
                    over = True
                elif self._take(descriptor) == 0:
                    poller.unregister(descriptor)
        os.close(handle)
        for descriptor in self._files:
            taken = 0
            while taken < LAST and (size := self._take(descriptor)):
                taken += size

    def _take(self, descriptor: int) -> int | None:
        """Passes a piece on; how long it was. 0: it was closed, None: nothing is there."""
        try:
            data = os.read(descriptor, PIECE)
        except BlockingIOError:
            return None
        if not data:
            return 0
        self._unseen -= len(data)
        if self._unseen < 0 < self._left:
            self._unseen = UNSEEN
            if self._cut(self._most - self._left):
                self._most, self._left = self._most - self._left, 0
        kept = data[: self._left]
        self._left -= len(kept)
        file = self._files[descriptor]
        self._keep(file, kept)
        if len(kept) < len(data):
            if file not in self._told:
                self._told.add(file)
                self.missing = Missing.BEYOND_LIMIT
                self._keep(file, NOTICE.format(self._most).encode())
            time.sleep(REST)
        return len(data)

    def _keep(self, file: int, data: bytes) -> None:
        while data:
            try:
                data = data[os.write(file, data) :]
            except OSError:
                self.missing = Missing.NOT_WRITTEN
                return
