"""How far a run is, told while it goes on; and, once, that it may never end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.simulation.engine.progress import Bar

TRIES = 1_000
"""So often each task that runs was lost, with none that ended, before that is worth a word."""

LOOKS = 10_000
"""So many stops of the compiled loop, with no task that ended meanwhile, before that is worth a
word: some seconds where each is a measurement."""


class Pace:
    """Hears of a run's clock. `name`: of the run. `remark` hears, once, that tasks are lost and
    none ends any more: what is drawn comes more often than they can live with; and, once, that the
    run is looked at so often that it hardly goes on."""

    def __init__(self, bar: Bar, name: str, remark: Callable[[str], object]) -> None:
        self._bar, self._name, self._remark = bar, name, remark
        self._finished = self._lost = 0
        self._told = self._slow = False
        self._looks = self._since = 0

    def look(self, clock: Any) -> None:
        """The run is as far as its clock says."""
        finished, lost = int(clock["finished"]), int(clock["lost"])
        self._bar.update(finished - self._finished)
        if finished > self._finished:
            self._finished, self._lost = finished, lost
            self._looks, self._since = 0, int(clock["stop"])
            return
        self._looks += 1
        if self._looks == LOOKS and not self._slow and lost == self._lost:
            self._slow = True
            passed = (int(clock["stop"]) - self._since) / 1e6
            self._remark(
                f"{self._name}: it was looked at {LOOKS:,} times while {passed:,.3g} s of its own"
                " time passed and no task ended; with a longer time at --distance or --sample it"
                " ends sooner"
            )
        if self._told or lost - self._lost < TRIES:
            return
        running = int(clock["launches"]) - lost - int(clock["stopped"]) - finished
        if lost - self._lost >= TRIES * running:
            self._told = True
            self._remark(
                f"{self._name}: {lost - self._lost:,} tasks were evicted, or lost their machine,"
                " since one ended last: it may go on without end; with a longer time at"
                " --evictions or --failures tasks live to their end, and --until TIME ends a run"
            )
