"""A cluster that another scheduler runs, as an engine sees it: what there is, and whose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from fairlead.engines.interface import Cause, Node
from fairlead.model.job import Job
from fairlead.model.tenant import Tenant


@dataclass(frozen=True, slots=True)
class Part:
    """Tasks of a job that run together: a machine for each. `name`: of the part within its job, as
    that cluster has it; empty where the job is one part. Times are in microseconds since 1970."""

    name: str
    machines: tuple[str, ...]
    started: int


@dataclass(frozen=True, slots=True)
class PartEnd:
    """The end of a part, and where it had run. `cause` None: the machine failed under it."""

    part: Part
    cause: Cause | None
    code: int
    ended: int
    message: str = ""


@dataclass(frozen=True, slots=True)
class SeenJob:
    """A job of the cluster's own: `job` says what each part asks for, its tasks are those of one
    part. `waiting` tasks wait for their turn; of `ended` parts the cluster still knows the end.
    `again`: parts that wait and may have run before. `queued`: all that wait for their turn, in
    their order. `given`: parts that an engine was told to launch (`Adopts`) and that have not
    started; they do not wait. `said`: what its scheduler says of those that wait, in its own
    words."""

    job: Job
    waiting: int
    running: tuple[Part, ...] = ()
    ended: tuple[PartEnd, ...] = ()
    again: frozenset[str] = frozenset()
    queued: tuple[str, ...] = field(default=(), compare=False)
    given: frozenset[str] = frozenset()
    said: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Apart:
    """A job that waits, or runs, and claims nothing, because its own cluster holds it, or because
    nobody here understands it or placed it: `why` is a sentence."""

    tenant: str | None
    why: str
    runs: bool = False


@dataclass(frozen=True)
class View:
    """A cluster at one moment. `weighed`: weights and limits of tenants are the cluster's own.
    `notes`: sentences on what was assumed and on what is not understood."""

    time: int
    nodes: tuple[Node, ...]
    tenants: tuple[Tenant, ...]
    weighed: bool
    jobs: Mapping[str, SeenJob]
    apart: Mapping[str, Apart] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@runtime_checkable
class Observes(Protocol):
    """An engine of a cluster that another scheduler runs: nothing is launched there."""

    def view(self) -> View | None:
        """The cluster as it was read last; None where that was returned before. Raises EngineError
        where it could not be read since."""

    def nodes(self) -> Sequence[Node]:
        """Those of the view that was returned last."""


@runtime_checkable
class Adopts(Protocol):
    """An engine that also places a cluster's own jobs, those that wait there until they are
    launched: then each part of them is an `Assignment` with its name (`part`). How they go on is
    seen in views, and nothing is reported of them; they end there, and are not cancelled here."""

    def adopted(self) -> View | None:
        """These jobs as they were seen last; None where that was returned before. `running` and
        `ended` parts are those that were launched: of others the machines are smaller."""


@dataclass(frozen=True, slots=True)
class Priority:
    """A job's priority by the scheduler that places it, and its parts, of which it is the sum;
    `said`: the same as a sentence."""

    total: int
    parts: Mapping[str, int]
    said: str


@runtime_checkable
class Prioritizes(Protocol):
    """An engine whose scheduler says what a job's priority is made of."""

    def priority(self, job: str) -> Priority:
        """Asks for it now, which takes a moment; in any thread. Raises EngineError."""


@runtime_checkable
class Orders(Observes, Protocol):
    """One whose scheduler can be told in which order waiting jobs are to be served."""

    def order(self, jobs: Sequence[str]) -> None:
        """In this one, the first first, by the names of the last view. Returns at once; that it
        could not be done is the next `view`'s EngineError."""
