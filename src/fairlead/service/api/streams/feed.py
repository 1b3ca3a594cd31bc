"""The journal's last entries, for those who follow what happens."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice, takewhile
from threading import Lock

from fairlead.service.api.service_view import ServiceView
from fairlead.service.journal.entry import Entry
from fairlead.wire.kinds import Role

CHUNK = 100
"""Entries that are handed out at once."""

FRAMES = 2000
"""Entries whose frames are kept for an audience: as many as its streams are apart, mostly."""

Audience = tuple[Role, str | None]
"""Those who are told the same of an entry."""

Frames = OrderedDict[int, bytes]
"""The texts of entries for an audience, by their seq."""

OLDEST = "the journal no longer holds what came then"


class GoneError(Exception):
    """The entries that a reader asks for are no longer kept, or never were."""


class Feed:
    """Keeps the last entries, `most` of them. The loop's thread gives, the server's thread takes.

    There is one buffer for all readers, each of whom knows where he is in it: one that is slow
    costs nothing, and falls out of it at some time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._kept: deque[Entry] = deque(maxlen=most)
        self._waiting: set[asyncio.Future[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._last = 0
        self._frames: dict[Audience, Frames] = {}
        self._open: Counter[Audience] = Counter()

    @property
    def last(self) -> int:
        """The seq of the last entry, as far as the server's thread knows."""
        with self._lock:
            return self._last

    def attach(self, view: ServiceView) -> None:
        """From now on. In the loop's thread."""
        with self._lock:
            self._last = max(self._last, view.records.seq)
        view.listeners.append(self.took)

    def listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """Readers wait in this event loop."""
        self._loop = loop

    def took(self, entries: Sequence[Entry]) -> None:
        """These are durable. In the loop's thread."""
        if not entries:
            return
        with self._lock:
            self._kept.extend(entries)
            self._last = entries[-1].seq
            wake = bool(self._waiting)
        if wake and self._loop is not None:
            with suppress(RuntimeError):  # closed just now: nobody listens any more
                self._loop.call_soon_threadsafe(self.wake_all)

    def after(self, seq: int) -> list[Entry] | None:
        """The next entries after that one, none if there are none yet; None if they are not kept
        here. Raises GoneError where the journal never came so far."""
        with self._lock:
            if seq > self._last:
                raise GoneError("the journal has not come so far: it is another one")
            if seq == self._last:
                return []
            if not self._kept or seq + 1 < self._kept[0].seq:
                return None
            first, left = seq + 1 - self._kept[0].seq, self._last - seq
            if left <= CHUNK:  # who keeps up is near the end, and the way there is long
                return list(islice(reversed(self._kept), left))[::-1]
            return list(islice(self._kept, first, first + CHUNK))

    def before(self, seq: int) -> list[Entry] | None:
        """The entries before that one, as many as are handed out at once, oldest first; None if
        not all of them are kept here."""
        with self._lock:
            last = min(seq - 1, self._last)
            first = max(1, last + 1 - CHUNK)
            if last < 1:
                return []
            if not self._kept or first < self._kept[0].seq:
                return None
            begin = first - self._kept[0].seq
            return list(islice(self._kept, begin, begin + last + 1 - first))

    @contextmanager
    def audience(self, audience: Audience) -> Iterator[None]:
        """Keeps the frames of an audience as long as it has streams."""
        self._open[audience] += 1
        try:
            yield
        finally:
            self._open[audience] -= 1
            if not self._open[audience]:
                del self._open[audience]
                self._frames.pop(audience, None)

    def frames(self, audience: Audience) -> Frames:
        """The texts of the last entries for the audience. Those that it may see of one do not
        change: tenants stay below their parents."""
        return self._frames.setdefault(audience, OrderedDict())

    async def wait_for_change(self, seq: int, seconds: float) -> None:
        """Returns when there is something after that entry, at the latest after so many seconds."""
        future = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._last > seq:
                return
            self._waiting.add(future)
        try:
            async with asyncio.timeout(seconds):
                await future
        except TimeoutError:
            return
        finally:
            with self._lock:
                self._waiting.discard(future)

    def wake_all(self) -> None:
        """Readers look up at once. In the server's thread."""
        with self._lock:
            waiting = list(self._waiting)
            self._waiting.clear()
        for future in waiting:
            if not future.done():
                future.set_result(None)


def before(view: ServiceView, seq: int) -> list[Entry]:
    """The entries before that one, as many as are handed out at once, oldest first, from the
    journal; none where it holds them no more. In the loop's thread."""
    last = min(seq - 1, view.records.seq)
    begin = max(view.store.start(), last - CHUNK)
    if begin >= last:
        return []
    return list(takewhile(lambda entry: entry.seq <= last, view.store.read(begin)))


def earlier(view: ServiceView, seq: int) -> list[Entry]:
    """The next entries after that one, from the journal, of those that the service knows to be
    durable: after an append of which nobody knows how it ended there may be more. Raises GoneError
    where the journal holds them no more. In the loop's thread."""
    last = view.records.seq
    entries = list(islice(takewhile(lambda entry: entry.seq <= last, view.store.read(seq)), CHUNK))
    if not entries or entries[0].seq != seq + 1:
        raise GoneError(OLDEST)
    return entries
