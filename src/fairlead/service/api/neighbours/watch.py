"""What Linux watches for a listener, under one descriptor."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator

LOOKED_AT = 16
"""Of those on which more came, that are told of at once."""

_MORE = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET
_OVER = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR


class Watch:
    """Its descriptor can be read where somebody new is in the listening socket's queue, where
    more came on a connection that waits (once each time: half a head wakes nobody again), and
    where it was told to call again."""

    def __init__(self, listening: int) -> None:
        self._epoll = select.epoll()
        self._again = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._calls = self._paused = False
        self._listening = listening
        self._epoll.register(listening, select.EPOLLIN)
        self._epoll.register(self._again, select.EPOLLIN)

    def fileno(self) -> int:
        """The descriptor."""
        return self._epoll.fileno()

    def add(self, number: int) -> None:
        """One that waits, by its descriptor."""
        self._epoll.register(number, _MORE)

    def remove(self, number: int) -> None:
        """It waits no more."""
        self._epoll.unregister(number)

    def poll(self) -> Iterator[tuple[int, bool]]:
        """Descriptors on which something came since they were told of, and whether the other end
        says no more. The listening socket's may be among them."""
        for number, events in self._epoll.poll(0, LOOKED_AT):
            yield number, bool(events & _OVER)

    def call_again(self, wanted: bool) -> None:
        """Whether the descriptor can be read though nothing came."""
        if wanted and not self._calls:
            os.eventfd_write(self._again, 1)
        elif self._calls and not wanted:
            os.eventfd_read(self._again)
        self._calls = wanted

    def pause(self) -> None:
        """Who is in the listening socket's queue makes nothing readable, until `resume`."""
        self._epoll.modify(self._listening, 0)
        self._paused = True

    def resume(self) -> None:
        """It does again."""
        if self._paused:
            self._epoll.modify(self._listening, select.EPOLLIN)
            self._paused = False

    def close(self) -> None:
        """Nothing is watched any more."""
        self._epoll.close()
        os.close(self._again)
