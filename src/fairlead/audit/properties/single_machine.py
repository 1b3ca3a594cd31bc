"""Single-machine fairness: on one machine the allocation is that of DRF (TSF, Definition 5)."""

from __future__ import annotations

from fairlead.audit.outcome import Outcome
from fairlead.audit.properties.reduces import reduction
from fairlead.model.eligibility import may_use

NAME = "single-machine-fairness"


def simpler(outcome: Outcome) -> tuple[str | None, str]:
    """DRF, where the cluster is one machine that every job may use."""
    machines = outcome.input.cluster.machines
    if len(machines) != 1:
        return None, "it is about clusters of one machine"
    if not all(may_use(job, machines[0]) for job in outcome.input.jobs):
        return None, "a constraint closes the one machine to some job"
    return "drf", "one machine that every job may use"


PROPERTY = reduction(NAME, "on one machine, open to all, the allocation is that of DRF", simpler)
