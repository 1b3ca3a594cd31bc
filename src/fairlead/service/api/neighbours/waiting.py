"""Who waits for a turn: by owner, of each in the order in which they came."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque


class Waiting(OrderedDict[str, deque[asyncio.Future[None]]]):
    """The turns of owners, who are in the order in which they came."""

    def join(self, owner: str) -> asyncio.Future[None]:
        """A turn of the owner's, behind his others; done once it has come."""
        turn = asyncio.get_running_loop().create_future()
        self.setdefault(owner, deque()).append(turn)
        return turn

    def serve(self, owner: str) -> None:
        """His first turn has come, which nobody gave up."""
        self[owner].popleft().set_result(None)

    def drop_given_up(self) -> None:
        """Whoever is in it from now on has a first turn that somebody waits for."""
        for owner in list(self):
            self.drop_of(owner)

    def drop_of(self, owner: str) -> None:
        """The same of one owner."""
        turns = self[owner]
        while turns and turns[0].done():  # its request was given up
            turns.popleft()
        if not turns:
            del self[owner]
