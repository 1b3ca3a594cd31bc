"""Leases on a journal: the leader's own belief that it leads, and the followers' that it does not.

No two clocks are compared. The leader's beat in the journal grows once a second; it believes in it
for TRUST from the moment before it asked. A follower takes over when it saw no beat for RUN_OUT,
or for GRACE where the database calls the leader's session over, from the moment after it saw the
last to the moment before it looks again. Both are longer than TRUST: a belief has ended before
anybody takes over, unless one clock runs a third slower than the other. Whatever both believe, the
journal takes entries of the newest epoch alone, and an engine hears the newest owner alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from fairlead.service.journal.entry import JournalError, Standing, Store, TakenJournalError

BEAT = 1.0
"""Seconds between two beats."""

TRUST = 2.0
"""Seconds for which a leader believes in its last beat or append."""

RUN_OUT = 6.0
"""Seconds without a beat after which a leader counts as gone, though its session is there."""

GRACE = 3.0
"""The same where its session has ended: it may come back, and believe for TRUST that it leads."""

LOOK = 0.5
"""Seconds between two looks of a follower."""

BLIND = 2.0
"""Seconds without a look after which a follower has seen nothing: it watches anew."""


@dataclass(frozen=True, slots=True)
class Following:
    """The worth of a follower's answer: `age` is the seconds since it knew all that the
    journal held; `leader` is the address at which the leader answers (empty: it is not known)."""

    leader: str
    age: float

    def __str__(self) -> str:
        where = f" at {self.leader}" if self.leader else ""
        return f"this service follows the one that leads{where}"


def steady_clock() -> float:
    """Seconds that go on while the process, or the machine, is frozen."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Lease:
    """The leader's belief. `beating`: somebody calls `renew` every BEAT seconds; otherwise it is
    renewed when it is asked for, and nobody takes over meanwhile. `since`: the moment before the
    journal was opened to be written."""

    def __init__(
        self,
        store: Store,
        *,
        beating: bool,
        since: float,
        clock: Callable[[], float] = steady_clock,
    ) -> None:
        self.trouble = ""
        """Why the journal could not be written when that was last tried; empty if it could."""
        self.clock = clock
        self.beating = beating
        self.ask: Callable[[], object] = self.renew
        """Has a beat written now, and does not wait for it for longer than a loop may."""
        self._store = store
        self._taken: TakenJournalError | None = None
        self._proved = since

    def renew(self) -> None:
        """Writes a beat. From any thread. Raises nothing: `check` and `prove` do."""
        began = self.clock()
        try:
            self._store.renew()
        except TakenJournalError as error:
            self._taken = error
        except JournalError as error:
            self.trouble = str(error)
        else:
            self.note_append(began)

    def note_append(self, began: float) -> None:
        """An append, or a beat, that began then is durable."""
        self._proved, self.trouble = max(self._proved, began), ""

    def check(self) -> str:
        """Why this cannot be known to lead now; empty if it does. Raises TakenJournalError where
        another one does. Asks the journal where the last proof is too old."""
        if self.beating and self._age() > TRUST:
            self.ask()
        if self._taken is not None:
            raise self._taken
        if self.beating and self._age() > TRUST:
            return self.trouble or "the journal does not answer"
        return ""

    def doubt(self) -> str:
        """Why this cannot write now, by a proof no older than a few seconds; empty if it can."""
        if self._taken is not None:
            return str(self._taken)
        if not self.beating and self._age() > BEAT:
            self.renew()
        if self.trouble or not self.beating:
            return self.trouble
        return f"the journal has not answered for {TRUST:g} seconds" * (self._age() > TRUST)

    def stale(self) -> float:
        """For how many seconds others may have written what is not known here; 0 while this
        certainly leads. Ask once something was read, not before. From any thread."""
        age = self._age()
        return age if self.beating and (age > TRUST or self._taken is not None) else 0.0

    def _age(self) -> float:
        return self.clock() - self._proved


class Watch:
    """A follower's belief."""

    def __init__(self, *, beating: bool) -> None:
        self._beating = beating
        self._seen: Standing | None = None
        self._since = 0.0
        self._looked = 0.0

    def may_take_over(
        self, seen: Standing, session_over: bool, asked: float, answered: float
    ) -> bool:
        """Whether the leader that was seen at some moment between the two is gone."""
        if not seen.held:
            return True
        if seen != self._seen or asked - self._looked > BLIND:
            self._seen, self._since = seen, answered
        self._looked = asked
        quiet = asked - self._since
        return (session_over and quiet >= GRACE) or (self._beating and quiet >= RUN_OUT)

    def took_in(self, now: float) -> None:
        """Until now it took in what it had seen: that was no absence, however long it took. Whoever
        appended thousands of entries and died is not waited for twice."""
        self._looked = now
