"""The service as the API sees it, in the loop's thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeVar

from fairlead.engines.interface import Attempt, Node, Output, Stream
from fairlead.engines.observing import Apart
from fairlead.scheduling.core import Core
from fairlead.scheduling.reading.core_copy import FrozenCore
from fairlead.service.fairness.monitor import FairnessMonitor
from fairlead.service.journal.entry import Listener, Readable
from fairlead.service.journal.leases import Following
from fairlead.service.records.book import Records
from fairlead.service.requests import Reply, Request

T = TypeVar("T")


class Outputs(Protocol):
    """The engine, as far as outputs are read from it."""

    def output(self, attempt: Attempt, stream: Stream, offset: int, most: int) -> Output:
        """A part of an attempt's output. From any thread."""


class ServiceView(Protocol):
    """The service. What the API's functions get when they read."""

    @property
    def records(self) -> Records:
        """Jobs, tasks, machines, tenants and tokens."""

    @property
    def core(self) -> Core | None:
        """The online core; None before the first step."""

    @property
    def places(self) -> bool:
        """Whether it says itself where tasks start, as far as is known."""

    def frozen(self, into: FrozenCore | None = None) -> FrozenCore | None:
        """A copy of the core that nobody changes; None before the first step. `into`: a copy that
        may be written over."""

    @property
    def watch(self) -> FairnessMonitor | None:
        """The monitor that compares shares with fair ones; None where there is none."""

    @property
    def nodes(self) -> Mapping[str, Node]:
        """The engine's machines, as last seen."""

    @property
    def apart(self) -> Mapping[str, Apart]:
        """Jobs of a cluster that another scheduler runs which claim nothing now, and why."""

    def scheduler_reason(self, job: str) -> str:
        """That scheduler's own reason why a job waits, by its unique name, or what is left out of
        what the engine says of it; empty where nothing."""

    @property
    def ready(self) -> bool:
        """Whether new work is taken."""

    @property
    def trouble(self) -> str:
        """Why not."""

    @property
    def following(self) -> Following | None:
        """The worth of an answer where another service leads; None where this one does."""

    def doubt(self) -> str:
        """Why nothing can be made durable now, by what was tried last; empty if it can."""

    @property
    def engine(self) -> Outputs:
        """The engine."""

    @property
    def store(self) -> Readable:
        """The journal."""

    @property
    def listeners(self) -> list[Listener]:
        """Called in the loop's thread with entries that are durable."""


class Entrance(Protocol):
    """The mailbox, as far as the API uses it."""

    async def ask(self, request: Request) -> Reply:
        """The reply, once what was done is durable."""

    def read(self, function: Callable[[ServiceView], T], *, long: bool = False) -> Awaitable[T]:
        """Runs the function on the service, between two steps. `long`: it takes long, and who asks
        has other things to do meanwhile."""
