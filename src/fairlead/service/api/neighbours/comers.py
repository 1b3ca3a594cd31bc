"""Who came and is no connection yet: those whose request has begun, and those whose request is
there, in turns by whose it is."""

from __future__ import annotations

import socket
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass

Peer = tuple[object, ...]
"""Address and port of who is at the other end."""


@dataclass(frozen=True, slots=True, eq=False)
class Comer:
    """One that was accepted, at a time, from an address that limits count by. `number`: of its
    descriptor, also once that is closed."""

    socket: socket.socket
    number: int
    peer: Peer
    address: str
    at: float


class Beginnings:
    """Those who have not said all of how a client begins. For one more than there may be, the
    oldest ends: of its address, else of all. So who only begins keeps nobody out. `end`: closes
    one."""

    def __init__(self, each: int, most: int, end: Callable[[Comer], None]) -> None:
        self._each, self._most, self._close = each, most, end
        self._all: OrderedDict[int, Comer] = OrderedDict()  # by descriptor, the oldest first
        self._by_address: dict[str, OrderedDict[int, None]] = {}

    def __len__(self) -> int:
        return len(self._all)

    def add(self, comer: Comer) -> None:
        """One more."""
        mine = self._by_address.get(comer.address, ())
        if len(mine) >= self._each:
            self._end(next(iter(mine)))
        elif len(self._all) >= self._most:
            self.end_oldest()
        self._all[comer.number] = comer
        self._by_address.setdefault(comer.address, OrderedDict())[comer.number] = None

    def __contains__(self, comer: Comer) -> bool:
        return self._all.get(comer.number) is comer

    def get(self, number: int) -> Comer | None:
        """The one with this descriptor."""
        return self._all.get(number)

    def remove(self, comer: Comer) -> None:
        """It has said all, or is about to be closed."""
        del self._all[comer.number]
        mine = self._by_address[comer.address]
        del mine[comer.number]
        if not mine:
            del self._by_address[comer.address]

    def end_oldest(self) -> bool:
        """Closes the one that is here for longest. Whether there was any."""
        if not self._all:
            return False
        self._end(next(iter(self._all)))
        return True

    def end_before(self, time: float) -> None:
        """Closes those who came before that, and all of them for infinity."""
        while self._all and next(iter(self._all.values())).at < time:
            self.end_oldest()

    def _end(self, number: int) -> None:
        comer = self._all[number]
        self.remove(comer)
        self._close(comer)


class Ready:
    """Those who have said enough to be answered, in turns by owner: after one of his an owner
    rests for so many rounds of the event loop, and one who is known by nothing but his address for
    so many seconds, where others ask too (`rivals`). Of more than there may be, the last one ends
    of him who has most."""

    def __init__(self, most: int, rest: int, pace: float) -> None:
        self.rivals: Callable[[str], bool] = lambda _: False
        self._most, self._rest, self._pace = most, rest, pace
        self._lines: OrderedDict[str, deque[Comer]] = OrderedDict()
        self._many = self._round = 0
        self._resting: OrderedDict[str, int] = OrderedDict()  # until which round
        self._paced: OrderedDict[str, float] = OrderedDict()  # until when

    def __len__(self) -> int:
        return self._many

    def add(self, comer: Comer, owner: str) -> None:
        """One more, of this owner."""
        self._lines.setdefault(owner, deque()).append(comer)
        self._many += 1
        if self._many > self._most:
            longest = max(self._lines, key=lambda each: len(self._lines[each]))
            self._pop(longest, -1).socket.close()

    def begin_round(self) -> None:
        """Another round of the event loop."""
        self._round += 1
        while self._resting and next(iter(self._resting.values())) <= self._round:
            self._resting.popitem(last=False)

    def next(self, now: float) -> Comer | None:
        """The one whose turn it is in this round."""
        while self._paced and next(iter(self._paced.values())) <= now:
            self._paced.popitem(last=False)
        for owner in self._lines:
            if owner not in self._resting and owner not in self._paced:
                self._lines.move_to_end(owner)
                comer = self._pop(owner, 0)
                if self._rest:
                    self._resting[owner] = self._round + self._rest
                if self._pace and owner == comer.address and self.rivals(owner):
                    self._paced[owner] = now + self._pace
                return comer
        return None

    def wait(self, now: float) -> float | None:
        """For how many seconds nobody's turn comes, however many rounds there are; None where
        nobody is here."""
        if not self._lines:
            return None
        if any(owner not in self._paced for owner in self._lines):
            return 0.0
        return max(0.0, min(self._paced[owner] for owner in self._lines) - now)

    def clear(self) -> None:
        """Closes all of them."""
        for line in self._lines.values():
            for comer in line:
                comer.socket.close()
        self._lines.clear()
        self._many = 0

    def _pop(self, owner: str, at: int) -> Comer:
        line = self._lines[owner]
        comer = line[at]
        del line[at]
        if not line:
            del self._lines[owner]
        self._many -= 1
        return comer
