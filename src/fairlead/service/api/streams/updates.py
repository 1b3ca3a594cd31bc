"""Updates of open pages: made once for all that may see the same, of what changed alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import thread_time

from fairlead.scheduling.reading.core_copy import Spares
from fairlead.service.api.streams.feed import Feed
from fairlead.service.api.streams.standing import Standing, in_thread
from fairlead.service.requests import Caller
from fairlead.wire.fairness import LiveAudit, Shares
from fairlead.wire.kinds import Role
from fairlead.wire.shape import ResponseBody

APART = 1.0
"""Seconds from the beginning of one update to that of the next, at least. One that begins late by
less than that puts no other off: what happens once a second is told once a second."""

RESTS = 15
"""So many times as long as an update took it rests: they take a sixteenth of a core at most,
however many pages are open, and with the sending to a hundred of them less than a tenth."""

FOLLOWS = 2.0
"""Seconds after something happened in which the exact shares may come: it is looked at once more,
and again after twice as long each time."""

SHORT = 8.0
"""Seconds between looks at most while somebody is short: sentences tell of time that passes."""

QUIET = 32.0
"""Seconds between looks at most, though nothing happens."""

LISTS = {
    "tenants": "name",
    "jobs": "name",
    "shortfalls": "tenant",
    "below_fair": "tenant",
    "never": "job",
}
"""The lists of an update, and the field that names a row."""

Rows = Mapping[str, str]
"""Rows in their order, by name, as JSON."""


@dataclass(frozen=True)
class Frame:
    """The update of a moment: all of it, or what changed since the frame `before` it.
    `due`: when the next one may be made; `again`: when it is looked at though nothing happens."""

    number: int
    seq: int
    due: float
    again: float
    head: Mapping[str, object] = field(default_factory=dict)
    lists: Mapping[str, Rows] | None = None  # None: that something changed, and no more
    changed: bytes = b""

    def after(self, known: Frame | None) -> bytes:
        """To who knows that frame, the event by which this one is known."""
        if known is not None and known.number == self.number - 1:
            return self.changed
        return self.whole

    @property
    def whole(self) -> bytes:
        """All of it, as an event."""
        if self.lists is None:
            return _event("changed", self.seq, json.dumps(self.head))
        rows = (f'"{name}":[{",".join(one.values())}]' for name, one in self.lists.items())
        return _event("shares", self.seq, _object(self.head, rows))


class Updates:
    """The audiences that there are. In the server's thread."""

    def __init__(
        self, feed: Feed, clock: Callable[[], float], spares: Spares, *, threads: bool
    ) -> None:
        self._feed, self._clock, self._spares, self._threads = feed, clock, spares, threads
        self._audiences: dict[tuple[Role, str | None, bool], Audience] = {}

    def __len__(self) -> int:
        return len(self._audiences)

    @contextmanager
    def audience(self, caller: Caller, *, shares: bool) -> Iterator[Audience]:
        """Joins those who are told the same as this caller. The last who leaves takes it away."""
        key = caller.role, caller.tenant, shares
        if key not in self._audiences:
            self._audiences[key] = Audience(
                self._feed, self._clock, self._spares, shares=shares, threads=self._threads
            )
        audience = self._audiences[key]
        audience.readers += 1
        try:
            yield audience
        finally:
            audience.readers -= 1
            if not audience.readers:
                del self._audiences[key]


class Audience:
    """Readers who are told the same. The newest frame is made by the first of them who asks for it,
    and the others wait for it."""

    def __init__(
        self,
        feed: Feed,
        clock: Callable[[], float],
        spares: Spares,
        *,
        shares: bool,
        threads: bool,
    ) -> None:
        self._feed, self._clock, self._spares = feed, clock, spares
        self._shares, self._threads = shares, threads
        self._making = asyncio.Lock()
        self._frame: Frame | None = None
        self._pause = FOLLOWS
        self.readers = 0

    async def newest(
        self,
        stand: Callable[[], Awaitable[Standing | None]],
        hide: Callable[[LiveAudit], Awaitable[LiveAudit | None]],
    ) -> Frame | None:
        """The newest frame, made by these functions of who asks where there is something new. None:
        nobody answers any more."""
        async with self._making:
            begun, before = self._clock(), self._frame
            if before is not None and (
                begun < before.due or (before.seq == self._feed.last and begun < before.again)
            ):
                return before
            late = before is not None and begun - before.due < APART
            beat = before.due if before is not None and late else begun
            if not self._shares:
                seq = self._feed.last
                if before is None or seq != before.seq:
                    number = 0 if before is None else before.number + 1
                    told = _event("changed", seq, json.dumps({"seq": seq}))
                    self._frame = Frame(
                        number, seq, beat + APART, begun + QUIET, {"seq": seq}, None, told
                    )
                return self._frame
            found = await stand()
            if found is None:
                return None
            shares, audit, took = await in_thread(self._threads, lambda: _time_answers(found))
            self._spares.put(found.copy)  # what is told was made of it, and nobody else has it
            cost = took if self._threads else 0.0  # repeatable where it must be
            shown = await hide(audit)
            if shown is None:
                return None
            stirred = before is None or before.seq != found.seq or shares.behind is not None
            longest = SHORT if shown.shortfalls else QUIET
            self._pause = FOLLOWS if stirred else min(2 * self._pause, longest)
            now = self._clock()
            head = _head(shares, shown)
            rows = _rows(shares, shown)
            self._frame = frame = Frame(
                number=0 if before is None else before.number + 1,
                seq=found.seq,
                due=max(beat + APART, now + RESTS * cost),
                again=now + max(self._pause, RESTS * cost),
                head=head,
                lists=rows,
                changed=b"" if before is None else _difference(before, head, rows, found.seq),
            )
            return frame

    async def wait_for_change(self, frame: Frame, seconds: float) -> None:
        """Returns when there may be another frame, at the latest after so many seconds."""
        begun = self._clock()
        await self._feed.wait_for_change(frame.seq, max(0.0, min(seconds, frame.again - begun)))
        left = min(frame.due, begun + seconds) - self._clock()
        if left > 0:
            await asyncio.sleep(left)


def _time_answers(found: Standing) -> tuple[Shares, LiveAudit, float]:
    """Shares, the audit, and the seconds of processor time that they took."""
    begun = thread_time()
    shares, audit = found.shares(own=True), found.audit()
    return shares, audit, thread_time() - begun


def _head(shares: Shares, audit: LiveAudit) -> dict[str, object]:
    return {
        "policy": shares.policy,
        "exact": shares.exact,
        "behind": shares.behind,
        "checked": audit.tenants,
        "more": audit.more,
        "below_fair_more": audit.below_fair_more,
        "never_more": audit.never_more,
        "problem": audit.problem,
    }


def _rows(shares: Shares, audit: LiveAudit) -> dict[str, Rows]:
    lists: dict[str, Sequence[ResponseBody]] = {
        "tenants": shares.tenants,
        "jobs": shares.jobs,
        "shortfalls": audit.shortfalls,
        "below_fair": audit.below_fair,
        "never": audit.never,
    }
    return {
        name: {getattr(row, LISTS[name]): row.model_dump_json() for row in rows}
        for name, rows in lists.items()
    }


def _difference(
    before: Frame, head: Mapping[str, object], rows: Mapping[str, Rows], seq: int
) -> bytes:
    """The changes since then: rows that are new or otherwise, and the order of the names where it
    is another one."""
    parts: list[str] = []
    orders: dict[str, list[str]] = {}
    for name, now in rows.items():
        then = (before.lists or {}).get(name, {})
        changed = [row for key, row in now.items() if then.get(key) != row]
        if changed:
            parts.append(f'"{name}":[{",".join(changed)}]')
        if list(then) != list(now):
            orders[name] = list(now)
    if orders:
        parts.append(f'"order":{json.dumps(orders)}')
    if not parts and head == before.head:
        return b": still here\n\n"
    return _event("changes", seq, _object(head, parts))


def _object(head: Mapping[str, object], parts: Iterable[str]) -> str:
    return "{" + ",".join([json.dumps(head)[1:-1], *parts]) + "}"


def _event(kind: str, seq: int, data: str) -> bytes:
    return f"id: {seq}\nevent: {kind}\ndata: {data}\n\n".encode()
