"""The exact allocation of the present, drawn once for all who are told the same names."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from fairlead.wire.fairness import LiveAllocation

RESTS = 4.0
"""So many times as long as it took a drawing serves all who ask, with the moment that it is of:
drawing takes a fifth of a core at most, as the adviser does."""

MOST = 8
"""Drawings that are kept. Readers are told the same, but where tenants have jobs of one name."""


@dataclass
class _Kept:
    """The last drawing for some readers: of which entry of the journal it is at least, and until
    when it serves though more has happened."""

    making: asyncio.Lock = field(default_factory=asyncio.Lock)
    found: LiveAllocation | None = None
    seq: int = 0
    serves: float = 0.0


class Drawings:
    """In the server's thread."""

    def __init__(self, last: Callable[[], int], clock: Callable[[], float]) -> None:
        self._last, self._clock = last, clock
        self._kept: OrderedDict[frozenset[tuple[str, str]], _Kept] = OrderedDict()

    async def newest(
        self, otherwise: Mapping[str, str], draw: Callable[[], Awaitable[LiveAllocation]]
    ) -> LiveAllocation:
        """The newest drawing for who is told these names: drawn by the first who asks for it where
        something happened and the last has served its time; the others wait for it. Raises what
        `draw` raises."""
        key = frozenset(otherwise.items())
        kept = self._kept.setdefault(key, _Kept())
        self._kept.move_to_end(key)
        while len(self._kept) > MOST:
            self._kept.popitem(last=False)
        async with kept.making:
            begun, seq = self._clock(), self._last()
            if kept.found is None or (seq != kept.seq and begun >= kept.serves):
                kept.found = await draw()
                now = self._clock()
                kept.seq, kept.serves = seq, now + RESTS * (now - begun)
            return kept.found
