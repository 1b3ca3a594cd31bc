"""Why nothing is reserved or kept for a job: its tenant rests."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fairlead.model.words import machines, timespan
from fairlead.scheduling.kernels.memory.state import State
from fairlead.scheduling.kernels.memory.tables import POINTS
from fairlead.scheduling.state.ids import Ids

MICRO = 10**6


@dataclass(frozen=True, slots=True)
class Resting:
    """Nothing is reserved or kept for the job for so many `seconds` more, as so many machines were
    held in vain for one of its tenant's jobs (none: room below a limit): for `held` seconds, until
    `ago` seconds ago."""

    tenant: str | None
    machines: int
    held: Fraction
    ago: Fraction
    seconds: Fraction

    def __str__(self) -> str:
        whom = "it" if self.tenant is None else f"a job of tenant {self.tenant}"
        ago = f"{timespan(float(self.ago))} ago" if self.ago else "now"
        what = f"{machines(self.machines)} {'was' if self.machines == 1 else 'were'} reserved"
        if not self.machines:
            what = "room below a limit was set aside"
        return (
            f"{what} for {whom} for {timespan(float(self.held))} in vain, until {ago}; for"
            f" {timespan(float(self.seconds))} more none is"
        )


@dataclass(frozen=True, slots=True)
class AfterStint:
    """A tenant (None: the job) rests for so many `seconds` as it held more than its part while
    others waited; it `holds` as much still. With the gang it would again."""

    tenant: str | None
    holds: bool
    seconds: Fraction

    def __str__(self) -> str:
        who = "it" if self.tenant is None else f"tenant {self.tenant}"
        time = timespan(float(self.seconds))
        if self.holds:
            what = f"{who} holds its part or more while others wait, and rests for {time} after it"
        else:
            what = f"{who} held more than its part while others waited, and rests for {time} more"
        return f"{what}: until then the gang starts only where nobody else can use the room"


def after_stints(state: State, ids: Ids, slot: int, together: int) -> list[AfterStint]:
    """Of a job of which so many tasks start together: its tenants that rest, from its own up."""
    found: list[AfterStint] = []
    more, t = together * int(state.job[slot]["unit"]), int(state.job[slot]["tenant"])
    while t >= 0 and together > 1:
        tenant = state.tenant[t]
        owes, rate = int(tenant["owes"]), int(tenant["rate"])
        then = int(tenant["held"]) + more
        if owes > 0 and not tenant["alone"] and then > int(tenant["part"]):
            name = None if tenant["single"] else ids.tenant_at[t].name
            pace = -rate if rate < 0 else POINTS
            found.append(AfterStint(name, rate >= 0, Fraction(owes, pace * MICRO)))
        t = int(tenant["parent"])
    return found
