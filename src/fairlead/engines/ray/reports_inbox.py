"""Collects the launcher's reports for its driver, and notices where a request may not have been
done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.engines.ray.launcher.verdict import Tree
from fairlead.engines.ray.transport import Transport
from fairlead.engines.supervised.messages import report_of
from fairlead.engines.supervised.unacknowledged import Unacknowledged

DEAF = "the launcher in Ray lacks the call of a job"


class ReportsInbox:
    """Hears of one reconciliation, which began with `answer`, until it is closed or in trouble.

    `trouble`: why requests since may not have been done; empty while all is well. `wake` is
    called when there is something new, or trouble."""

    def __init__(self, transport: Transport, answer: Tree, wake: Callable[[], None]) -> None:
        self.trouble = ""
        self._wake = wake
        self._over = False
        self.reports = Unacknowledged()
        self.reports.take(map(report_of, answer["reports"]))
        transport.subscribe(answer["round"], answer["seen"], self)

    @property
    def closed(self) -> bool:
        """Whether it hears nothing any more."""
        return self._over or bool(self.trouble)

    def close(self) -> None:
        """Hears nothing any more."""
        self._over = True

    def take(self, reports: list[Tree]) -> None:
        if not self.closed:
            self.reports.take(map(report_of, reports))
            self._wake()

    def fail(self, why: Any) -> None:
        """A request was perhaps not done: the reason, or the jobs whose calls are missing."""
        if not self.closed:
            self.trouble = why if isinstance(why, str) else DEAF
            self._wake()
