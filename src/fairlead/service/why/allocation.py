"""The exact allocation of the present as the dashboard draws it."""

from __future__ import annotations

from fairlead.audit.outcome import rule_of
from fairlead.dashboard.picture import picture
from fairlead.model.errors import InputError
from fairlead.scheduling.state.scales import FIFO
from fairlead.service.why.as_live import LiveInput, solve_as_live
from fairlead.wire.fairness import LiveAllocation


def draw_present(time: int, live: LiveInput, policy: str) -> LiveAllocation:
    """Shares what is present and draws it. Warnings are left out, and what is wrong with a job:
    they quote constraints and demands, which are their owners' business. Raises InputError where
    the policy refuses.

    It touches nothing that the loop owns."""
    if policy == FIFO:
        raise InputError("fifo has no shares to draw", "choose the policy tsf, or another one")
    try:
        found = solve_as_live(live, live.input, rule_of(policy))
    except InputError as error:
        raise InputError(f"what is present cannot be shared out by {policy}") from error
    return LiveAllocation(
        time=time,
        picture=picture(found.input.cluster, found.input.jobs, found.allocation) | {"warnings": []},
    )
