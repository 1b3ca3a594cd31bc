"""The options of a run: how the core decides, what is added to the workload, when it ends."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from fairlead.scheduling import options
from fairlead.simulation.engine.failures import Failures

MINUTE = 60_000_000  # microseconds


@dataclass(frozen=True)
class Options:
    """Times in microseconds."""

    reserve_after: int | None = MINUTE
    """How long a tenant waits with no more before machines are reserved for a job of it; None:
    never."""
    reserve_for: int | None = options.USUAL
    """How long they are held for that one at least; by itself ten times as long."""
    preempt_after: int | None = None
    """Tasks are stopped for a job that was below what it is guaranteed for so long; None: never."""
    whole: bool = True
    """Stand-alone numbers count whole tasks on each machine; False: divisible ones."""
    advise: int = 1_000_000
    """How often at most the exact allocation is solved, for a rule that follows its prices and for
    what is guaranteed to whom."""
    failures: Failures | None = None
    evictions: int | None = None
    """Mean time between two evictions of the newest task of a machine; None: there are none."""
    until: int | None = None
    """Events after this moment do not happen; None: until nothing is left to do."""
    check: bool = False
    """Check the core's invariants at every sample and at the end; slow."""

    def of_core(self) -> options.Options:
        """Those that the core decides by."""
        return options.Options(self.reserve_after, self.reserve_for, self.preempt_after, self.whole)

    def settings(self) -> dict[str, object]:
        """The options as plain values, for a file."""
        return asdict(self)
