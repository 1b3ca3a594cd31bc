"""What Linux watches for a listener, under one descriptor."""

from __future__ import annotations

import os
import select


class Watch:
    """Its descriptor can be read where another one can, and where it was told to call again."""

    def __init__(self, watched: int) -> None:
        self._epoll = select.epoll()
        self._again = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._calls = False
        self._epoll.register(watched, select.EPOLLIN)
        self._epoll.register(self._again, select.EPOLLIN)

    def fileno(self) -> int:
        """The descriptor."""
        return self._epoll.fileno()

    def call_again(self, wanted: bool) -> None:
        """Whether the descriptor can be read though nothing came."""
        if wanted and not self._calls:
            os.eventfd_write(self._again, 1)
        elif self._calls and not wanted:
            os.eventfd_read(self._again)
        self._calls = wanted

    def close(self) -> None:
        """Nothing is watched any more."""
        self._epoll.close()
        os.close(self._again)
