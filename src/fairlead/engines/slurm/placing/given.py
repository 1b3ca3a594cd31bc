"""A users' own job, or an element of one, that was launched."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairlead.engines.interface import Attempt
from fairlead.engines.slurm.reading.values import SlurmJob


@dataclass
class Given:
    """A part that was launched and is not over: its attempts, each with its machine. `sent`: when
    its release was sent; None: it is still to be. `started`: when it did, in microseconds, 0 before
    that. `leaving`: why it is to be held again. `told`: the reading after which it was held. `as_`:
    what it was when it was released. `beyond`: it runs on more nodes than these.
    """

    name: str
    attempts: list[Attempt] = field(default_factory=list)
    machines: list[str] = field(default_factory=list)
    sent: float | None = None
    started: int = 0
    leaving: str = ""
    told: int = 0
    as_: SlurmJob | None = None
    beyond: bool = False
