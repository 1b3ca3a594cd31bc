"""Clients: they ask the API, wait for an answer, ask again after none, and remember what was
promised."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn

from fairlead.service.requests import (
    Caller,
    CancelJob,
    CancelJobs,
    ChangeJob,
    Done,
    DrainMachine,
    DrainMachines,
    ForgetJob,
    ForgetJobs,
    MakeToken,
    PutTenant,
    PutTenants,
    Refused,
    Reply,
    Request,
    RevokeToken,
    SubmitJobs,
    SubmittedJobs,
    Wrong,
)
from fairlead.wire.kinds import Role
from tests.vopr.asking import call_of, reply_of, tree_of
from tests.vopr.faults import SECOND, BrokenPromiseError, Chance, Fault, Trace
from tests.vopr.ledger import Ledger
from tests.vopr.lines import JobLine
from tests.vopr.naming import bare, full, meant
from tests.vopr.network import Answer, Call, Exchange, Network
from tests.vopr.plan import ADMIN, Ask

SECRET = re.compile(rb"secret-of-([a-z0-9-]+)!")
"""What every job's command says: nobody may read it who is not its owner, or above him."""


@dataclass
class Waiting:
    """A request that is to be sent then. `sent`: how often it was; `again`: it was answered well
    before, and this is the same once more. `alone`: nobody else asked for something about the same
    while this was on its way."""

    time: int
    request: Request
    mistaken: bool = False
    sent: int = 0
    again: SubmittedJobs | None = None
    conflicts: bool = False
    alone: bool = True
    then: MakeToken | None = None  # once this token is revoked, of whose text nobody heard


class Clients:
    """All of them."""

    def __init__(
        self,
        ledger: Ledger,
        chance: Chance,
        trace: Trace,
        network: Network,
        file: Callable[[], str | None],
    ) -> None:
        self.ledger = ledger
        self.chance = chance
        self.trace = trace
        self.network = network
        self.waiting: list[Waiting] = []
        self.asked: dict[int, Waiting] = {}  # that are on their way
        self.promised: dict[int, str] = {}  # accepted jobs: number and name
        self.unanswered: set[str] = set()  # names of jobs of which nobody knows
        self.replies: Counter[tuple[str, str]] = Counter()
        self.texts: dict[str, str] = {}  # of tokens, by their names
        self.revoked: dict[str, str] = {}  # texts that are good no more
        self._file = file
        self._number = 0

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

    def pending(self) -> Request | None:
        """What was not answered yet."""
        for each in (*self.asked.values(), *self.waiting):
            return each.request
        return None

    def token(self, name: str) -> str | None:
        """The text of a token that a client holds."""
        return self.texts.get(name) or (self._file() if name == ADMIN.token else None)

    def due(self, now: int) -> None:
        """Who wants to ask now asks."""
        while self.waiting and self.waiting[0].time <= now:
            asked = self.waiting.pop(0)
            token = self.token(str(asked.request.caller.token))
            if token is None:  # it is being made
                asked.time = now + SECOND
                self._later(asked)
            else:
                self._send(asked, token)

    def _send(self, asked: Waiting, token: str) -> None:
        asked.sent += 1
        asked.alone = True
        for other in self.asked.values():
            if about(other.request) & about(asked.request):
                other.alone = asked.alone = False
        self._number += 1
        number = self._number
        self.asked[number] = asked
        if asked.mistaken:
            self.chance.count(Fault.CLIENT_MISTAKEN)
        if self.trace.wanted:
            self.trace.say(f"-> {_short(asked.request)}")

        def told(answer: Answer) -> None:
            self._told(asked, exchange, answer)

        def heard(answer: Answer | None) -> None:
            del self.asked[number]
            self._heard(asked, exchange.call, answer)

        exchange = Exchange(call_of(asked.request, token), told, heard)
        self.network.send(exchange)

    # What the service says

    def _told(self, asked: Waiting, exchange: Exchange, answer: Answer) -> None:
        """An answer leaves the service: it must be true of what is durable."""
        self.leaks(asked.request.caller, answer.body)
        if answer.status == 401:
            self._unknown_token(asked.request.caller, exchange.call)
            return
        if answer.status == 429 or exchange.over or answer.status == 400:
            return
        request, reply = asked.request, reply_of(asked.request, answer)
        first = asked.sent == 1 and exchange.copies == 1
        if isinstance(reply, Refused):
            if reply.wrong is Wrong.UNAVAILABLE:
                return
            if asked.again is not None:
                if not asked.conflicts and not self._any_forgotten(asked.again):
                    self._wrong("a key is remembered", f"{request} got {asked.again}, now {reply}")
            elif first:
                self._not_done(request)
        elif asked.mistaken or asked.conflicts:
            self._wrong("mistakes are refused", f"{request} was done: {reply}")
        else:
            self._done(asked, reply, first)

    def _unknown_token(self, caller: Caller, call: Call) -> None:
        """A token that was given out is good until it is revoked. The first admin's is written
        down before it is good."""
        name = next((name for name, text in self.texts.items() if text == call.token), None)
        if name in self.ledger.tokens:
            self._wrong("a token is good until it is revoked", f"{caller} was not known")

    def leaks(self, caller: Caller, body: bytes) -> None:
        """Nothing of what is said is another tenant's own."""
        for owner in {found.decode() for found in SECRET.findall(body)}:
            mine = caller.role is Role.ADMIN or (
                caller.role is Role.TENANT
                and caller.tenant is not None
                and self.ledger.below(owner, caller.tenant)
            )
            if not mine:
                self._wrong("tenants see only their own", f"{caller} was told of {owner}")

    def _done(self, asked: Waiting, reply: Done, first: bool) -> None:
        request, ledger = asked.request, self.ledger
        if isinstance(request, SubmitJobs):
            self._submitted(asked, request, reply, first)
            return
        name = getattr(request, "job", None)
        lines = meant(ledger, request.caller, name)
        if len(lines) > 1 and asked.alone and not isinstance(request, ForgetJob):
            self._wrong("nobody guesses whom a name means", f"{request} got {reply}")
        known = lines[0] if len(lines) == 1 else None
        true = True
        if isinstance(request, CancelJob | CancelJobs):
            true = all(line.cancelled or line.over() for line in self._lines(request))
        elif isinstance(request, ChangeJob):
            true = known is not None and known.count == request.tasks
        elif isinstance(request, ForgetJob):
            true = not any(line for line in lines if self._named(request.caller, name, line))
        elif isinstance(request, ForgetJobs):
            true = not any(
                self._named(request.caller, each, line)
                for each in request.jobs
                for line in meant(ledger, request.caller, each)
            )
        elif isinstance(request, PutTenant | PutTenants):
            tenants = request.tenants if isinstance(request, PutTenants) else (request.tenant,)
            true = all(ledger.has_tenant(tenant) for tenant in tenants)
        elif isinstance(request, DrainMachine | DrainMachines):
            drained = [name in ledger.drained for name in about(request)]
            true = drained == [not request.back] * len(drained)
        elif isinstance(request, MakeToken):
            true = request.name in ledger.tokens
        elif isinstance(request, RevokeToken):
            true = request.name not in ledger.tokens
        if asked.alone and not true:
            self._wrong("a reply says what is durable", f"{request} got {reply}")

    def _named(self, caller: Caller, name: object, line: JobLine) -> bool:
        """Whether the name means just this job: once one's own is forgotten, it may mean that of
        another tenant."""
        own = caller.tenant in (None, line.tree.get("tenant"))
        return own or full(line) == name

    def _lines(self, request: CancelJob | CancelJobs) -> list[JobLine]:
        """Those of the jobs that are known."""
        names = request.jobs if isinstance(request, CancelJobs) else (request.job,)
        return [line for name in names for line in meant(self.ledger, request.caller, name)]

    def _submitted(self, asked: Waiting, request: SubmitJobs, reply: Done, first: bool) -> None:
        value = reply.value
        assert isinstance(value, SubmittedJobs)
        names = tuple(job.name for job in request.jobs)
        # Those of them that were forgotten meanwhile are not spoken of any more.
        said = tuple(map(bare, value.names))
        forgotten = {line.called for line in self.ledger.forgotten.values()}
        names = tuple(n for n in names if n in said or n not in forgotten)
        if said != names or (value.again and first and asked.again is None):
            self._wrong("a reply says what was asked for", f"{request} got {reply}")
        for number, name in zip(value.ids, value.names, strict=True):
            line = self.ledger.jobs.get(number) or self.ledger.forgotten.get(number)
            if line is None or line.called != bare(name):
                self._wrong("an accepted job is durable", f"job {number}, {name}")
            own = request.caller.tenant is not None
            if name != line.called and (name != full(line) or own):
                self._wrong("who named a job is told its name", f"{request} got {reply}")
            self.promised[number] = name
        same = asked.again is None or value.ids == asked.again.ids
        if asked.again is not None and not same and not self._any_forgotten(asked.again):
            self._wrong("a key gives one answer", f"{asked.again} and then {value}")

    def _any_forgotten(self, value: SubmittedJobs) -> bool:
        return any(number in self.ledger.forgotten for number in value.ids)

    def _not_done(self, request: Request) -> None:
        """It was refused the first time it was asked: nothing of it is durable."""
        if not isinstance(request, SubmitJobs) or request.key is None:
            return
        if any(key == request.key for _, key in self.ledger.keys):
            self._wrong("what was refused was not done", f"{request}")

    # What clients hear

    def _heard(self, asked: Waiting, call: Call, answer: Answer | None) -> None:
        """The client hears an answer, or that there is none: who can ask again safely does so."""
        request, now = asked.request, self.trace.now
        reply = None if answer is None or answer.status == 401 else reply_of(request, answer)
        word = _word(reply)
        self.replies[type(request).__name__, word] += 1
        if self.trace.wanted:
            self.trace.say(f"<- {type(request).__name__} {_names(request)}: {reply or 'no answer'}")
        if answer is not None and answer.status == 401:
            caller = request.caller
            if caller != ADMIN and self.texts.pop(str(caller.token), None) is not None:
                made = MakeToken(ADMIN, str(caller.token), caller.role, caller.tenant, "", "")
                self._later(Waiting(now, made))
            asked.time = now + SECOND  # there is another one by then
            self._later(asked)
        elif reply is None or (answer is not None and answer.status in (400, 429, 503)):
            if isinstance(request, SubmitJobs) and request.key is None and word != "too many":
                self.unanswered.update(job.name for job in request.jobs)
                return
            asked.time = now + self.chance.stream("again").randrange(SECOND, 5 * SECOND)
            self._later(asked)
        else:
            if request.caller == ADMIN:
                self.texts.setdefault(str(ADMIN.token), call.token)
            assert answer is not None
            self._learned(asked, reply, answer)

    def _learned(self, asked: Waiting, reply: Reply, answer: Answer) -> None:
        request, now = asked.request, self.trace.now
        if isinstance(request, MakeToken):
            self._made(asked, request, reply, answer)
        elif asked.then is not None:
            self._later(Waiting(now, asked.then))
        elif isinstance(request, RevokeToken) and request.name in self.texts:
            self.revoked[request.name] = self.texts.pop(request.name)
        value = reply.value if isinstance(reply, Done) else None
        if not isinstance(request, SubmitJobs) or not isinstance(value, SubmittedJobs):
            return
        if request.key is None or asked.again is not None or asked.conflicts:
            return
        if self.chance.hit(Fault.CLIENT_REPEATS):
            later = now + self.chance.stream("repeat").randrange(60 * SECOND)
            self._later(Waiting(later, request, again=value))
        if self.chance.hit(Fault.CLIENT_CONFLICTS):
            other = SubmitJobs(request.caller, request.jobs * 2, request.key)
            later = now + self.chance.stream("repeat").randrange(60 * SECOND)
            self._later(Waiting(later, other, again=value, conflicts=True))

    def _made(self, asked: Waiting, request: MakeToken, reply: Reply, answer: Answer) -> None:
        """A token was made; if nobody heard of it when it was, it is revoked and made again."""
        now = self.trace.now
        if isinstance(reply, Done):
            self.texts[request.name] = str(tree_of(answer)["token"])
        elif reply.wrong is Wrong.CONFLICT and not asked.mistaken:
            self._later(Waiting(now, RevokeToken(request.caller, request.name), then=request))
        elif reply.wrong is Wrong.NOT_FOUND and not asked.mistaken:
            self._later(Waiting(now + SECOND, request))  # its tenant is not known yet

    def _wrong(self, rule: str, what: str) -> NoReturn:
        raise BrokenPromiseError(rule, what)


def _word(reply: Reply | None) -> str:
    if reply is None:
        return "no reply"
    return reply.wrong.value if isinstance(reply, Refused) else "done"


def about(request: Request) -> frozenset[str]:
    """What a request is about: jobs, machines, tenants or a token."""
    match request:
        case PutTenant():
            return frozenset([request.tenant.name])
        case PutTenants():
            return frozenset(tenant.name for tenant in request.tenants)
        case SubmitJobs():
            return frozenset(job.name for job in request.jobs)  # without tenants, as below
        case CancelJobs() | ForgetJobs():
            return frozenset(map(bare, request.jobs))
        case DrainMachines():
            return frozenset(request.machines)
        case ChangeJob() | CancelJob() | ForgetJob():
            return frozenset([bare(str(request.job))])
        case DrainMachine():
            return frozenset([request.machine])
        case MakeToken() | RevokeToken():
            return frozenset([request.name])


def _names(request: Request) -> str:
    return ", ".join(sorted(about(request)))


def _short(request: Request) -> str:
    if isinstance(request, SubmitJobs):
        jobs = ", ".join(f"{job.name} ({job.tasks} tasks)" for job in request.jobs)
        return f"SubmitJobs {jobs}, key {request.key}, by {request.caller.token}"
    return str(request)
