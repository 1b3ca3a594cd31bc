"""The exact allocation of the present, drawn once for all who are told the same names."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass

from fairlead.service.api.refusal import RefusalError
from fairlead.wire.errors import ErrorKind
from fairlead.wire.fairness import LiveAllocation

RESTS = 4.0
"""So many times as long as it took a drawing serves all who ask, with the moment that it is of:
drawing takes a fifth of a core at most, as the adviser does."""

MOST = 8
"""Drawings that are kept. Readers are told the same, but where tenants have jobs of one name."""

LONGEST = 600.0
"""Seconds that one may take on a machine that is busy with other things."""

OLDER = 5.0
"""Seconds after which who waits gets the one of before, where there is one."""


@dataclass
class _Kept:
    """The last drawing for some readers: of which entry of the journal it is at least, and until
    when it serves though more has happened; and the next one while it is made."""

    found: LiveAllocation | None = None
    seq: int = 0
    serves: float = 0.0
    next: asyncio.Task[LiveAllocation] | None = None


class Drawings:
    """In the server's thread. `patience`: seconds that a request waits at most."""

    def __init__(
        self, last: Callable[[], int], clock: Callable[[], float], patience: float
    ) -> None:
        self._last, self._clock, self._patience = last, clock, patience
        self._kept: OrderedDict[frozenset[tuple[str, str]], _Kept] = OrderedDict()

    async def newest(
        self,
        otherwise: Mapping[str, str],
        draw: Callable[[], Coroutine[None, None, LiveAllocation]],
    ) -> LiveAllocation:
        """The newest drawing for who is told these names: drawn for the first who asks for it where
        something happened and the last has served its time; the others wait for it. It goes on
        when nobody waits any more. Raises what `draw` raises, and RefusalError where it takes too
        long and there is none of before."""
        key = frozenset(otherwise.items())
        kept = self._kept.setdefault(key, _Kept())
        self._kept.move_to_end(key)
        while len(self._kept) > MOST:
            self._kept.popitem(last=False)
        serves = self._last() == kept.seq or self._clock() < kept.serves
        if kept.found is not None and serves:
            return kept.found
        if kept.next is None:
            kept.next = asyncio.create_task(self._keep_newest(kept, draw()))
            kept.next.add_done_callback(_note_failure)
        try:
            async with asyncio.timeout(self._patience if kept.found is None else OLDER):
                return await asyncio.shield(kept.next)
        except TimeoutError as error:
            if kept.found is not None:
                return kept.found
            raise RefusalError(
                ErrorKind.UNAVAILABLE,
                f"what is present takes more than {self._patience:g} seconds to be shared out",
                "ask again: it goes on meanwhile",
                retry=10,
            ) from error

    async def _keep_newest(self, kept: _Kept, drawn: Awaitable[LiveAllocation]) -> LiveAllocation:
        begun, seq = self._clock(), self._last()
        try:
            kept.found = await drawn
        finally:
            kept.next = None
        now = self._clock()
        kept.seq, kept.serves = seq, now + RESTS * (now - begun)
        return kept.found


def _note_failure(task: asyncio.Task[LiveAllocation]) -> None:
    """What went wrong is told to those who wait, and it is no fault where nobody does any more."""
    if not task.cancelled():
        task.exception()
