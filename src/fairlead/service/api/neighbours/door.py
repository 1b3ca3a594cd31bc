"""The door as Python sees it: a thread that needs no interpreter accepts connections, and tells of
those who can be answered."""

from __future__ import annotations

import os
import resource
import secrets
import select
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from struct import iter_unpack
from time import monotonic
from typing import Any

import numpy as np

from fairlead.service.api.kernels import door as kernels
from fairlead.service.api.kernels.heads import mark
from fairlead.service.api.neighbours.watch import Watch
from fairlead.service.api.settings import ApiSettings

RESERVE = 32
"""Descriptors that no connection gets: the service opens files, too."""

TOLD_AT_ONCE = 8 * 1024
"""Bytes of what the thread tells that are read at once: eight of each connection."""

Table = np.ndarray[Any, np.dtype[np.uint64]]
"""Marks, each in one of the few places that it can have; 0 in those that are free."""


class Door:
    """Has `listening`, a socket that listens, attended to: by `look` once, or by a thread from
    `attend` on. Its descriptor can be read where there is something to do."""

    def __init__(
        self,
        listening: int,
        settings: ApiSettings,
        head_bytes: int,
        *,
        tls: bool,
        behind_proxy: bool,
    ) -> None:
        waiting = settings.handshakes if tls else settings.connections
        each = settings.address_handshakes if tls else settings.address_connections
        each = waiting if behind_proxy else each
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self.descriptors = max(files - RESERVE, files // 2)
        together = min(settings.connections, self.descriptors // 4)
        limits = kernels.Limits(
            tls=tls,
            head_bytes=head_bytes,
            waiting=waiting,
            each=each,
            owned=min(waiting if tls else settings.connections // 2, self.descriptors // 4),
            strange=each,
            together=together,
            descriptors=self.descriptors,
            seconds=float(settings.head_seconds),
        )
        self._told, told = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._epoll = select.epoll()
        self._ended = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        for number in (listening, self._ended):
            self._epoll.register(number, select.EPOLLIN)
        key = secrets.token_bytes(kernels.KEY_BYTES)
        self._state = kernels.make_door(listening, self._epoll.fileno(), told, key, limits)
        self._watch = Watch(self._told)
        self._thread: threading.Thread | None = None

    def fileno(self) -> int:
        """What is to be watched."""
        return self._watch.fileno()

    def attend(self) -> None:
        """From now on, by a thread. What is not compiled yet is now, where it may fail."""
        self.look(monotonic())
        self._thread = threading.Thread(target=self._attend, name="door", daemon=True)
        self._thread.start()

    def look(self, now: float) -> None:
        """Attends to all who are there, once; it is so late now."""
        kernels.attend(self._state, float(now))

    def arrived(self) -> Iterator[tuple[int, int]]:
        """Those who can be answered and were not told of yet: the descriptor, or FULL, and the
        line."""
        with suppress(BlockingIOError):
            yield from iter_unpack("=ii", os.read(self._told, TOLD_AT_ONCE))

    def took(self, line: int) -> None:
        """One is in this line no more."""
        self._state.taken[line] += 1
        self._state.taken[-1] += line >= kernels.LINES or self._state.tls

    def refused(self) -> int:
        """How many were closed, ever, as their line was full."""
        return int(self._state.refused[0])

    def learn(self, said: bytes, owner: str) -> None:
        """Who shows what is shown here is this owner from now on."""
        place = self._put(self._state.known, said)
        hashed = blake2b(owner.encode(), digest_size=8, key=self._state.key.tobytes())
        self._state.owners[place] = int.from_bytes(hashed.digest())

    def condemn(self, said: bytes) -> None:
        """What is shown here is wrong."""
        self._put(self._state.wrong, said)

    def forget(self, said: bytes) -> None:
        """Whose it is what is shown here is not known any more."""
        place = _find(self._state.known, self._mark(said))
        if place is not None:
            self._state.known[place] = 0

    def call_again(self, wanted: bool) -> None:
        """Whether the descriptor can be read though nothing came."""
        self._watch.call_again(wanted)

    def close(self) -> None:
        """Nobody is attended to any more, and who waits is closed."""
        self._state.ended[0] = 1
        os.eventfd_write(self._ended, 1)
        if self._thread is not None:
            self._thread.join()
        waiting = [int(number) for number in self._state.numbers if number >= 0]
        while some := list(self.arrived()):
            waiting += [number for number, _ in some if number != kernels.FULL]
        for number in waiting:
            os.close(number)
        self._watch.close()
        self._epoll.close()
        for number in (self._ended, self._told, self._state.pipe):
            os.close(number)

    def _attend(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are for Python
        kernels.attend(self._state, -1.0)

    def _mark(self, said: bytes) -> int:
        return int(mark(np.frombuffer(bytearray(said), np.uint8), len(said), self._state.key))

    def _put(self, table: Table, said: bytes) -> int:
        """Has the mark in the table, instead of another one where there is no place."""
        found = self._mark(said)
        place = _find(table, found)
        if place is None:
            place = _find(table, 0, found)
        if place is None:
            place = _first(found) + (found >> 60) % kernels.WAYS
        table[place] = found
        return place


def _first(mark_of: int) -> int:
    """The first of the places that this mark can have."""
    return mark_of & (kernels.PLACES - kernels.WAYS)


def _find(table: Table, wanted: int, mark_of: int | None = None) -> int | None:
    """Where this is, of the places that the mark can have: itself, unless another one is given."""
    first = _first(wanted if mark_of is None else mark_of)
    ways = range(first, first + kernels.WAYS)
    return next((place for place in ways if int(table[place]) == wanted), None)
