"""The client: each thing that the service can be asked, as a method that returns its shape."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

from fairlead.client.answers import Output, ServiceEvent
from fairlead.client.fairness import Fairness
from fairlead.client.stream import follow
from fairlead.client.surroundings import without_surrounding
from fairlead.client.transport import Query, address
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.plain import Plain, plain_job
from fairlead.wire.events import EventKind, Events, ServerEvent
from fairlead.wire.jobs import (
    KEY,
    LONGEST_KEY,
    Cancelled,
    Forgotten,
    JobDetail,
    JobRow,
    Jobs,
    Submitted,
    Task,
    Tasks,
    TaskState,
)
from fairlead.wire.kinds import JobState, Role
from fairlead.wire.machines import MachineDetail, MachineRow, Machines, MachineState
from fairlead.wire.status import Ready, Version
from fairlead.wire.tenants import TenantDetail, TenantRow, Tenants
from fairlead.wire.tokens import MadeToken, Me, SignIn, TokenRow, Tokens

BATCH = 1000
"""Jobs of one request of `submit_all`."""

LONGEST = 6_000_000
"""Bytes of jobs in one request of `submit_all`: a service takes 8 MiB if nothing else is said."""

PIECE = 1 << 20
"""Bytes of an output asked for at once."""

Amount = int | float | str


class Client(Fairness):
    """A service. Which one: `url`, or what `find_place` finds.

    `patience`: for how many seconds a request is repeated while a service that was there does not
    answer, where repeating changes nothing; `on_wait` is told so in a sentence where that takes
    longer than a moment. Not for several threads at once. Every method raises ServiceError, whose
    kinds say what to do."""

    # Jobs

    def submit(self, *jobs: Job | Plain, key: str | None = None, strict: bool = False) -> Submitted:
        """Submits jobs: all of them are accepted, or none. With the same `key` once more, nothing
        new is accepted; without one, a key is made, so that a lost answer can be asked for again.
        `warnings` of the answer are of jobs that can never run as things are now; with `strict`
        these are refused, and all others with them."""
        return self._submit([_tree(job) for job in jobs], checked_key(key), strict)

    def submit_all(
        self,
        jobs: Iterable[Job | Plain],
        key: str | None = None,
        size: int = BATCH,
        strict: bool = False,
    ) -> Iterator[Submitted]:
        """Submits any number of jobs, at most `size` in a request: all of a request are accepted,
        or none. What was accepted comes as it is; the same `key` with the same jobs goes on where
        it stopped. With `strict` none is accepted where one of them can never run as things are
        now: they are one request then, of as many jobs as the service takes at once."""
        key = checked_key(key, len("-1000000"))
        if strict:
            yield self._submit([_tree(job) for job in jobs], key, strict)
            return
        for number, batch in enumerate(batches(map(_tree, jobs), size)):
            yield self._submit(batch, f"{key}-{number}", strict=False)

    def _submit(self, jobs: list[Plain], key: str, strict: bool) -> Submitted:
        if not jobs:
            raise InputError("there is no job to submit", "give one or more")
        query = {"strict": strict or None}
        return self._ask(Submitted, "POST", "/v1/jobs", query=query, body={"jobs": jobs}, key=key)

    def jobs(
        self,
        *,
        all: bool = False,  # noqa: A002  the word of the API and of the command line
        state: JobState | str | None = None,
        tenant: str | None = None,
        prefix: str | None = None,
        waiting: bool = False,
        newest: bool = False,
    ) -> Iterator[JobRow]:
        """Jobs, oldest or newest first: those that are not over, those in a state, or all; with
        `waiting` only those of which tasks wait."""
        query = {
            "all": all or None,
            "state": _word(JobState, "state", state),
            "tenant": tenant,
            "prefix": prefix,
            "waiting": waiting or None,
            "newest": newest or None,
        }
        pages = self._pages(Jobs, "/v1/jobs", query)
        return (row for page in pages for row in page.jobs)

    def job(self, name: str) -> JobDetail:
        """One job."""
        return self._ask(JobDetail, "GET", address("jobs", name))

    def tasks(self, job: str, state: TaskState | str | None = None) -> Iterator[Task]:
        """The tasks of a job by their numbers, with the attempts at each."""
        query = {"state": _word(TaskState, "state", state)}
        pages = self._pages(Tasks, address("jobs", job, "tasks"), query)
        return (task for page in pages for task in page.tasks)

    def cancel(self, job: str) -> JobDetail:
        """Cancels a job: what waits is dropped, what runs is told to stop."""
        return self._ask(JobDetail, "POST", address("jobs", job, "cancel"), again=True)

    def cancel_jobs(self, *jobs: str, tenant: str | None = None) -> Cancelled:
        """Cancels all of these jobs, or none; or all of a tenant that are not over. Those that are
        over, or cancelled already, are told of and stay as they are."""
        body = {"jobs": list(jobs)} if tenant is None else {"tenant": tenant}
        return self._ask(Cancelled, "POST", "/v1/cancel", body=body, again=True)

    def grow(self, job: str, tasks: int) -> JobDetail:
        """Gives a job another number of tasks."""
        path = address("jobs", job)
        return self._ask(JobDetail, "PATCH", path, body={"tasks": tasks})

    def forget(self, job: str) -> None:
        """Forgets a job that is over, with its outputs; its name is free again."""
        self._transport.ask("DELETE", address("jobs", job))

    def forget_jobs(self, *jobs: str) -> Forgotten:
        """Forgets all of these jobs, which are over, or none."""
        return self._ask(Forgotten, "POST", "/v1/forget", body={"jobs": list(jobs)})

    def output(
        self,
        job: str,
        task: int = 0,
        *,
        stream: str = "stdout",
        attempt: int | None = None,
        offset: int = 0,
        limit: int = PIECE,
    ) -> Output:
        """At most `limit` bytes of what an attempt (None: the last one) wrote. A negative offset
        counts from the end."""
        query: Query = {"stream": stream, "attempt": attempt, "offset": offset, "limit": limit}
        return self._transport.read(address("jobs", job, "tasks", str(task), "output"), query)

    def outputs(
        self,
        job: str,
        task: int = 0,
        *,
        stream: str = "stdout",
        attempt: int | None = None,
        offset: int = 0,
    ) -> Iterator[bytes]:
        """All of an output that there is so far, in pieces."""
        while True:
            found = self.output(job, task, stream=stream, attempt=attempt, offset=offset)
            if not found.data:
                return
            yield found.data
            offset = found.offset + len(found.data)
            if offset >= found.size:
                return

    # Tenants, machines, shares

    def tenants(self) -> list[TenantRow]:
        """All tenants, by name."""
        return self._ask(Tenants, "GET", "/v1/tenants").tenants

    def tenant(self, name: str) -> TenantDetail:
        """One tenant."""
        return self._ask(TenantDetail, "GET", address("tenants", name))

    def put_tenant(
        self,
        name: str,
        *,
        parent: str | None = None,
        weight: Amount | None = None,
        pool: list[str] | None = None,
        limit: Mapping[str, Amount] | None = None,
        user: str | None = None,
    ) -> TenantDetail:
        """Makes a tenant, or changes it: it is what is said here, and nothing of before."""
        given = {"parent": parent, "weight": weight, "pool": pool, "user": user}
        body: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        if limit:
            body["limit"] = dict(limit)
        return self._ask(TenantDetail, "PUT", address("tenants", name), body=body)

    def put_tenants(self, *tenants: Mapping[str, Any]) -> list[TenantRow]:
        """Makes or changes all of these tenants, or none; all that there are then. Each is as
        `put_tenant` takes it, with its `name`."""
        body = {"tenants": [dict(each) for each in tenants]}
        return self._ask(Tenants, "PUT", "/v1/tenants", body=body).tenants

    def machines(
        self,
        prefix: str | None = None,
        *,
        state: MachineState | str | None = None,
        where: str = "",
    ) -> Iterator[MachineRow]:
        """The machines that are there, by name: those in that state, that satisfy a constraint."""
        said = _word(MachineState, "state", state)
        query = {"prefix": prefix, "state": said, "where": where or None}
        pages = self._pages(Machines, "/v1/machines", query)
        return (row for page in pages for row in page.machines)

    def machine(self, name: str) -> MachineDetail:
        """One machine."""
        return self._ask(MachineDetail, "GET", address("machines", name))

    def drain(self, machine: str) -> MachineDetail:
        """Gives a machine nothing new; what runs on it goes on."""
        return self._ask(MachineDetail, "POST", address("machines", machine, "drain"), again=True)

    def undrain(self, machine: str) -> MachineDetail:
        """Lets a machine take tasks again; this ends its quarantine, too."""
        path = address("machines", machine, "undrain")
        return self._ask(MachineDetail, "POST", path, again=True)

    def drain_machines(self, *machines: str) -> list[MachineRow]:
        """Gives all of these machines nothing new, or none."""
        body = {"machines": list(machines)}
        return self._ask(Machines, "POST", "/v1/drain", body=body, again=True).machines

    def undrain_machines(self, *machines: str) -> list[MachineRow]:
        """Lets all of these machines take tasks again, or none."""
        body = {"machines": list(machines)}
        return self._ask(Machines, "POST", "/v1/undrain", body=body, again=True).machines

    # The service itself

    def tokens(self) -> list[TokenRow]:
        """All tokens, without their secrets."""
        return self._ask(Tokens, "GET", "/v1/tokens").tokens

    def make_token(self, name: str, role: Role | str, tenant: str | None = None) -> MadeToken:
        """A new token. Its secret is told this once."""
        body = {"name": name, "role": _word(Role, "role", role)}
        if tenant is not None:
            body["tenant"] = tenant
        return self._ask(MadeToken, "POST", "/v1/tokens", body=body)

    def revoke_token(self, name: str, *, lock_out: bool = False) -> None:
        """The next request with this token is refused. The one that is asked with, and the last one
        of an administrator, are revoked with `lock_out` alone."""
        query = {"lock_out": lock_out or None}
        self._transport.ask("DELETE", address("tokens", name), query=query)

    def me(self) -> Me:
        """The owner of this token."""
        return self._ask(Me, "GET", "/v1/me")

    def signin(self) -> SignIn:
        """The issuer's address, at which people sign in whose JWTs this service takes."""
        return self._ask(SignIn, "GET", "/v1/signin")

    def version(self) -> Version:
        """The service's version."""
        return self._ask(Version, "GET", "/v1/version")

    def ready(self) -> Ready:
        """Whether new work is accepted, and if not, why."""
        return self._ask(Ready, "GET", "/v1/ready", good=(200, 503))

    def events(self, since: int | None = None) -> Iterator[ServiceEvent]:
        """Follows events from now on, or from after the entry `since` of the journal; with patience
        also over the loss of the connection or of the one that led, and nothing is left out. Ends
        with a `gone`: read the lists anew, and follow from its `since`."""
        at = None if since is None else str(since)
        for heard in follow(self._transport, "/v1/events", at):
            if heard.data is None:
                continue
            if heard.name == "gone":
                yield ServiceEvent(gone=True, since=heard.data.get("since"))
                return
            event = self._parse(ServerEvent, heard.data)
            yield ServiceEvent(event=event, since=event.seq)

    def past_events(
        self,
        *,
        kind: EventKind | str | None = None,
        tenant: str | None = None,
        job: str | None = None,
        machine: str | None = None,
    ) -> Iterator[ServerEvent]:
        """The events, the newest first, as far back as the journal goes."""
        said = _word(EventKind, "kind", kind)
        query = {"tenant": tenant, "job": job, "machine": machine, "kind": said}
        pages = self._pages(Events, "/v1/events/past", query)
        return (event for page in pages for event in page.events)


def _word(kind: type[Enum], name: str, said: Enum | str | None) -> str | None:
    """The word that the API has for it. Raises InputError where it is none of these."""
    if said is None:
        return None
    try:
        return str(kind(said).value)
    except ValueError:
        known = ", ".join(str(each.value) for each in kind)
        raise InputError(f"{name} cannot be {said!r}", f"write one of {known}") from None


def checked_key(key: str | None, less: int = 0) -> str:
    """The idempotency key, or a new one. Raises InputError for one that no header can hold, or that
    leaves no room for so many signs more."""
    if key is None:
        return new_key()
    text = str(key)  # who calls may not know of types
    if len(text) > LONGEST_KEY - less or not re.fullmatch(KEY, text):
        raise InputError(
            f"the key {text[:60]!r} is no idempotency key",
            f"write 1 to {LONGEST_KEY - less} printable ASCII characters, no space first or last",
        )
    return text


def new_key() -> str:
    """A key for one submission, used by nobody else."""
    return secrets.token_urlsafe(18)


def _tree(job: Job | Plain) -> Plain:
    tree: Any = plain_job(job) if isinstance(job, Job) else job  # who calls may not know of types
    env = tree.get("env") if isinstance(tree, dict) else None
    if not (isinstance(env, Mapping) and env):
        given: Plain = tree
        return given
    return {**tree, "env": without_surrounding(env, os.environ)}


def batches(jobs: Iterable[Plain], size: int) -> Iterator[list[Plain]]:
    """The jobs in requests that a service takes: of at most so many, and not too long."""
    batch: list[Plain] = []
    length = 0
    for job in jobs:
        own = len(json.dumps(job))
        if batch and (len(batch) == size or length + own > LONGEST):
            yield batch
            batch, length = [], 0
        batch.append(job)
        length += own
    if batch:
        yield batch
