"""The interface of engines: each runs the tasks that it is told to run, and reports their ends.

An engine decides nothing. The service owns the truth: it tells the engine to launch an attempt
only after the journal holds that decision, and what the engine reports counts only once the
journal holds it. Until then the engine repeats it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Protocol, runtime_checkable

from fairlead.model.command import Command
from fairlead.model.errors import FairleadError
from fairlead.model.machine import Machine
from fairlead.model.values import FrozenMap

MOST_OUTPUT = 256 * 2**20
"""Bytes that are kept of what an attempt writes to its two outputs, if nothing else is said."""


class EngineError(FairleadError):
    """The engine cannot be reached, or failed, as a whole. What was asked may or may not have been
    done: everything asked of an engine may be asked again."""


def damaged(path: Path) -> tuple[str, str]:
    """What is wrong with the file of an engine's name, and what would be right."""
    return (
        f"{path} does not say which engine this is",
        "put back the last good copy, or remove it; what runs then counts as lost, perhaps started",
    )


def overtaken(what: str, newest: int, owner: int) -> str:
    """Why this owner of the journal starts nothing, where a newer one was heard of."""
    return (
        f"another service has taken {what} over (it is owner {newest} of the journal, and this one"
        f" was owner {owner}); if an older journal was put back, stop this service, remove the head"
        " file that is beside the journal, and start it again"
    )


@contextmanager
def disk_trouble() -> Iterator[None]:
    """A disk that is full or broken is the engine's failure."""
    try:
        yield
    except OSError as error:
        raise EngineError(f"the state folder cannot be used: {error}") from error


@dataclass(frozen=True, slots=True, order=True)
class Attempt:
    """The `number`-th attempt (from 1) at task `task` of the job numbered `job`.

    Jobs are numbered by the service, and no number is used twice: names may be."""

    job: int
    task: int
    number: int

    def __str__(self) -> str:
        return f"{self.job}.{self.task}.{self.number}"


@dataclass(frozen=True, slots=True)
class Assignment:
    """An attempt that an engine is to run, with its machine and all that it needs.

    `pieces` are the devices that it holds, as (resource, index). `command` and `call` are not both
    set; neither: the task ends well at once. `user`: as whom it runs, None: as the service. `part`:
    what it is in the cluster's own job of that name (`observing.Adopts`); None: a task of ours.
    `room`: bytes of its outputs that its tenant has room for; None: as many as are kept of one."""

    attempt: Attempt
    machine: str
    name: str  # the job's
    tenant: str
    demand: FrozenMap[Fraction]
    command: Command | None = None
    call: str | None = None
    env: FrozenMap[str] = field(default_factory=FrozenMap)
    cwd: str | None = None
    time_limit: Fraction | None = None  # seconds
    pieces: tuple[tuple[str, int], ...] = ()
    user: str | None = None
    part: str | None = None
    room: int | None = None

    def most_output(self, kept: int) -> int:
        """Bytes that are kept of what it writes, where so many are of one."""
        return kept if self.room is None else min(kept, self.room)

    def variables(self) -> dict[str, str]:
        """The task finds in these variables what it is a part of, whatever engine runs it."""
        return {
            "FAIRLEAD_JOB": self.name,
            "FAIRLEAD_JOB_ID": str(self.attempt.job),
            "FAIRLEAD_TASK": str(self.attempt.task),
            "FAIRLEAD_ATTEMPT": str(self.attempt.number),
            "FAIRLEAD_TENANT": self.tenant,
            "FAIRLEAD_MACHINE": self.machine,
            "FAIRLEAD_PIECES": ",".join(f"{name}:{index}" for name, index in self.pieces),
        }


class Health(Enum):
    READY = "ready"
    TROUBLED = "troubled"  # it is there, and should get nothing new: it failed or does not answer
    DRAINING = "draining"  # whose cluster it is gives it nothing new; what runs there goes on


@dataclass(frozen=True, slots=True)
class Node:
    """A machine as the engine sees it now. One that is gone for good is not listed."""

    machine: Machine
    health: Health = Health.READY
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Started:
    """The attempt runs. Times are the engine's, in microseconds since 1970."""

    attempt: Attempt
    time: int


class Cause(Enum):
    """Why an attempt ended."""

    EXITED = "exited"  # by itself, with an exit code
    SIGNALLED = "signalled"  # by a signal that the engine did not send
    TIME_LIMIT = "time_limit"
    MEMORY = "memory"  # it took more than its demand
    STOPPED = "stopped"  # because it was cancelled here
    NOT_STARTED = "not_started"  # the command could not be started at all (no such program)


@dataclass(frozen=True, slots=True)
class Ended:
    """The attempt ran and is over, and nothing of it runs any more. `output`: bytes that the engine
    keeps of what it wrote."""

    attempt: Attempt
    cause: Cause
    code: int  # the exit code, or the signal; 0 with EXITED is the one good end
    time: int
    started: int | None = None
    message: str = ""
    output: int = 0


@dataclass(frozen=True, slots=True)
class Lost:
    """The attempt will never report an end, and nothing of it runs any more.

    `started` False: it certainly never started. True: it may have. `machine_at_fault`: the engine
    or the machine is to blame, not the task. `output`: as of one that ended."""

    attempt: Attempt
    started: bool
    why: str
    machine_at_fault: bool = True
    output: int = 0


Report = Started | Ended | Lost


@dataclass(frozen=True, slots=True)
class Output:
    """A part of what an attempt wrote: from `offset`, and whether more may come."""

    data: bytes
    offset: int
    size: int
    over: bool

    @classmethod
    def part_of(cls, data: bytes, offset: int, most: int, over: bool, at: int = 0) -> Output:
        """The part of an output that was asked for, where all of it from `at` on is at hand."""
        size = at + len(data)
        begin = max(at, first_byte(offset, size))
        return cls(data[begin - at : begin - at + max(0, most)], begin, size, over)


def first_byte(offset: int, size: int) -> int:
    """A part that is asked for by this offset begins there: a negative one counts from the end."""
    return max(0, size + offset) if offset < 0 else min(offset, size)


class Stream(Enum):
    """Which output."""

    OUT = "stdout"
    ERR = "stderr"
    RESULT = "result"  # what a function returned or raised, for the library that called it


class Engine(Protocol):
    """One interface for all engines; tests/engines/contract.py says what each must keep.

    No call waits for a task. Every call may raise EngineError: what was asked may be done, or not,
    or in part; `reconcile` comes next, and then everything may be asked again. `reconcile` is also
    the first call; before it `launch`, `poll`, `acknowledge`, `cancel` and `forget` raise
    EngineError. All are made from one thread, `output` excepted, whose errors need no `reconcile`.

    Who calls promises: an attempt whose end was acknowledged is not launched again.

    `identity` names what the engine keeps of its attempts, across restarts: what was launched under
    another one, it knows nothing of, and that it knows nothing then means nothing."""

    name: str
    identity: str

    def knows(self, identity: str | None) -> bool:
        """Tells whether what was launched under this identity was launched here. None: by a service
        that did not write it down; then, whether anything was kept here before."""

    def nodes(self) -> Sequence[Node]:
        """The machines that are there now, in the order of their names."""

    def launch(self, batch: Sequence[Assignment]) -> None:
        """Start these attempts. One that was launched before, by this engine or the one before it,
        is not started again, and neither is one that was cancelled before it was launched. What
        cannot be started is reported by `poll`: NOT_STARTED where the command is to blame, Lost
        where the machine is (or is not there)."""

    def poll(self) -> Sequence[Report]:
        """Reports of attempts, oldest first; repeated until acknowledged. The end of an
        attempt is reported once nothing of it runs any more, whether or not its start was, and
        never changes afterwards. An attempt has at most one Started and one end, in that order; its
        Started may be left out, and is, once it is over. Nothing is reported of an attempt that was
        neither launched, nor cancelled, nor expected by `reconcile`."""

    def acknowledge(self, reports: Sequence[Report]) -> None:
        """These reports are durable: forget them. After its end was acknowledged, an attempt is
        forgotten but for its output. Acknowledging again, or what was never reported, is nothing.
        """

    def cancel(self, batch: Sequence[Attempt]) -> None:
        """Stop these attempts, gently and then by force. Their ends are reported: STOPPED, or how
        they ended by themselves where that was sooner. An attempt that never started here never
        will: it is reported lost, not started. Cancelling again, or after the end, is nothing."""

    def reconcile(self, expected: Sequence[Assignment], owner: int = 0) -> Sequence[Attempt]:
        """Called first, and after every EngineError: these attempts should be launched or running;
        anything else that runs is stopped, and nothing else is reported from now on. Returns those
        that were certainly never started and never will be unless they are launched again. `poll`
        says of all others that run that they started (again where that was acknowledged), and of
        all that ended or were lost meanwhile how. An attempt that was cancelled and has not ended
        may have to be cancelled again. What was not expected once is nobody's from then on: what
        has its name later, as journals that begin anew or are restored give it again, is another
        one, which starts once nothing of that one is left.

        `owner` grows each time that somebody takes the journal over. An engine that heard of a
        newer owner raises EngineError, here and wherever it would start something."""

    def output(self, attempt: Attempt, stream: Stream, offset: int, most: int) -> Output:
        """At most so many bytes of an attempt's output; a negative offset counts from the end. None
        written so far, or forgotten: empty. `over`: the attempt has ended, and what follows
        `offset + len(data)` up to `size` is all that is left. From any thread."""

    def forget(self, attempts: Sequence[Attempt]) -> None:
        """Nobody will ask for the outputs of these any more; they have ended and that was
        acknowledged. What was forgotten already is nothing."""

    def close(self) -> None:
        """Let go of everything here. Tasks go on running. Closing again is nothing."""


@runtime_checkable
class NotifiesNews(Protocol):
    """An engine that says when it is worth asking it; others are asked now and then."""

    def listen(self, wake: Callable[[], None]) -> None:
        """From now on `wake`, which returns at once, is called when `poll` may say what it did not
        say before, or when a call would raise EngineError. From any thread, and perhaps in vain."""


@runtime_checkable
class FindsFaults(Protocol):
    """An engine that finds what should not be there, which an administrator wants to know."""

    def take_faults(self) -> Sequence[str]:
        """The findings since the last call, a sentence each; the same one is told once."""


@runtime_checkable
class LimitsOutputs(Protocol):
    """An engine that can cut the outputs of attempts that run."""

    def limit_outputs(self, most: Mapping[str, int]) -> None:
        """Where more than so many bytes are kept of what a tenant's attempts that run wrote,
        nothing more is, but for a line that says so. They run on, and hear nothing of it."""
