"""Pledges: machines whose room is being freed for one job, so that nobody else is placed there."""

from __future__ import annotations

from fairlead.compiling import kernel
from fairlead.scheduling.kernels.change.clocks import stir
from fairlead.scheduling.kernels.change.grown import mark_room_grew
from fairlead.scheduling.kernels.memory.state import Handle
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE


@kernel
def pledge(s: Handle, m: int, j: int) -> None:
    """Until it is released, machine m is the job's, which is asked at once."""
    machine, w = s.machine[m], s.header[0]
    if machine.reserved < 0:
        w.reservations += 1
    machine.reserved = j
    machine.pledged = 1
    machine.until = NEVER
    mark_room_grew(s, m)


@kernel
def release(s: Handle, m: int) -> None:
    """The machine is pledged to nobody; whoever waits is asked."""
    machine, w = s.machine[m], s.header[0]
    if machine.pledged:
        machine.pledged = 0
        machine.reserved = NONE
        machine.wanted = 0
        w.reservations -= 1
        stir(s)
        mark_room_grew(s, m)
