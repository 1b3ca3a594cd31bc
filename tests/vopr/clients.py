"""Clients: they ask, wait for a reply, ask again after none, and remember what was promised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from fairlead.service.requests import (
    Caller,
    CancelJob,
    ChangeJob,
    Done,
    DrainMachine,
    ForgetJob,
    MakeToken,
    PutTenant,
    Refused,
    Reply,
    Request,
    RevokeToken,
    SubmitJobs,
    SubmittedJobs,
    Wrong,
)
from tests.vopr.faults import SECOND, BrokenPromiseError, Chance, Fault, Trace
from tests.vopr.ledger import JobLine, Ledger
from tests.vopr.plan import Ask

ADMIN = Caller("admin")


@dataclass
class Waiting:
    """A request that is to be sent then. `sent`: how often it was; `again`: it was answered well
    before, and this is the same once more."""

    time: int
    request: Request
    mistaken: bool = False
    sent: int = 0
    again: SubmittedJobs | None = None
    conflicts: bool = False


class Clients:
    """All of them."""

    def __init__(self, ledger: Ledger, chance: Chance, trace: Trace) -> None:
        self.ledger = ledger
        self.chance = chance
        self.trace = trace
        self.waiting: list[Waiting] = []
        self.promised: dict[int, str] = {}  # accepted jobs: number and name
        self.forgotten: set[int] = set()
        self.unanswered: set[str] = set()  # names of jobs of which nobody knows
        self.replies: Counter[tuple[str, str]] = Counter()

    def plan(self, asks: tuple[Ask, ...]) -> None:
        """These will be asked for."""
        self.waiting += [Waiting(ask.time, ask.request, ask.mistaken) for ask in asks]
        self.waiting.sort(key=lambda each: each.time)

    def accepted(self) -> Iterator[JobLine]:
        """The jobs that were promised to be run."""
        for number in self.promised:
            line = self.ledger.jobs.get(number) or self.ledger.forgotten.get(number)
            if line is not None:
                yield line

    def add(self, time: int, request: Request) -> None:
        """One more."""
        self._later(Waiting(time, request))

    def _later(self, waiting: Waiting) -> None:
        self.waiting.append(waiting)
        self.waiting.sort(key=lambda each: each.time)

    def next(self) -> int | None:
        """When somebody asks next."""
        return self.waiting[0].time if self.waiting else None

    def due(self, now: int, most: int) -> list[Waiting]:
        """Those who ask now; they wait for a reply from now on."""
        count = 0
        while count < min(most, len(self.waiting)) and self.waiting[count].time <= now:
            count += 1
        found, self.waiting = self.waiting[:count], self.waiting[count:]
        for each in found:
            each.sent += 1
            if each.mistaken:
                self.chance.count(Fault.CLIENT_MISTAKEN)
            if self.trace.wanted:
                self.trace.say(f"-> {_short(each.request)}")
        return found

    def unheard(self, asked: Waiting, now: int) -> None:
        """No reply came: who can ask again safely does so."""
        self.replies[type(asked.request).__name__, "no reply"] += 1
        if isinstance(asked.request, SubmitJobs) and asked.request.key is None:
            self.unanswered.update(job.name for job in asked.request.jobs)
            return
        asked.time = now + self.chance.stream("again").randrange(SECOND, 5 * SECOND)
        self._later(asked)

    def heard(self, asked: Waiting, reply: Reply, now: int, alone: bool) -> None:
        """A reply came. It must be true of what is durable. `alone`: nobody else asked for
        something about the same in this step."""
        request = asked.request
        word = reply.wrong.value if isinstance(reply, Refused) else "done"
        self.replies[type(request).__name__, word] += 1
        if self.trace.wanted:
            self.trace.say(f"<- {reply}")
        if isinstance(reply, Done):
            if asked.mistaken or asked.conflicts:
                self._wrong("mistakes are refused", f"{request} was done: {reply}")
            if reply.seq > self.ledger.seq:
                self._wrong(
                    "no reply before its entry is durable",
                    f"{reply} where {self.ledger.seq} entries are durable",
                )
            self._done(asked, reply, now, alone)
        elif reply.wrong is Wrong.UNAVAILABLE:
            if reply.unknown:
                self.unheard(asked, now)
            else:
                if asked.sent == 1:
                    self._not_done(request)
                asked.time = now + self.chance.stream("again").randrange(SECOND, 5 * SECOND)
                self._later(asked)
        elif asked.again is not None:
            if not asked.conflicts and not self._any_forgotten(asked.again):
                self._wrong("a key is remembered", f"{request} got {asked.again}, now {reply}")
        elif asked.sent == 1:
            self._not_done(request)

    def _done(self, asked: Waiting, reply: Done, now: int, alone: bool) -> None:
        request, ledger = asked.request, self.ledger
        if isinstance(request, SubmitJobs):
            self._submitted(asked, request, reply, now)
            return
        name = getattr(request, "job", None)
        known = ledger.names.get(name) if isinstance(name, str) else None
        true = True
        if isinstance(request, CancelJob):
            true = known is None or known.cancelled or known.over()
        elif isinstance(request, ChangeJob):
            true = known is not None and known.count == request.tasks
        elif isinstance(request, ForgetJob):
            true = isinstance(reply.value, int) and reply.value in ledger.forgotten
        elif isinstance(request, PutTenant):
            true = request.tenant.name in ledger.tenants
        elif isinstance(request, DrainMachine):
            true = (request.machine in ledger.drained) is not request.back
        elif isinstance(request, MakeToken):
            true = request.name in ledger.tokens
        elif isinstance(request, RevokeToken):
            true = request.name not in ledger.tokens
        if alone and not true:
            self._wrong("a reply says what is durable", f"{request} got {reply}")

    def _submitted(self, asked: Waiting, request: SubmitJobs, reply: Done, now: int) -> None:
        value = reply.value
        names = tuple(job.name for job in request.jobs)
        if isinstance(value, SubmittedJobs) and value.again:
            # Those of them that were forgotten meanwhile are not spoken of any more.
            forgotten = {line.name for line in self.ledger.forgotten.values()}
            names = tuple(n for n in names if n in value.names or n not in forgotten)
        if not isinstance(value, SubmittedJobs) or value.names != names:
            self._wrong("a reply says what was asked for", f"{request} got {reply}")
        for number, name in zip(value.ids, value.names, strict=True):
            line = self.ledger.jobs.get(number) or self.ledger.forgotten.get(number)
            if line is None or line.name != name:
                self._wrong("an accepted job is durable", f"job {number}, {name}")
            self.promised[number] = name
        same = asked.again is None or value.ids == asked.again.ids
        if asked.again is not None and not same and not self._any_forgotten(asked.again):
            self._wrong("a key gives one answer", f"{asked.again} and then {value}")
        if request.key is None or asked.again is not None:
            return
        if self.chance.hit(Fault.CLIENT_REPEATS):
            later = now + self.chance.stream("repeat").randrange(60 * SECOND)
            self._later(Waiting(later, request, again=value))
        if self.chance.hit(Fault.CLIENT_CONFLICTS):
            other = SubmitJobs(request.caller, request.jobs * 2, request.key)
            later = now + self.chance.stream("repeat").randrange(60 * SECOND)
            self._later(Waiting(later, other, again=value, conflicts=True))

    def _any_forgotten(self, value: SubmittedJobs) -> bool:
        return any(number in self.ledger.forgotten for number in value.ids)

    def _not_done(self, request: Request) -> None:
        """It was refused the first time it was asked: nothing of it is durable."""
        if not isinstance(request, SubmitJobs) or request.key is None:
            return
        if (request.caller.token, request.key) in self.ledger.keys:
            self._wrong("what was refused was not done", f"{request}")

    def _wrong(self, rule: str, what: str) -> NoReturn:
        raise BrokenPromiseError(rule, what)


def about(request: Request) -> str:
    """What a request is about: a job, a machine, a tenant or a token."""
    names = (getattr(request, name, "") for name in ("job", "machine", "name", "tenant"))
    return next((str(name) for name in names if name), "")


def _short(request: Request) -> str:
    if isinstance(request, SubmitJobs):
        jobs = ", ".join(f"{job.name} ({job.tasks} tasks)" for job in request.jobs)
        return f"SubmitJobs {jobs}, key {request.key}, by {request.caller.token}"
    return str(request)
