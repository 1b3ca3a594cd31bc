"""Single-resource fairness: with one resource the allocation is that of constrained max-min
fairness (TSF, Definition 6)."""

from __future__ import annotations

from fairlead.audit.outcome import Outcome
from fairlead.audit.properties.reduces import reduction

NAME = "single-resource-fairness"


def simpler(outcome: Outcome) -> tuple[str | None, str]:
    """CMMF on the resource, where the jobs demand only one."""
    jobs = outcome.input.jobs
    resources = sorted({name for job in jobs for name, need in job.demand.items() if need})
    if len(resources) != 1:
        return None, "it is about jobs that demand one resource only"
    return f"cmmf({resources[0]})", f"all jobs demand {resources[0]} alone"


PROPERTY = reduction(
    NAME, "where one resource matters, the allocation is constrained max-min fair", simpler
)
