"""The exact allocation of the present as the dashboard draws it."""

from __future__ import annotations

from fairlead.audit.finding import Input
from fairlead.dashboard.picture import picture
from fairlead.model.errors import InputError
from fairlead.scheduling.state.scales import FIFO
from fairlead.service.why.whatif import in_whole_tasks
from fairlead.sharing.allocate import allocate
from fairlead.wire.fairness import LiveAllocation


def draw_present(time: int, given: Input, policy: str) -> LiveAllocation:
    """Shares what is present and draws it. Warnings are left out, and what is wrong with a job:
    they quote constraints and demands, which are their owners' business. Raises InputError where
    the policy refuses.

    It touches nothing that the loop owns."""
    if policy == FIFO:
        raise InputError("fifo has no shares to draw", "choose the policy tsf, or another one")
    whole = in_whole_tasks(given)
    try:
        allocation = allocate(whole.cluster, whole.jobs, policy)
    except InputError as error:
        raise InputError(f"what is present cannot be shared out by {policy}") from error
    return LiveAllocation(
        time=time, picture=picture(whole.cluster, whole.jobs, allocation) | {"warnings": []}
    )
