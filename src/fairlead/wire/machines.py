"""Machines, as the API shows them."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from pydantic import Field

from fairlead.wire.shape import Amounts, Count, Moment, RequestBody, ResponseBody


class MachineState(Enum):
    """How a machine stands."""

    UP = "up"
    DRAINING = "draining"  # an admin drained it: what runs goes on, nothing new comes
    QUARANTINED = "quarantined"  # it failed, and rests until some moment
    TROUBLED = "troubled"  # the engine says that it does not answer


class MachineOrder(Enum):
    """The order of a list of machines."""

    NAME = "name"
    TASKS = "tasks"


class Quarantine(ResponseBody):
    """Why a machine rests, and until when."""

    until: Moment
    failures: Count
    why: str = ""


class MachineRow(ResponseBody):
    """A machine with what it has, what is free of it (negative where it shrank under its tasks),
    and how many tasks it runs."""

    name: str
    state: MachineState
    drained: bool = Field(default=False, description="by an admin, whatever else is wrong with it")
    capacity: Amounts
    free: Amounts
    labels: dict[str, str] = Field(default_factory=dict)
    tasks: Count = 0
    quarantine: Quarantine | None = None
    problem: str = ""


class Machines(ResponseBody):
    """A page of the machines that are there."""

    schema_: Literal["fairlead.machines/1"] = Field(default="fairlead.machines/1", alias="schema")
    machines: list[MachineRow]
    next: str | None = None


class MachineNames(RequestBody):
    """Which machines, by their names, at least one."""

    machines: list[str] = Field(min_length=1)


class MachineDetail(MachineRow):
    """One machine."""

    schema_: Literal["fairlead.machine/1"] = Field(default="fairlead.machine/1", alias="schema")
