"""Readers: they look at lists, at single things and at what happens, and compare it with the
durable journal. Tenants look at others' jobs, and must not see what is their owners' alone."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import quote

from fairlead.scheduling.transitions import MachineState, TaskState
from fairlead.service.requests import Caller
from fairlead.wire.events import GONE_EVENT, EventKind
from fairlead.wire.kinds import Role
from tests.vopr.asking import tree_of
from tests.vopr.clients import Clients
from tests.vopr.faults import SECOND, BrokenPromiseError, Chance, Fault, Trace
from tests.vopr.ledger import Ledger
from tests.vopr.lines import JobLine
from tests.vopr.looks import Look, What
from tests.vopr.naming import meant, told
from tests.vopr.network import Answer, Call, Exchange, Network

KINDS = frozenset(kind.value for kind in EventKind)

PAGE = 3

EVENT = re.compile(rb"id: (\d+)\nevent: (\w+)\ndata: (.*)")
"""As it is sent, but for the empty line after it."""


class Readers:
    """All of them."""

    def __init__(
        self,
        clients: Clients,
        ledger: Ledger,
        chance: Chance,
        trace: Trace,
        network: Network,
        removed: Callable[[], int],
        behind: Callable[[], bool],
    ) -> None:
        self.clients = clients
        self.ledger = ledger
        self.chance = chance
        self.trace = trace
        self.network = network
        self.removed = removed  # the last entry that the journal holds no more
        # After an append that failed, the service may not know yet what is durable.
        self.service_behind = behind
        self.waiting: list[Look] = []
        self.seen: Counter[tuple[str, str]] = Counter()
        self.followers: list[Follower] = []

    def plan(self, looks: tuple[Look, ...]) -> None:
        """These will be looked at."""
        self.waiting = list(looks)

    def next(self) -> int | None:
        """When somebody looks next."""
        return self.waiting[0].time if self.waiting else None

    def due(self, now: int) -> None:
        """Who wants to look now looks."""
        while self.waiting and self.waiting[0].time <= now:
            look = self.waiting.pop(0)
            token = self.clients.token(str(look.caller.token))
            if look.what is What.REVOKED:
                self._revoked()
            elif token is None:
                continue
            elif look.what is What.EVENTS:
                now = self.chance.stream("since").random() < 0.5
                follower = Follower(self, look.caller, None if now else 0)
                self.followers.append(follower)
                follower.follow()
            else:
                self._look(look, token)

    def behind(self) -> str:
        """Who has not seen everything yet."""
        for follower in self.followers:
            if follower.lacks():
                return f"a follower at {follower.at} of {self.ledger.seq}"
        return ""

    def _send(self, call: Call, what: What, told: Callable[[Answer], None]) -> None:
        def said(answer: Answer) -> None:
            self.seen[what.name, str(answer.status)] += 1
            if answer.status in (429, 503):
                return
            told(answer)

        self.network.send(Exchange(call, said, lambda _: None))

    def question(
        self, caller: Caller, what: What, draws: Random
    ) -> tuple[str, str, Callable[[Answer], None]]:
        """The path and the query of a look, and what its answer must be."""
        ledger = self.ledger
        line = draws.choice(list(ledger.jobs.values())) if ledger.jobs else None
        name = told(ledger, caller, line) if line else "nobody"
        job = f"/v1/jobs/{quote(name, safe='')}"
        cursor = draws.randrange(max(ledger.jobs, default=0) + 1)
        page = f"all=true&limit={PAGE}&cursor={cursor}"
        return {
            What.JOBS: ("/v1/jobs", page, self._jobs(caller, cursor)),
            What.JOB: (job, "", self._job(caller, name)),
            What.TASKS: (f"{job}/tasks", "", self._tasks(caller, name)),
            What.OUTPUT: (f"{job}/tasks/0/output", "", self._own(caller, name)),
            What.MACHINES: ("/v1/machines", "", self._machines),
            What.TENANTS: ("/v1/tenants", "", self._tenants),
            What.TOKENS: ("/v1/tokens", "", self._tokens(caller)),
            What.ME: ("/v1/me", "", self._me(caller)),
            What.SHARES: ("/v1/shares", "", self._good),
            What.WHY: (f"{job}/why", "", self._own(caller, name)),
            What.READY: ("/v1/ready", "", self._good),
        }[what]

    def _look(self, look: Look, token: str) -> None:
        path, query, check = self.question(look.caller, look.what, self.chance.stream("looks"))
        call = Call("GET", path, token, query, client="10.0.0.2")

        def answered(answer: Answer) -> None:
            self.clients.leaks(look.caller, answer.body)
            if answer.status == 401 and token in self.clients.texts.values():
                if look.caller.token in self.ledger.tokens:
                    self._wrong("a token is good until it is revoked", str(look))
            elif answer.status != 401 and not self.service_behind():
                check(answer)

        self._send(call, look.what, answered)

    def _revoked(self) -> None:
        """What was revoked is good no more, whatever happened since."""
        for name, text in self.clients.revoked.items():

            def told(answer: Answer, name: str = name) -> None:
                if answer.status != 401:
                    self._wrong("a revoked token is refused", f"{name} got {answer}")

            self._send(Call("GET", "/v1/me", text, client="10.0.0.3"), What.REVOKED, told)

    # What must be answered. Nothing happens between the look and its answer.

    def _good(self, answer: Answer) -> None:
        if answer.status != 200:
            self._wrong("what is there is shown", str(answer))
        tree_of(answer)

    def _jobs(self, caller: Caller, cursor: int) -> Callable[[Answer], None]:
        def check(answer: Answer) -> None:
            self._good(answer)
            rows = tree_of(answer)["jobs"]
            known = sorted(number for number in self.ledger.jobs if number > cursor)[:PAGE]
            wanted = [self._row(caller, self.ledger.jobs[number]) for number in known]
            got = [
                (row["id"], row["name"], row["tenant"], tuple(row["tasks"].values()))
                for row in rows
            ]
            if got != wanted:
                self._wrong("lists agree with the journal", f"{got}, in the journal {wanted}")

        return check

    def _row(self, caller: Caller, line: JobLine) -> tuple[int, str, str, tuple[int, ...]]:
        name, states = told(self.ledger, caller, line), line.states()
        tenant = line.tree.get("tenant") or name
        return line.id, name, tenant, tuple(states.count(state) for state in TaskState)

    def _line(self, caller: Caller, name: str) -> JobLine | None:
        """The job that the caller means."""
        return next(iter(meant(self.ledger, caller, name)), None)

    def _job(self, caller: Caller, name: str) -> Callable[[Answer], None]:
        def check(answer: Answer) -> None:
            line = self._line(caller, name)
            if (answer.status == 200) is not (line is not None):
                self._wrong("what is there is shown", f"{name} got {answer}")
            if line is None:
                return
            tree = tree_of(answer)
            if (tree["id"], tree["name"]) != (line.id, name):
                self._wrong("a name that was told finds its job", f"{name} got {answer}")
            if (tree["job"] is not None) is not self._may(caller, line):
                self._wrong("owners see their own, and nobody else", f"{caller} got {answer}")

        return check

    def _own(self, caller: Caller, name: str) -> Callable[[Answer], None]:
        def check(answer: Answer) -> None:
            line = self._line(caller, name)
            if line is None:
                good = answer.status in (403, 404)
            elif caller.role is Role.VIEWER or not self._may(caller, line):
                good = answer.status == 403
            else:
                good = answer.status == 200
            if not good:
                self._wrong("owners see their own, and nobody else", f"{caller} got {answer}")

        return check

    def _tasks(self, caller: Caller, name: str) -> Callable[[Answer], None]:
        def check(answer: Answer) -> None:
            self._own(caller, name)(answer)
            line = self._line(caller, name)
            if answer.status != 200 or line is None:
                return
            got = [each["state"] for each in tree_of(answer)["tasks"]]
            wanted = [state.name.lower() for state in line.states()]
            if got != wanted:
                self._wrong("lists agree with the journal", f"{got}, in the journal {wanted}")

        return check

    def _may(self, caller: Caller, line: JobLine) -> bool:
        above = caller.tenant
        if caller.role is Role.TENANT and above is not None:
            return self.ledger.below(line.tenant, above)
        return caller.role is Role.ADMIN

    def _machines(self, answer: Answer) -> None:
        self._good(answer)
        got = {row["name"]: (row["tasks"], row["drained"]) for row in tree_of(answer)["machines"]}
        wanted = {
            name: (len(line.held), name in self.ledger.drained)
            for name, line in self.ledger.machines.items()
            if line.state is not MachineState.GONE
        }
        if got != wanted:
            self._wrong("lists agree with the journal", f"{got}, in the journal {wanted}")

    def _tenants(self, answer: Answer) -> None:
        self._good(answer)
        got = {row["name"] for row in tree_of(answer)["tenants"]}
        if not got >= self.ledger.tenants.keys():
            self._wrong("lists agree with the journal", f"{got}: {list(self.ledger.tenants)}")

    def _tokens(self, caller: Caller) -> Callable[[Answer], None]:
        def check(answer: Answer) -> None:
            if (answer.status == 200) is not (caller.role is Role.ADMIN):
                self._wrong("owners see their own, and nobody else", f"{caller} got {answer}")
            if answer.status == 200:
                got = {row["name"] for row in tree_of(answer)["tokens"]}
                if got != self.ledger.tokens:
                    self._wrong("lists agree with the journal", f"{got}: {self.ledger.tokens}")

        return check

    def _me(self, caller: Caller) -> Callable[[Answer], None]:
        def check(answer: Answer) -> None:
            self._good(answer)
            told = tree_of(answer)
            if (told["role"], told["tenant"]) != (caller.role.value, caller.tenant):
                self._wrong("a token is whose it was made for", f"{caller} got {told}")

        return check

    def _wrong(self, rule: str, what: str) -> None:
        raise BrokenPromiseError(rule, what)


class Follower:
    """Follows what happens over connections that are cut, and misses nothing. `at`: the last entry
    that it was told of; None: it begins wherever it is when it is connected."""

    def __init__(self, readers: Readers, caller: Caller, at: int | None) -> None:
        self.readers = readers
        self.caller = caller
        self.at = at
        self._left = b""

    def follow(self) -> None:
        """Connects, from where it was."""
        readers = self.readers
        token = readers.clients.token(str(self.caller.token))
        if token is None:  # it is being made anew
            self._again()
            return
        headers = () if self.at is None else (("Last-Event-ID", str(self.at)),)
        self._left = b""
        call = Call("GET", "/v1/events", token, headers=headers, client="10.0.0.4")
        exchange = Exchange(call, self._told, lambda _: self._again(), self._part)
        draws, chance = readers.chance.stream("follow"), readers.chance
        if not chance.calm and chance.hit(Fault.STREAM_CUT):
            wait = draws.randrange(20 * SECOND)
            readers.network.at(readers.trace.now + wait, lambda: exchange.end(None))
        readers.network.send(exchange)

    def lacks(self) -> bool:
        """Whether something happened of which it was not told."""
        kinds = self.readers.ledger.visible
        return bool(kinds) and self.at is not None and self.at < kinds[-1][0]

    def _again(self) -> None:
        now = self.readers.trace.now
        self.readers.network.at(now + SECOND, self.follow)

    def _told(self, answer: Answer) -> None:
        known = (
            self.caller.token in self.readers.ledger.tokens and not self.readers.service_behind()
        )
        if answer.status not in (200, 429, 503) and (known or answer.status != 401):
            raise BrokenPromiseError("what happens is told", str(answer))

    def _part(self, data: bytes) -> None:
        readers, ledger = self.readers, self.readers.ledger
        readers.clients.leaks(self.caller, data)
        *events, self._left = (self._left + data).split(b"\n\n")
        for event in events:
            found = EVENT.fullmatch(event)
            if found is None:
                if not event.startswith(b":"):
                    raise BrokenPromiseError("what happens is told", event.decode())
                continue
            if found[2].decode() == GONE_EVENT:
                self._gone(event)
                return
            self._event(int(found[1]), found[2].decode(), json.loads(found[3]), ledger)

    def _gone(self, event: bytes) -> None:
        """What comes next was removed from the journal, and only then."""
        self.readers.seen["EVENTS", "gone"] += 1
        if self.at is None or self.at >= self.readers.removed():
            raise BrokenPromiseError("what happens is told", f"after {self.at}: {event.decode()}")
        self.at = None

    def _event(self, seq: int, kind: str, told: Any, ledger: Ledger) -> None:
        before = seq - 1 if self.at is None else self.at
        if ledger.visible_after(before) != (seq, kind) or told["seq"] != seq:
            raise BrokenPromiseError(
                "what happens is told once and in order", f"{seq} {kind} after {self.at}: {told}"
            )
        owner, above = ledger.owners.get(seq), self.caller.tenant
        mine = self.caller.role is Role.ADMIN or (above is not None and ledger.below(owner, above))
        if ("cause" in told or "code" in told) and seq in ledger.owners and not mine:
            raise BrokenPromiseError(
                "owners see their own, and nobody else", f"{self.caller} was told {told} of {owner}"
            )
        self.at = seq
        self.readers.seen["EVENTS", "event"] += 1
