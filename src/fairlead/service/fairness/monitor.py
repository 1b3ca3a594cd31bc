"""Watches a core: asks the adviser when something changed, tells the core, and keeps who is short
of its share since when."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

from fairlead.model.values import FrozenMap
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import Advice, AdviceChanged, GuaranteesChanged
from fairlead.service.fairness.causes import DisplayName
from fairlead.service.fairness.history import History
from fairlead.service.fairness.interface import Adviser, Answered
from fairlead.service.fairness.question import question
from fairlead.service.fairness.shortfalls import Audit, Measured, build_audit, measure, short_of

SECOND = 1_000_000

MANY_JOBS = 10_000
"""Beyond so many jobs it is asked less often, in proportion: to write a question down takes time of
the loop's."""


EACH_NAME = 1_000
"""An event for the core is journaled, 50 bytes or so for each job's guarantee. For each name in it
the next is told so many microseconds later: a thousand names a second at most."""


@dataclass(frozen=True, slots=True)
class FairSettings:
    """Times are in microseconds. `every`: the adviser is asked at most so often, and only if
    something changed. `sample`: the history gets a point at most so often. `guarantees`,
    `advice`: the core is told these."""

    every: int = SECOND
    sample: int = 10 * SECOND
    guarantees: bool = False
    advice: bool = False


class FairnessMonitor:
    """One for each core. It writes nothing: what the core is to be told, the loop journals."""

    def __init__(
        self,
        adviser: Adviser,
        settings: FairSettings | None = None,
        history: History | None = None,
    ) -> None:
        self.settings = settings or FairSettings()
        self.history = History() if history is None else history
        self.problem = ""
        """Why the last question has no answer; empty if it has one."""
        self._adviser = adviser
        self._known: Answered | None = None
        self._told: dict[type, FrozenMap[int] | tuple[Advice, ...]] = {}
        self._number = 0
        self._answered = 0
        self._stale = True
        self._due = 0
        self._unsampled = False
        self._next_sample = 0
        self._unmeasured = False
        self._untold = False
        self._next_told = 0
        self._since: dict[str, int] = {}

    def events(self, time: int) -> tuple[AdviceChanged | GuaranteesChanged, ...]:
        """Events for the core now, before it decides; mostly none."""
        self.listen()
        if self._known is None or not self._untold or time < self._next_told:
            return ()
        self._untold = False
        told: list[AdviceChanged | GuaranteesChanged] = []
        for event in self._known.answer.events(time):
            said = event.advice if isinstance(event, AdviceChanged) else event.guarantees
            if self._told.get(type(event)) != said:
                self._told[type(event)] = said
                self._next_told = max(self._next_told, time) + EACH_NAME * len(said)
                told.append(event)
        return tuple(told)

    def tell_again(self) -> None:
        """What the core was told is told once more: it may know nothing of it."""
        self._told.clear()
        self._untold, self._next_told = self._known is not None, 0

    def listen(self) -> None:
        """Takes in an answer, if there is one."""
        found = self._adviser.answer()
        if found is None or found.answer.number <= self._answered:
            return  # nothing new
        self._answered = found.answer.number
        self.problem = found.answer.problem
        if self.problem:
            self._stale = True  # asked again when it is due, though nothing changed
            return
        self._known = found
        self._unmeasured = self._untold = True

    def after(self, time: int, core: Core, *, changed: bool) -> None:
        """After the decisions of a step. `changed`: it was not one in which nothing happened."""
        self._stale |= changed
        self._unsampled |= changed or self._unmeasured
        found = None
        if self._unmeasured:
            self._unmeasured = False
            found = self.measure(core)
            if not found.outdated:  # whom it does not judge stays short since when it was
                short = short_of(found, core)
                self._since = {name: self._since.get(name, time) for name in short}
        if self._unsampled and time >= self._next_sample:
            self._unsampled = False
            self._next_sample = time + self.settings.sample
            self.history.add((found or self.measure(core)).sample(time))
        if self._stale and time >= self._due:
            self._ask(time, core)

    def wake(self) -> int | None:
        """The time at which `after` is to be called though nothing happens."""
        moments = [self._due] * self._stale + [self._next_sample] * self._unsampled
        moments += [self._next_told] * self._untold
        return min(moments, default=None)

    @property
    def exact(self) -> Answered | None:
        """The newest exact allocation, and what it is of."""
        return self._known

    def audit(
        self,
        time: int,
        core: Core,
        found: Measured,
        quarantined: frozenset[str] = frozenset(),
        display_name: DisplayName = str,
        most: int = 100,
    ) -> Audit:
        """Audits who has less than it is guaranteed by what was measured, since when and why.
        `display_name`: what a reader is told of jobs' names."""
        return build_audit(time, core, found, self._since, quarantined, most, display_name)

    def measure(self, core: Core) -> Measured:
        """Measures what everybody has beside what the exact allocation gives."""
        return measure(core, self._known)

    def frozen(self) -> FairnessMonitor:
        """This monitor as it is now: what it knows is read, in any thread, and it is not driven."""
        return copy(self)  # what changes in it is replaced, and not changed in place

    def since(self, tenant: str) -> int | None:
        """Since when the tenant has less than it is guaranteed, without a gap; None: it has not."""
        return self._since.get(tenant)

    def close(self) -> None:
        """Nothing is asked any more."""
        self._adviser.close()
        self.history.close()

    def _ask(self, time: int, core: Core) -> None:
        self._number += 1
        settings = self.settings
        asked = question(
            core, self._number, time, guarantees=settings.guarantees, advice=settings.advice
        )
        self._adviser.ask(asked)
        self._stale = False
        self._due = time + settings.every * max(1, len(asked.jobs) // MANY_JOBS)
