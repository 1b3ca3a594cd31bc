"""The tenants of `fairlead start`: each submits work of its own kind while the example runs."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairlead.model.errors import FairleadError
from fairlead.model.job import Job

if TYPE_CHECKING:
    from fairlead.client.client import Client
    from fairlead.client.places import Place

PAUSE = 0.5
"""Seconds between two looks at who needs more work."""

ENOUGH = 8
"""Tasks that wait, of a tenant that needs no more work now."""


@dataclass(frozen=True)
class Kind:
    """A kind of work: what its tasks need and where they can run; they sleep for some seconds."""

    tenant: str
    name: str
    demand: dict[str, str]
    where: str
    tasks: int
    seconds: tuple[float, float]


KINDS = (
    Kind("vision", "train", {"cpu": "1", "accelerator": "1"}, "model in (a100, h100)", 6, (2, 5)),
    Kind("vision", "label", {"cpu": "1", "memory": "1GiB"}, "zone = east", 8, (1, 3)),
    Kind("language", "pretrain", {"cpu": "2", "accelerator": "1"}, "model = h100", 4, (3, 6)),
    Kind("robotics", "simulate", {"cpu": "1"}, "", 12, (1, 4)),
)


class Work(threading.Thread):
    """Submits as the tenants would. `failed`: why it cannot go on."""

    def __init__(self, place: Place, seed: int = 1) -> None:
        super().__init__(name="work", daemon=True)
        self.place = place
        self.failed = ""
        self._random = random.Random(seed)
        self._enough = threading.Event()
        self._numbers: dict[str, int] = {}

    def run(self) -> None:
        """Submits until it is told to stop."""
        from fairlead.client.client import Client

        try:
            with Client(place=self.place, patience=30.0) as client:
                while not self._enough.wait(PAUSE):
                    self._submit_some(client)
        except FairleadError as error:
            if not self._enough.is_set():
                self.failed = str(error)

    def stop(self) -> None:
        """Nothing is submitted any more."""
        self._enough.set()
        self.join(timeout=10)

    def _submit_some(self, client: Client) -> None:
        waiting: dict[str, int] = {}
        for job in client.jobs():
            name = job.name.rpartition("-")[0]
            waiting[name] = waiting.get(name, 0) + job.tasks.waiting
        jobs = [self._job(kind) for kind in KINDS if waiting.get(kind.name, 0) < ENOUGH]
        if jobs and not self._enough.is_set():
            client.submit(*jobs)

    def _job(self, kind: Kind) -> Job:
        number = self._numbers[kind.name] = self._numbers.get(kind.name, 0) + 1
        seconds = self._random.uniform(*kind.seconds)
        return Job(
            f"{kind.name}-{number}",
            kind.demand,
            tenant=kind.tenant,
            where=kind.where,
            tasks=kind.tasks,
            duration=f"{seconds:.1f}s",
            command=f"echo {kind.name} begins; sleep {seconds:.1f}; echo {kind.name} is done",
        )
