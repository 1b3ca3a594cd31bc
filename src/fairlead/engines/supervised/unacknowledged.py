"""Reports that were heard and not acknowledged yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Lock

from fairlead.engines.interface import Attempt, Report, Started


class Unacknowledged:
    """At most a start or an end of each attempt, in the order in which they were heard. Any thread
    may use it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._reports: dict[tuple[Attempt, type[Report]], Report] = {}

    def take(self, reports: Iterable[Report]) -> None:
        """These were heard. An end says all that a start would."""
        with self._lock:
            for report in reports:
                if not isinstance(report, Started):
                    self._reports.pop((report.attempt, Started), None)
                self._reports[report.attempt, type(report)] = report

    def all(self) -> list[Report]:
        with self._lock:
            return list(self._reports.values())

    def drop(self, reports: Sequence[Report]) -> None:
        with self._lock:
            for report in reports:
                self._reports.pop((report.attempt, type(report)), None)

    def clear(self) -> None:
        """Drops all of them: a reconciliation voids the reports before it."""
        with self._lock:
            self._reports.clear()
