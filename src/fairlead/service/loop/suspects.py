"""Reports of the engine at which a step failed, as nobody foresaw: they are taken in one by one,
and one at which it fails is left out for a while. The engine repeats what nobody acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from fairlead.engines.credible import flaw, names_attempt
from fairlead.engines.interface import Attempt, Report
from fairlead.service.failures import origin

PAUSE = 60_000_000
"""Microseconds for which a report is left out at first, and twice as long each time after that:
whenever it is tried the core is made again of the journal, and everybody waits."""

LONGEST = 64 * PAUSE
"""The longest such time, so that what is mended is noticed."""

FEW = 3
"""Attempts of one owner whose reports are left out and that say nothing of his others. From then on
his others are taken in one by one, and none for `PAUSE` after one that failed, too: a job has
thousands of tasks of which all may be such."""

MOST = 16
"""Owners of attempts whose reports are left out at once. Where there are more it is not of a report
that the program fails."""

MOST_ATTEMPTS = 1_000
"""Attempts that are remembered of them. What is forgotten is tried sooner than it was to be."""


@dataclass(slots=True)
class _LeftOut:
    since: int
    pause: int
    owner: Hashable

    def lasts(self, time: int) -> bool:
        """Whether it is too soon to try again."""
        return time < self.since + self.pause

    def again(self, time: int) -> None:
        """It failed once more."""
        self.since, self.pause = time, min(2 * self.pause, LONGEST)


class Suspects:
    """`faults`: those that were left out, a sentence each, for whoever takes them. `accused`: so
    often a step failed of some, or may have. `held`: while it is, none is taken in that may be one.
    `owner_of`: whose a job is; each is its own if nothing is said."""

    def __init__(self, owner_of: Callable[[int], Hashable] = lambda job: job) -> None:
        self.faults: list[str] = []
        self.accused = 0
        self.held = False
        self._owner_of = owner_of
        self._single = 0  # so many are still to be taken in one by one
        self._more = False  # of an owner of whom one at a time is taken in
        self._left_out: dict[Attempt, _LeftOut] = {}
        self._slowed: dict[Hashable, _LeftOut] = {}
        self._flawed: set[str] = set()
        self._disbelieved: dict[Attempt, str] = {}  # of what the engine said last, and why

    @property
    def hurry(self) -> bool:
        """Whether the engine has more to say, which waits for nothing."""
        return self._single > 0 or self._more

    @property
    def left_out(self) -> Sequence[Attempt]:
        """The attempts at whose reports the program failed and that were not taken in since."""
        return list(self._left_out)

    @property
    def disbelieved(self) -> int:
        """Attempts of which the engine says what cannot be, as far as it says of which."""
        return len(self._disbelieved)

    def sentence(self, job: int) -> str:
        """What there is to say of the job of this number; empty where nothing of it is left out."""
        return "; ".join(filter(None, (self._failed_at(job), self._not_believed(job))))

    def _not_believed(self, job: int) -> str:
        theirs = [why for each, why in self._disbelieved.items() if each.job == job]
        if not theirs:
            return ""
        of = "an attempt" if len(theirs) == 1 else f"{len(theirs)} attempts"
        return (
            f"what the engine says of {of} at it is not believed, for {theirs[0]}: as long as that"
            " is so they count as running; an administrator finds them in the log (engine_fault)"
        )

    def _failed_at(self, job: int) -> str:
        theirs = sum(each.job == job for each in self._left_out)
        if not theirs:
            return ""
        of = "an attempt" if theirs == 1 else f"{theirs} attempts"
        return (
            f"what the engine says of {of} at it is left out for now, for Fairlead itself fails at"
            " it: as long as that is so they count as running; an administrator finds the place in"
            " the log (engine_fault), and another version of Fairlead takes them in"
        )

    def admit(self, reports: Sequence[Report], time: int) -> Sequence[Report]:
        """Those of the engine's reports that are taken in by a step of that time."""
        if self._disbelieved:
            self._disbelieved = {}
        reports = [each for each in reports if self._is_sound(each)]
        self._more = False
        if self._left_out:
            reports = self._tried(reports, time)
        if self._single:
            if self.held:
                return ()
            self._single = min(self._single, len(reports)) - 1 if reports else 0
            return reports[:1]
        return reports

    def accuse(
        self, reports: Sequence[Report], time: int, error: Exception
    ) -> Sequence[Report] | None:
        """A step failed of these, or of nothing that was asked for; those that the next one is to
        take in. None: it is none of them."""
        if not reports:
            return None
        self.accused += 1
        first, *others = reports
        if others:
            self._single = len(reports)
            return reports[:1]
        if not self._leave_out(first.attempt, time):
            return None
        self.faults.append(
            f"Fairlead failed at what the engine says of attempt {first.attempt}"
            f" ({type(first).__name__.lower()}): {origin(error)}; that task stays as it is, and all"
            " else goes on"
        )
        return ()

    def clear(self, reports: Sequence[Report]) -> None:
        """These were taken in."""
        for each in reports if self._left_out else ():
            owner = self._owner_of(each.attempt.job)
            slowed = self._slowed.get(owner)
            if slowed is not None:
                slowed.pause = 0  # the next one at once
            self._left_out.pop(each.attempt, None)
            if not any(known.owner == owner for known in self._left_out.values()):
                self._slowed.pop(owner, None)

    def _leave_out(self, attempt: Attempt, time: int) -> bool:
        """Leaves out what is said of it for a while; whether so many may be."""
        owner = self._owner_of(attempt.job)
        known = self._left_out.pop(attempt, None)
        if known is None:
            if len({each.owner for each in self._left_out.values()} - {owner}) >= MOST:
                return False
            known = _LeftOut(time, PAUSE, owner)
            if len(self._left_out) >= MOST_ATTEMPTS:
                del self._left_out[next(iter(self._left_out))]
        else:
            known.again(time)
        self._left_out[attempt] = known
        slowed = self._slowed.get(owner)
        if slowed is not None:
            slowed.since, slowed.pause = time, PAUSE
        elif sum(each.owner == owner for each in self._left_out.values()) >= FEW:
            self._slowed[owner] = _LeftOut(time, PAUSE, owner)
        return True

    def _tried(self, reports: Sequence[Report], time: int) -> list[Report]:
        """Those that it is not too soon to try, of owners who are slowed down one each: what never
        failed first, for it may be well and holds room."""
        found, taken = [], set()
        for each in sorted(reports, key=lambda report: report.attempt in self._left_out):
            known = self._left_out.get(each.attempt)
            if known is not None and known.lasts(time):
                continue
            owner = self._owner_of(each.attempt.job) if self._slowed else None
            slowed = self._slowed.get(owner)
            if slowed is not None:
                if slowed.lasts(time):
                    continue
                if owner in taken:
                    self._more = True
                    continue
                taken.add(owner)
            found.append(each)
        return found

    def _is_sound(self, report: Report) -> bool:
        """Whether it can be believed; what cannot is told once."""
        why = flaw(report)
        if why:
            attempt = getattr(report, "attempt", None)
            if names_attempt(attempt) and len(self._disbelieved) < MOST_ATTEMPTS:
                self._disbelieved[attempt] = why
            subject = str("?" if attempt is None else attempt)[:60]
            told = (
                f"what the engine says of attempt {subject} is not believed, for {why}; that task"
                " stays as it is, and all else goes on"
            )
            if told not in self._flawed:
                if len(self._flawed) >= MOST_ATTEMPTS:
                    self._flawed.clear()
                self._flawed.add(told)
                self.faults.append(told)
        return not why
