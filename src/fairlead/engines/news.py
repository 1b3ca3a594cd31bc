"""Says when there is something to hear: a thread waits for descriptors and for a time."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Mapping
from math import inf
from threading import Lock, Thread

LONGEST = 3600.0
"""Seconds that it sleeps at a stretch: a wait of weeks has no place in a call of the system."""


class NewsWatch:
    """Calls `wake` once after it was armed and one of the descriptors is ready, or the time has
    come, and so for each descriptor and time; then it is still until it is armed again.

    Whoever asks reads everything first and arms it then, and so misses nothing:

    - A descriptor is armed for one event (EPOLLONESHOT). To arm it has the kernel look whether it
      is ready, so what came after it was read, and before, is told as what comes later. What comes
      while it is not armed comes after a `wake` whose answer is still to come: to ask, read and
      arm.
    - The time is set under the lock under which the thread finds out how long it may sleep. If the
      thread was there first and sleeps longer, that is seen, and it is kicked: by a descriptor
      that stays ready until it is read, so also where the thread is not asleep yet. A later time
      kicks nobody: the thread wakes up at the earlier one, and sleeps on.
    - A time that was reached is forgotten before `wake` is called, so none that is set by the
      answer to it is.
    """

    def __init__(self) -> None:
        self._wake: Callable[[], None] = lambda: None
        self._watched: set[int] = set()
        self._lock = Lock()
        self._due = self._sleeps_until = inf
        self._thread: Thread | None = None

    def listen(self, wake: Callable[[], None]) -> None:
        """Begin, or go on with another one to wake, who is to ask at once: what came by now was
        told to nobody."""
        self._wake = wake
        if self._thread is None:
            self._closing = False
            self._epoll = select.epoll()
            self._kick = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
            self._epoll.register(self._kick, select.EPOLLIN)
            self._thread = Thread(target=self._work, name="fairlead-news", daemon=True)
            self._thread.start()
        wake()

    def arm(self, events: Mapping[int, int], due: float) -> None:
        """From now on it waits for these events of epoll, by their descriptors, which are the same
        until it is released, and for this time of the steady clock. Nothing, if nobody listens."""
        if self._thread is None:
            return
        for descriptor, wanted in events.items():
            if descriptor in self._watched:
                self._epoll.modify(descriptor, wanted | select.EPOLLONESHOT)
            else:
                self._epoll.register(descriptor, wanted | select.EPOLLONESHOT)
                self._watched.add(descriptor)
        with self._lock:
            self._due = due
            late = due < self._sleeps_until
        if late:
            os.eventfd_write(self._kick, 1)

    def release(self) -> None:
        """It waits for nothing. Comes before descriptors are closed: another file may have their
        numbers at once."""
        for descriptor in self._watched:
            self._epoll.unregister(descriptor)
        self._watched.clear()
        with self._lock:
            self._due = inf

    def close(self) -> None:
        """End the thread. Closing again is nothing."""
        if self._thread is None:
            return
        self.release()
        self._closing = True
        os.eventfd_write(self._kick, 1)
        self._thread.join()
        self._thread = None
        self._epoll.close()
        os.close(self._kick)

    def _work(self) -> None:
        while not self._closing:
            with self._lock:
                come = self._due <= time.monotonic()
                if come:
                    self._due = inf
                self._sleeps_until = self._due
            if come:
                self._wake()
            pause = max(0.0, self._sleeps_until - time.monotonic())
            ready = [descriptor for descriptor, _ in self._epoll.poll(min(pause, LONGEST))]
            if self._kick in ready:
                ready.remove(self._kick)
                os.eventfd_read(self._kick)
            if ready:
                self._wake()
