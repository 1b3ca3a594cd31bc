"""Signatures that are kept are those that would be computed."""

from __future__ import annotations

from fractions import Fraction

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import (
    JobCancelled,
    JobSubmitted,
    MachineChanged,
    MachineJoined,
    MachineLeft,
)
from fairlead.scheduling.kernels.search.signature import signatures
from fairlead.scheduling.state.ids import Unit


def test_a_signature_that_is_kept_is_the_one_of_now() -> None:
    core = Core([Unit("cpu", Fraction(1))])
    count = 0

    def submit(where: str) -> None:
        nonlocal count
        count += 1
        core.apply(JobSubmitted(0, Job(f"j{count}", {"cpu": 1}, tasks=1, where=where)))
        state, j = core.state, core.ids.jobs[f"j{count}"]
        now = signatures(state.demand[[j]], state.needs[[j]], state.satisfied)[0]
        assert state.job[j]["signature"] == now

    def submit_all() -> None:
        for where in ("zone = a", "zone = b", "zone = a"):
            submit(where)

    submit_all()
    for event in (
        MachineJoined(0, Machine("m", {"cpu": 8}, {"zone": "a"})),
        MachineChanged(0, Machine("m", {"cpu": 8}, {"zone": "b"})),
        MachineLeft(0, "m"),
    ):
        core.apply(event)
        submit_all()
    core.apply(MachineJoined(0, Machine("n", {"cpu": 8}, {"zone": "a", "rack": "1"})))
    submit_all()
    submit("rack = 1")  # a term that nobody needed so far
    rack = f"j{count}"
    submit_all()
    core.apply(JobCancelled(0, rack))  # and nobody needs any more
    submit_all()
    for number in range(70):  # more words of terms
        submit(f"rack = {number}")
    submit_all()
