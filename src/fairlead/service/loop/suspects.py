"""Reports of the engine at which a step failed, as nobody foresaw: they are taken in one by one,
and one at which it fails is left out for a while. The engine repeats what nobody acknowledged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.engines.interface import Attempt, Report
from fairlead.service.failures import origin

PAUSE = 60_000_000
"""Microseconds for which a report is left out at first, and twice as long each time after that:
whenever it is tried the core is made again of the journal, and everybody waits."""

MOST = 16
"""Attempts whose reports are left out at once. Where there are more it is not of a report that the
program fails."""


@dataclass(slots=True)
class _LeftOut:
    since: int
    pause: int


class Suspects:
    """`faults`: those that were left out, a sentence each, for whoever takes them. `accused`: so
    often a step failed of some, or may have."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.accused = 0
        self._single = 0  # so many are still to be taken in one by one
        self._left_out: dict[Attempt, _LeftOut] = {}

    @property
    def hurry(self) -> bool:
        """Whether the engine has more to say, which waits for nothing."""
        return self._single > 0

    def admit(self, reports: Sequence[Report], time: int) -> Sequence[Report]:
        """Those of the engine's reports that are taken in by a step of that time."""
        if self._left_out:
            reports = [each for each in reports if not self._is_out(each.attempt, time)]
        if self._single:
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
        known = self._left_out.get(first.attempt)
        if known is None and len(self._left_out) >= MOST:
            return None
        self._left_out[first.attempt] = _LeftOut(time, PAUSE if known is None else 2 * known.pause)
        self.faults.append(
            f"Fairlead failed at what the engine says of attempt {first.attempt}"
            f" ({type(first).__name__.lower()}): {origin(error)}; that task stays as it is, and all"
            " else goes on"
        )
        return ()

    def clear(self, reports: Sequence[Report]) -> None:
        """These were taken in."""
        for each in reports if self._left_out else ():
            self._left_out.pop(each.attempt, None)

    def _is_out(self, attempt: Attempt, time: int) -> bool:
        known = self._left_out.get(attempt)
        return known is not None and time < known.since + known.pause
