"""Entries of the journal as events: streamed as they come, and in pages."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from fairlead.service.api.entering import Enter
from fairlead.service.api.keys import may_see
from fairlead.service.api.queries import LAST, SCANNED, Cursor, Filter, Limit, page
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.request_context import RequestContext
from fairlead.service.api.service_view import ServiceView
from fairlead.service.api.streams.feed import FRAMES, Audience, Feed, GoneError, before, earlier
from fairlead.service.api.visibility import as_seen
from fairlead.service.journal.entry import Entry
from fairlead.service.records.lookup import display_name_of
from fairlead.service.records.names import LONGEST_FULL
from fairlead.service.requests import Caller
from fairlead.wire.errors import ErrorKind
from fairlead.wire.events import GONE_EVENT, LAST_ID_HEADER, EventKind, Events, ServerEvent
from fairlead.wire.kinds import Role

KINDS = {kind.value: kind for kind in EventKind}

APART = 0.005
"""Seconds between what is sent and the next, at least, for each stream that its owner has: what
happens meanwhile goes together. A reader is woken for it, and so is this service, which may have
more to do."""

MOST_BEFORE = 1000
"""Entries before now with which a stream may begin, for who knows of none."""

NAMES = 4096
"""Jobs whose names and tenants one stream remembers."""

SUBMITTED, FORGOTTEN = EventKind.JOB_SUBMITTED.value, EventKind.JOB_FORGOTTEN.value

HEADERS = {"X-Accel-Buffering": "no"}
"""A proxy in between is not to wait for more."""


async def events(
    context: Enter,
    since: Annotated[
        int | None,
        Query(
            ge=-MOST_BEFORE,
            le=LAST,
            description="the seq of the last entry that was seen; below 0: so many entries ago",
        ),
    ] = None,
) -> Response:
    """The events from now on, or from there on."""
    header = context.request.headers.get(LAST_ID_HEADER)
    if header is not None:  # a browser that comes back knows better than the address it was given
        if not (header.isascii() and header.isdecimal() and int(header[:20]) <= LAST):
            raise RefusalError(
                ErrorKind.INVALID, f"the {LAST_ID_HEADER} is not the seq of an event"
            )
        since = int(header[:20])
    feed = context.api.feed
    if since is None or since < 0:
        since = max(0, feed.last + (since or 0))
    return context.ongoing(_stream(context, feed, since), HEADERS)


async def list_events(
    context: Enter,
    kind: EventKind | None = None,
    tenant: Annotated[
        Filter, Query(description="about jobs of this tenant and those below it, or about it")
    ] = None,
    job: Annotated[str | None, Query(max_length=LONGEST_FULL)] = None,
    machine: Filter = None,
    cursor: Cursor = None,
    limit: Limit = None,
) -> Response:
    """A page of events, the newest first. It may be short though more follow."""
    wanted = _Filter(kind, tenant, job, machine)
    below = frozenset[str]()
    if tenant is not None:
        below = await context.read(lambda view: _below(view, tenant))
    most, looked = page(limit, context.api.settings), 0
    at = context.api.feed.last + 1 if cursor is None else cursor
    found: list[ServerEvent] = []
    while at > 1 and len(found) < most and looked < SCANNED:
        entries = await _before(context, at)
        looked += len(entries)
        some = [entry for entry in entries if wanted.may_be(entry)]
        told = await _Reader(context).events(some) if some else []
        if told is None:
            raise RefusalError(ErrorKind.UNAVAILABLE, "the service stops", retry=10)
        fit = [event for event in reversed(told) if wanted.fits(event, below)]
        at = entries[0].seq if entries else 1
        if len(fit) > most - len(found):
            fit = fit[: most - len(found)]
            at = fit[-1].seq
        found += fit
    following = str(at) if at > 1 else None
    return context.answer(Events(events=found, next=following))


@dataclass(frozen=True, slots=True)
class _Filter:
    kind: EventKind | None
    tenant: str | None
    job: str | None
    machine: str | None

    def may_be(self, entry: Entry) -> bool:
        """Whether the entry may be one that fits, before it is told."""
        if entry.kind not in KINDS or (self.kind is not None and entry.kind != self.kind.value):
            return False
        return self.machine is None or _name(entry.body.get("machine")) == self.machine

    def fits(self, event: ServerEvent, below: frozenset[str]) -> bool:
        """Whether it is about the job and the tenant."""
        if self.job is not None and event.job != self.job:
            return False
        return self.tenant is None or event.tenant == self.tenant or event.tenant in below


async def _before(context: RequestContext, seq: int) -> list[Entry]:
    """The entries before that one: from memory, or from the journal."""
    entries = context.api.feed.before(seq)
    return await context.read(partial(before, seq=seq)) if entries is None else entries


def _below(view: ServiceView, tenant: str) -> frozenset[str]:
    return frozenset(name for name in view.records.tenants if view.records.is_below(name, tenant))


async def _stream(context: RequestContext, feed: Feed, at: int) -> AsyncIterator[bytes]:
    # So that a reader knows at once that it is connected, and from where on.
    yield b": fairlead\nid: %d\n\n" % at
    with feed.audience(_audience(context)):
        reader = _Reader(context)
        clock, sent = asyncio.get_running_loop().time, 0.0
        while await context.may_go_on():
            try:
                entries = feed.after(at)
                if entries is None:
                    entries = await context.read_on(partial(earlier, seq=at))
                    if entries is None:
                        return
            except GoneError as error:
                yield _line(GONE_EVENT, feed.last, f'{{"since":{feed.last},"why":"{error}"}}')
                return
            if not entries:
                before = feed.last
                await feed.wait_for_change(
                    at, context.until_looked_up(context.api.settings.heartbeat_seconds)
                )
                if feed.last == before:
                    yield b": still here\n\n"
                await asyncio.sleep(sent + APART * context.api.streams[context.who] - clock())
                continue
            at = entries[-1].seq
            text = await reader.to_stream(entries)
            if text is None:
                return
            if text:
                sent = clock()
                yield text


def _audience(context: RequestContext) -> Audience:
    return context.caller.role, context.caller.tenant


@dataclass(frozen=True, slots=True)
class _Job:
    """A job as the reader of a stream is told of it. `since`: the entry of its submission; entries
    before that are of another job that had its name."""

    name: str
    tenant: str | None
    mine: bool  # all of it may be told
    since: int = 0


class _Reader:
    """Turns entries into events as one caller may see them. A name that is forgotten may come
    again, as that of another tenant's job: each entry is told as of the job that it was about."""

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._jobs: OrderedDict[str, _Job] = OrderedDict()  # by unique name

    async def to_stream(self, entries: Sequence[Entry]) -> bytes | None:
        """The events of these entries, as a stream tells them; made once for an audience. None:
        nobody answers any more."""
        frames = self._context.api.feed.frames(_audience(self._context))
        shown = [entry for entry in entries if entry.kind in KINDS]
        told = {entry.seq: frames[entry.seq] for entry in shown if entry.seq in frames}
        for entry in shown:
            if entry.seq in told and entry.kind in (SUBMITTED, FORGOTTEN):
                self._jobs.pop(_job(entry) or "", None)  # the name is another job's from there on
        new = [entry for entry in shown if entry.seq not in told]
        found = await self.events(new) if new else []
        if found is None:
            return None
        made = {
            event.seq: _line(event.kind.value, event.seq, event.model_dump_json(exclude_none=True))
            for event in found
        }
        frames.update(made)
        while len(frames) > FRAMES:
            frames.popitem(last=False)
        told |= made
        return b"".join(told[entry.seq] for entry in shown)

    async def events(self, entries: Sequence[Entry]) -> list[ServerEvent] | None:
        """The events of these entries; entries of other kinds are nobody's business. None: nobody
        answers any more."""
        shown = [entry for entry in entries if entry.kind in KINDS]
        names = {name for entry in shown if (name := _job(entry)) is not None}
        new = [entry for entry in shown if entry.kind == SUBMITTED]
        missing = sorted(names - self._jobs.keys() - {_job(entry) for entry in new})
        there: dict[str, _Job] = {}
        submitted: dict[int, _Job] = {}
        if new or missing:
            caller = self._context.caller
            found = await self._context.read_on(lambda view: _names_of(view, caller, missing, new))
            if found is None:
                return None
            there, submitted = found
        told = []
        for entry in shown:
            name = _job(entry)
            if name is not None and entry.kind == SUBMITTED:
                self._jobs[name] = submitted[entry.seq]
            told.append(self._event(entry, None if name is None else self._about(entry, there)))
            if entry.kind == FORGOTTEN:
                self._jobs.pop(name or "", None)
        while len(self._jobs) > NAMES:
            self._jobs.popitem(last=False)
        return told

    def _about(self, entry: Entry, there: Mapping[str, _Job]) -> _Job:
        name = _job(entry) or ""
        if name not in self._jobs and name in there:
            self._jobs[name] = there[name]
        found = self._jobs.get(name)
        if found is None or entry.seq < found.since:  # one that is forgotten since
            return _Job(name, None, self._context.caller.role is Role.ADMIN)
        return found

    def _event(self, entry: Entry, job: _Job | None) -> ServerEvent:
        body = entry.body
        event = ServerEvent(
            seq=entry.seq,
            time=entry.time,
            kind=KINDS[entry.kind],
            job=None if job is None else job.name,
            tenant=_name(body.get("tenant")) if job is None else job.tenant,
            task=body.get("task"),
            attempt=body.get("attempt"),
            machine=_name(body.get("machine")),
            back=body.get("back"),
            cause=_text(body.get("cause")),
            code=body.get("code"),
        )
        return as_seen(event, self._context.caller, own=job is not None and job.mine)


def _line(kind: str, seq: int, data: str) -> bytes:
    return f"id: {seq}\nevent: {kind}\ndata: {data}\n\n".encode()


def _job(entry: Entry) -> str | None:
    return _name(entry.body.get("job"))


def _name(value: object) -> str | None:
    """The name, of a thing or of its tree."""
    return _text(value.get("name")) if isinstance(value, dict) else _text(value)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _names_of(
    view: ServiceView, caller: Caller, names: Sequence[str], new: Sequence[Entry]
) -> tuple[dict[str, _Job], dict[int, _Job]]:
    """The jobs that have these unique names now, and those that these entries submitted, by entry,
    though they be forgotten."""

    def of(tenant: str | None, called: str, since: int) -> _Job:
        name = display_name_of(view.records, caller, tenant, called)
        mine = may_see(view, caller, tenant)
        return _Job(name, tenant or name, mine, since)

    records = [record for name in names if (record := view.records.names.get(name)) is not None]
    there = {each.name: of(each.job.tenant, each.called, each.seq) for each in records}
    submitted = {}
    for entry in new:
        unique, tenant = entry.body["job"]["name"], entry.body["job"].get("tenant")
        called = entry.body.get("called", unique)
        submitted[entry.seq] = of(tenant, called, entry.seq)
    return there, submitted
