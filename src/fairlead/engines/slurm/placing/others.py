"""Who else starts jobs in the partition: another service, and Slurm, where nothing holds what users
submit there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fairlead.engines.slurm.placing.marks import is_let_go, released_by_another
from fairlead.engines.slurm.reading.values import SlurmJob
from fairlead.engines.slurm.translation import RUNNING

UNHELD = "it was not held when it came"

NOTHING_HOLDS = (
    "users' jobs are to be held there by job_submit.lua until it is their turn"
    " (JobSubmitPlugins=lua in slurm.conf)"
)


class Others:
    """What is seen of them among users' jobs in `partition`. `unheld`: numbers of jobs that waited
    for Slurm alone, or ran, when they were first seen. `tell`: says a sentence once."""

    def __init__(self, partition: str, engine: str, tell: Callable[[str], None]) -> None:
        self.unheld: set[int] = set()
        self._partition, self._engine, self._tell = partition, engine, tell
        self._known: set[int] | None = None

    def elder(self, jobs: Iterable[SlurmJob]) -> str:
        """Why nothing is to be placed here: a service does whose engine was made before this one,
        as its marks say; empty where none does. One that was made later stops by the same rule."""
        for job in jobs:
            other = released_by_another(job, self._engine)
            if other and other < self._engine:
                return (
                    f"another service places jobs in partition {self._partition}: its engine"
                    f" {other} released job {job.number}, as the job's AdminComment says"
                )
            if other:
                self._tell(
                    f"another service, with the engine {other}, places jobs in partition"
                    f" {self._partition} as well; stop it"
                )
        return ""

    def look(self, jobs: Sequence[SlurmJob]) -> None:
        """Takes in what was read. How those came that were there before the first time, nobody
        knows."""
        numbers = {job.array or job.number for job in jobs}
        starts = (job for job in jobs if is_let_go(job) or job.state in RUNNING)
        self.unheld &= numbers
        if self._known is not None:
            new = {job.array or job.number for job in starts} - self._known
            self.unheld |= new
            if new:
                self._tell(
                    f"jobs come into partition {self._partition} that nobody holds: {NOTHING_HOLDS}"
                )
        self._known = numbers
