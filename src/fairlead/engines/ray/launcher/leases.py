"""Workers of Ray that the launcher keeps for a moment after a call, to hand them the next one like
it without asking Ray for a worker again.

Calls are alike where tenant, function, node and what is asked of Ray are the same. A worker has one
call at a time; what Ray says of its task says what became of the call that it has.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count
from typing import Any

from fairlead.engines.ray.launcher.book import KnownAttempt
from fairlead.engines.ray.launcher.exchange import Place
from fairlead.engines.ray.launcher.verdict import Key, Tree
from fairlead.engines.ray.line import LauncherEnd

KEPT = 0.25
"""Seconds for which a worker is kept that has nothing to do."""

ALONE = 20.0
"""After so many times as long, a worker that hears nothing of the launcher leaves by itself."""

NOT_BEGUN = 0.1
"""Seconds after which a call that Ray has and of which nothing was heard may lack room to begin."""

HANDED = 64 * 1024
"""Letters of arguments that are handed over at most: what the line takes at once, whoever reads."""

Kind = tuple[Any, ...]


class Lease:
    """A worker that runs calls of one kind: `attempt` is the one that it has, None while it waits
    for one. `last`: it gets no other."""

    __slots__ = ("attempt", "idle_since", "kind", "last", "line", "node", "number", "refs")

    def __init__(self, number: int, kind: Kind, node: str, attempt: KnownAttempt) -> None:
        self.number, self.kind, self.node = number, kind, node
        self.attempt: KnownAttempt | None = attempt
        self.refs: list[Any] = []  # to what Ray's task returns when it is over
        self.line: LauncherEnd | None = None
        self.idle_since = 0.0
        self.last = False


class Leases:
    """All of them; `take` is called with an attempt and how the worker says that it ended. The
    caller's lock is held by whoever calls. `kept`: seconds for which a worker waits for a call; 0,
    or no place of a line to it: none does."""

    def __init__(
        self, place: Place | None, take: Callable[[KnownAttempt, Tree], None], kept: float
    ) -> None:
        self._place = place if kept > 0 else None
        self._take, self._kept = take, kept
        self._numbers = count(1)
        self._by_number: dict[int, Lease] = {}
        self._by_reference: dict[Any, Lease] = {}
        self._idle: dict[str, list[Lease]] = {}  # by their nodes
        self._unheard: dict[str, dict[int, float]] = {}  # by their nodes: since when Ray has them

    def begin(self, attempt: KnownAttempt, node: str, remote: Any) -> None:
        """Has Ray run the attempt with a worker that is kept afterwards."""
        lease = Lease(next(self._numbers), kind_of(attempt, node), node, attempt)
        lease.last = self._place is None
        attempt.spec |= {"lease": lease.number, "line": self._place}
        attempt.spec["alone"] = ALONE * self._kept
        attempt.refs = lease.refs = list(remote.remote(attempt.spec, attempt.item))
        self._by_number[lease.number] = self._by_reference[lease.refs[0]] = lease
        self._unheard.setdefault(node, {})[lease.number] = time.monotonic()

    def mark_begun(self, attempt: KnownAttempt) -> None:
        lease = self._by_reference.get(attempt.refs[0]) if attempt.refs else None
        if lease is not None:
            self._mark_heard(lease)

    def hand_over(self, attempt: KnownAttempt, node: str) -> bool:
        """Gives the attempt to a worker that is kept for its like, if there is one. Workers on that
        node that are kept for others are let go: the attempt may need their room."""
        kind = kind_of(attempt, node) if attempt.kind == "function" else None
        long = isinstance(attempt.item, str) and len(attempt.item) > HANDED
        found: Lease | None = None
        for lease in list(self._idle.get(node, ())):
            if lease.kind != kind or long:
                self.let_go(lease)
            else:
                found = lease
        if found is None or found.line is None:
            return False
        self._busy(found)
        if not found.line.send((attempt.key, attempt.item)):
            found.last = True
            return False
        found.attempt, attempt.refs, attempt.node = attempt, found.refs, node
        return True

    def let_go(self, lease: Lease) -> None:
        """It gets nothing more, and gives back what Ray gave it."""
        self._busy(lease)
        lease.last = True
        if lease.line is not None:
            lease.line.send(None)

    def look(self) -> None:
        """Lets go of those that waited for too long, or may be in the way."""
        before = time.monotonic() - self._kept
        for lease in self._waiting():
            if lease.idle_since < before or self._lacks_room(lease.node):
                self.let_go(lease)

    def remove(self, reference: Any) -> Lease | None:
        """The one of which Ray says that it is over, if it is one."""
        lease = self._by_reference.pop(reference, None)
        if lease is not None:
            del self._by_number[lease.number]
            self._busy(lease)
            self._mark_heard(lease)
        return lease

    def drop_node(self, node: str) -> None:
        """Drops those on that node: nothing is heard of them any more."""
        for lease in [each for each in self._by_number.values() if each.node == node]:
            self.remove(lease.refs[0])
            if lease.line is not None:
                lease.line.end()

    def take_end(self, line: LauncherEnd, message: tuple[int, Key, Tree]) -> None:
        """The worker of a lease says how its call ended, and waits for another one."""
        number, key, end = message
        lease = self._by_number.get(number)
        if lease is None or lease.attempt is None or lease.attempt.key != tuple(key):
            line.send(None)
            return
        attempt, lease.attempt, lease.line = lease.attempt, None, line
        lease.idle_since = time.monotonic()
        self._mark_heard(lease)
        if attempt.stopping or lease.last or self._lacks_room(lease.node):
            self.let_go(lease)  # an interrupt that was meant for this call may come yet
        else:
            self._idle.setdefault(lease.node, []).append(lease)
        self._take(attempt, end)

    def drop_line(self, line: LauncherEnd) -> None:
        """The line of a worker is over. Ray says what becomes of it."""
        for lease in self._waiting():
            if lease.line is line:
                self.let_go(lease)

    def _busy(self, lease: Lease) -> None:
        waiting = self._idle.get(lease.node, [])
        if lease in waiting:
            waiting.remove(lease)
            if not waiting:
                del self._idle[lease.node]

    def _mark_heard(self, lease: Lease) -> None:
        unheard = self._unheard.get(lease.node, {})
        unheard.pop(lease.number, None)
        if not unheard:
            self._unheard.pop(lease.node, None)

    def _lacks_room(self, node: str) -> bool:
        """Whether Ray may be waiting for room there for what it was given: more was launched than
        fits, or somebody else is there."""
        oldest = next(iter(self._unheard.get(node, {}).values()), None)
        return oldest is not None and time.monotonic() - oldest > NOT_BEGUN

    def _waiting(self) -> list[Lease]:
        return [lease for several in self._idle.values() for lease in several]


def kind_of(attempt: KnownAttempt, node: str) -> Kind:
    """The properties that all calls of one worker share."""
    spec = attempt.spec
    asked = sorted((name, str(value)) for name, value in attempt.options.items() if name != "name")
    function = spec.get("code") or attempt.key[0]
    return node, spec.get("tenant"), spec.get("function"), function, *asked
