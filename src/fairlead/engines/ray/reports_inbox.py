"""What a driver hears from the launcher: its reports as they come, and whether what it was told was
done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.engines.ray.launcher.verdict import Tree
from fairlead.engines.ray.transport import Way
from fairlead.engines.supervised.messages import report_of
from fairlead.engines.supervised.unacknowledged import Unacknowledged

DEAF = "the launcher in Ray lacks the call of a job"


class Ear:
    """Hears of one reconciliation, whose answer is `told`, until it is closed or in trouble.

    `trouble`: why what was told since may not have been done; empty while all is well. `wake` is
    called when there is something new, or trouble."""

    def __init__(self, way: Way, told: Tree, wake: Callable[[], None]) -> None:
        self.trouble = ""
        self._wake = wake
        self._over = False
        self.reports = Unacknowledged()
        self.reports.take(map(report_of, told["reports"]))
        way.hear(told["round"], told["seen"], self)

    @property
    def closed(self) -> bool:
        """Whether it hears nothing any more."""
        return self._over or bool(self.trouble)

    def close(self) -> None:
        """Hears nothing any more."""
        self._over = True

    def news(self, reports: list[Tree]) -> None:
        """These are new."""
        if not self.closed:
            self.reports.take(map(report_of, reports))
            self._wake()

    def failed(self, why: Any) -> None:
        """What was told was perhaps not done: the reason, or the jobs whose calls are missing."""
        if not self.closed:
            self.trouble = why if isinstance(why, str) else DEAF
            self._wake()
