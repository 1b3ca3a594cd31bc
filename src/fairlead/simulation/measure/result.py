"""The result of a run: totals, how far it was from exact, and the digest of its end."""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA = "fairlead.simulation/1"
SHOWN = (
    *("policy", "placement", "seed", "tasks", "placed", "seconds"),
    *("rmse_percent", "largest_shortfall", "digest"),
)


@dataclass(frozen=True)
class Result:
    """One run. `row()` is its object in `fairlead.simulation/1`."""

    policy: str
    placement: str
    seed: int
    tasks: int  # of all jobs that were submitted
    placed: int  # tasks that were placed at least once
    seconds: float  # wall time of the run, measuring by sinks included; compiling apart
    rmse_percent: float | None  # mean over the samples of the distance; None: not measured
    largest_shortfall: float | None  # in percent of a share; None: not measured
    digest: str  # of the state at the end, and of all that happened until then
    jobs: int  # submitted
    finished: int  # tasks that ended well
    launches: int  # lost tasks that were placed again counted again
    lost: int  # launches that a machine's end, an eviction or a stop cut short
    end: int  # the time of the last event, in microseconds
    stopped: int = 0  # those of them stopped for somebody below its guarantee
    sampled: int | None = None  # microseconds between samples of shares and utilisation, if kept

    def row(self) -> dict[str, object]:
        """The keys of `fairlead.simulation/1`, in their order."""
        return {name: getattr(self, name) for name in SHOWN}


def tree(results: list[Result]) -> dict[str, object]:
    """The runs as `fairlead.simulation/1`."""
    return {"schema": SCHEMA, "runs": [result.row() for result in results]}
