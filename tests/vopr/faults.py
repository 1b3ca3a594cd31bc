"""Faults: what can go wrong in a simulated run, when a seed says so, and the crash that ends a life
of the service."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum
from random import Random
from typing import TypeVar

T = TypeVar("T")

SECOND = 10**6


class Fault(Enum):
    """Everything that a run may do to the service. Each must be hit in a run of many seeds."""

    # The disk.
    APPEND_FAILS = "an append fails and nothing of it is durable"
    APPEND_FAILS_AFTER = "an append reports an error although it is durable"
    APPEND_SLOW = "an append takes seconds"
    APPEND_TAKEN = "another writer has taken the journal"
    READ_CORRUPT = "the journal is corrupt when the service starts"
    READ_FAILS = "the journal cannot be read when the service starts"
    SNAPSHOT_FAILS = "a snapshot cannot be kept"
    SNAPSHOT_LOST = "the newest snapshot is not whole after a crash"
    # Crashes, between any two calls that leave the service.
    CRASH_BEFORE_APPEND = "the service dies before an append"
    CRASH_IN_APPEND = "the service dies in an append, which is lost"
    CRASH_AFTER_APPEND = "the service dies after a durable append"
    CRASH_BEFORE_ENGINE = "the service dies before a call to the engine"
    CRASH_IN_ENGINE = "the service dies in a call to the engine, of which a part was done"
    CRASH_AFTER_ENGINE = "the service dies after a call to the engine"
    CRASH_BEFORE_REPLY = "the service dies before a reply"
    CRASH_IN_SNAPSHOT = "the service dies while it keeps a snapshot"
    CRASH_BETWEEN = "the service dies between two steps"
    CRASH_IN_RECOVERY = "the service dies while it recovers"
    # The engine as a whole.
    ENGINE_ERROR = "a call to the engine fails and did nothing"
    ENGINE_ERROR_HALF = "a call to the engine fails and did a part"
    ENGINE_ERROR_AFTER = "a call to the engine fails and did it"
    ENGINE_DOWN = "the engine cannot be reached for a while"
    # Its launches and its reports.
    LAUNCH_LOST = "a launch is lost"
    LAUNCH_INSTANT = "an attempt is over before the launch returned"
    LAUNCH_SLOW = "an attempt starts only after a long while"
    START_UNREPORTED = "an end is reported without its start"
    REPORT_LATE = "a report comes late"
    REPORT_TWICE = "a report comes again after it was acknowledged"
    REPORTS_SHUFFLED = "reports come in another order"
    REPORT_OLD = "a result of an old attempt comes"
    REPORT_OTHER = "another result of the same attempt comes"
    REPORT_UNKNOWN = "a report comes of an attempt that never was"
    TASK_LOST = "an attempt is lost by itself"
    CANCEL_SLOW = "a cancelled attempt goes on for long"
    CANCEL_TOO_LATE = "a cancelled attempt ends by itself"
    # Nodes.
    NODE_DIES = "a node dies and its attempts are reported lost"
    NODE_VANISHES = "a node is not listed any more and nothing is reported"
    NODE_CUT_OFF = "a node is not listed while its attempts run on, and report later"
    NODE_RETURNS_BUSY = "a node that was cut off is listed again while its attempts run on"
    NODE_RESTARTS = "a node dies and is back before anybody looked"
    NODE_HANGS = "a node is troubled for a while"
    NODE_HANGS_LONG = "a node is troubled for so long that it counts as gone"
    NODE_SHRINKS = "a node has less than before"
    NODE_GROWS = "a node has more than before"
    NODE_JOINS = "a node joins"
    # Time.
    CLOCK_FORWARD = "the clock jumps forward"
    CLOCK_BACK = "the clock jumps back"
    # The adviser.
    ADVICE_LATE = "the adviser's answer comes late"
    ADVICE_NEVER = "the adviser never answers"
    ADVICE_OLD = "the adviser answers an old question"
    # The network.
    REQUEST_LOST = "a request never arrives"
    REQUEST_LATE = "a request arrives late, after others that were sent later"
    REQUEST_TWICE = "a request arrives twice"
    REQUEST_CUT = "a connection is cut in the middle of a request"
    ANSWER_LOST = "an answer is lost"
    ANSWER_LATE = "an answer comes late, perhaps after the client gave up"
    STREAM_CUT = "a connection is cut while events come"
    # Clients.
    CLIENT_REPEATS = "a client asks again with the same key"
    CLIENT_CONFLICTS = "a client uses its key for another request"
    CLIENT_MISTAKEN = "a client asks for what cannot be"


CRASHES = tuple(fault for fault in Fault if fault.name.startswith("CRASH"))

NODES = tuple(
    fault
    for fault in Fault
    if fault.name.startswith("NODE") and fault is not Fault.NODE_RETURNS_BUSY
)
"""Those that happen to a node at a moment."""


class CrashError(BaseException):
    """The service is killed here: nothing that it would have done afterwards happens. No ordinary
    exception, so that nothing in the service can survive it."""


class BrokenPromiseError(BaseException):
    """The service broke a promise. `rule` names which, the same for every run that shows it. No
    ordinary exception, for the service goes on after what its engine raises, whatever it is."""

    def __init__(self, rule: str, what: str) -> None:
        super().__init__(f"{rule}: {what}")
        self.rule = rule


class Trace:
    """What happened, a line each, where somebody wants to read it."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted
        self.lines: list[str] = []
        self.now = 0
        self.start = 0

    def say(self, what: str) -> None:
        """One more line. Ask `wanted` first where the line costs something."""
        if self.wanted:
            self.lines.append(f"{(self.now - self.start) / SECOND:12.6f}  {what}")


class Chance:
    """Says when which fault happens, from one seed. Every fault has its own stream of numbers, so
    that a run with one kind of fault less meets the others where it did before, as far as it goes
    the same way."""

    def __init__(self, seed: int, rates: Mapping[Fault, float], most: int, trace: Trace) -> None:
        self.seed = seed
        self.rates = rates
        self.left = most
        self.trace = trace
        self.hits: Counter[Fault] = Counter()
        self.calm = False
        self._streams: dict[object, Random] = {}

    def stream(self, name: object) -> Random:
        """The stream of random numbers of this name."""
        found = self._streams.get(name)
        if found is None:
            word = name.name if isinstance(name, Fault) else str(name)
            found = self._streams[name] = Random(f"{self.seed} {word}")
        return found

    def hit(self, fault: Fault) -> bool:
        """Whether the fault happens here and now; counted if so."""
        rate = self.rates.get(fault, 0.0)
        if not rate or self.calm or self.left <= 0:
            return False
        if self.stream(fault).random() >= rate:
            return False
        self.count(fault)
        return True

    def count(self, fault: Fault) -> None:
        """The fault happened."""
        self.left -= 1
        self.hits[fault] += 1
        if self.trace.wanted:
            self.trace.say(f"!! {fault.value}")

    def one_of(self, name: object, values: Sequence[T]) -> T:
        """One of the values."""
        return self.stream(name).choice(values)
