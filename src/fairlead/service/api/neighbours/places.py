"""By whom things are counted; and places for what computes for long, of which none takes all."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from hashlib import blake2b

from fairlead.service.api.neighbours.waiting import Waiting
from fairlead.service.requests import Caller

KNOWN = "fairlead.known"
"""In the state of a connection: to be called once it is known whose it is."""


def who_of(caller: Caller, address: str) -> str:
    """By whom things are counted: the tenant, else the token, else the address."""
    if caller.tenant is not None:
        return f"tenant {caller.tenant}"
    return address if caller.token is None else f"token {caller.token}"


SHOWN = (b"authorization", b"cookie")
"""Headers that say who asks."""

MOST_GUESSED = 10_000

Headers = Iterable[tuple[bytes, bytes]]
"""Of a request: names in small letters, and values."""


class Owners:
    """Whose a request is before anybody has looked: his who showed the same a moment ago, and was
    known then. Only whose turn it is may depend on it."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, str] = OrderedDict()

    def guess(self, headers: Headers, address: str) -> str:
        """By whom it is counted: the address where what it shows is not known. Of the headers,
        those that say who asks are enough."""
        return self._known.get(_hash_secret(headers), address)

    def learn(self, headers: Headers, who: str) -> None:
        """It was looked at, and is theirs."""
        shown = _hash_secret(headers)
        self._known[shown] = who
        self._known.move_to_end(shown)
        if len(self._known) > MOST_GUESSED:
            self._known.popitem(last=False)

    def forget(self, headers: Headers) -> None:
        """It was looked at, and is nobody's."""
        self._known.pop(_hash_secret(headers), None)


def _hash_secret(headers: Headers) -> bytes:
    """A hash of what it shows: no secret stays longer than its request."""
    found = blake2b(digest_size=16)
    for name, value in headers:
        if name in SHOWN:
            found.update(b"%s:%d:%s" % (name, len(value), value))
    return found.digest()


class Places:
    """So many places, of which one owner holds `each` at most. Who waits is served in turn by
    owner, not by request: who asks a hundred times waits behind himself."""

    def __init__(self, places: int, each: int) -> None:
        self._places, self._each = places, each
        self._held: Counter[str] = Counter()
        self._waiting = Waiting()

    @asynccontextmanager
    async def place(self, owner: str) -> AsyncIterator[None]:
        """Waits for a place and holds it."""
        turn = self._waiting.join(owner)
        self._grant()
        try:
            await turn
            yield
        finally:
            if turn.done() and not turn.cancelled():
                self._held[owner] -= 1
                if not self._held[owner]:
                    del self._held[owner]
            self._grant()

    def _grant(self) -> None:
        """Gives free places away: first to owners who hold fewest, then to who waits longest for
        his turn."""
        self._waiting.drop_given_up()
        while self._held.total() < self._places:
            able = [owner for owner in self._waiting if self._held[owner] < self._each]
            if not able:
                return
            owner = min(able, key=lambda each: self._held[each])  # the first of several
            self._waiting.serve(owner)
            self._held[owner] += 1
            self._waiting.move_to_end(owner)
            self._waiting.drop_of(owner)
