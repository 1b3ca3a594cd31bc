"""Decisions: all that the online core ever says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Launch:
    """Start a task on a machine, for the `attempt`-th time (from 1). `pieces` are the devices that
    it takes, as (resource, index of the device), for resources that come in pieces."""

    job: str
    task: int
    machine: str
    attempt: int
    pieces: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop a task: its job was cancelled, or somebody below its guarantee needs the room."""

    job: str
    task: int
    machine: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Reject:
    """A job is not taken, for this reason. Nothing of it is kept."""

    job: str
    reason: str


Decision = Launch | Stop | Reject
