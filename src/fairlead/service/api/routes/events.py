"""Entries of the journal as server-sent events."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from fairlead.service.api.feed import Feed, GoneError, earlier
from fairlead.service.api.keys import is_below
from fairlead.service.api.queries import LAST
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.request_context import Enter, RequestContext
from fairlead.service.api.seen import as_seen
from fairlead.service.api.service_view import ServiceView
from fairlead.service.journal.entry import Entry
from fairlead.service.requests import Caller, Role
from fairlead.wire.errors import ErrorKind
from fairlead.wire.events import GONE_EVENT, LAST_ID_HEADER, EventKind, ServerEvent

KINDS = {kind.value: kind for kind in EventKind}

APART = 0.005
"""Seconds between what is sent and the next, at least: what happens meanwhile goes together. A
reader is woken for it, and so is this service, which may have more to do."""

NAMES = 4096
"""Jobs whose tenants one stream remembers."""

HEADERS = {"X-Accel-Buffering": "no"}
"""A proxy in between is not to wait for more."""


async def events(
    context: Enter,
    since: Annotated[
        int | None, Query(ge=0, le=LAST, description="the seq of the last entry that was seen")
    ] = None,
) -> Response:
    """What happens from now on, or from there on."""
    header = context.request.headers.get(LAST_ID_HEADER)
    if header is not None:  # a browser that comes back knows better than the address it was given
        if not (header.isascii() and header.isdecimal() and int(header[:20]) <= LAST):
            raise RefusalError(
                ErrorKind.INVALID, f"the {LAST_ID_HEADER} is not the seq of an event"
            )
        since = int(header[:20])
    feed = context.api.feed
    at = await context.read(_now) if since is None else since
    return context.ongoing(_stream(context, feed, at), HEADERS)


def _now(view: ServiceView) -> int:
    return view.records.seq


async def _stream(context: RequestContext, feed: Feed, at: int) -> AsyncIterator[bytes]:
    reader = _Reader(context)
    clock, sent = asyncio.get_running_loop().time, 0.0
    yield b": fairlead\n\n"  # so that a reader knows at once that it is connected
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
            await feed.changed(at, context.api.settings.heartbeat_seconds)
            if feed.last == before:
                yield b": still here\n\n"
            await asyncio.sleep(sent + APART - clock())
            continue
        at = entries[-1].seq
        text = await reader.told(entries)
        if text is None:
            return
        if text:
            sent = clock()
            yield text


class _Reader:
    """Turns entries into events as one caller may see them."""

    def __init__(self, context: RequestContext) -> None:
        self._visit = context
        self._tenants: OrderedDict[str, tuple[str | None, bool]] = OrderedDict()

    async def told(self, entries: Sequence[Entry]) -> bytes | None:
        """The events of these entries; entries of other kinds are nobody's business. None: nobody
        answers any more."""
        shown = [entry for entry in entries if entry.kind in KINDS]
        names = {name for entry in shown if (name := _job(entry)) is not None}
        missing = sorted(names - self._tenants.keys())
        if missing:
            caller = self._visit.caller
            found = await self._visit.read_on(lambda view: _tenants(view, caller, missing))
            if found is None:
                return None
            self._tenants.update(found)
        lines = [self._event(entry) for entry in shown]
        # A name that is forgotten may come again with another tenant.
        for entry in shown:
            if entry.kind == EventKind.JOB_FORGOTTEN.value:
                self._tenants.pop(_job(entry) or "", None)
        while len(self._tenants) > NAMES:
            self._tenants.popitem(last=False)
        return b"".join(lines)

    def _event(self, entry: Entry) -> bytes:
        body = entry.body
        job = _job(entry)
        tenant, mine = (None, False) if job is None else self._tenants[job]
        machine = body.get("machine")
        event = ServerEvent(
            seq=entry.seq,
            time=entry.time,
            kind=KINDS[entry.kind],
            job=job,
            tenant=tenant if job is not None else _name(body.get("tenant")),
            task=body.get("task"),
            attempt=body.get("attempt"),
            machine=_name(machine),
            back=body.get("back"),
            cause=_text(body.get("cause")),
            code=body.get("code"),
        )
        event = as_seen(event, self._visit.caller, own=mine)
        return _line(entry.kind, entry.seq, event.model_dump_json(exclude_none=True))


def _line(kind: str, seq: int, data: str) -> bytes:
    return f"id: {seq}\nevent: {kind}\ndata: {data}\n\n".encode()


def _job(entry: Entry) -> str | None:
    return _name(entry.body.get("job"))


def _name(value: object) -> str | None:
    """The name, of a thing or of its tree."""
    return _text(value.get("name")) if isinstance(value, dict) else _text(value)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _tenants(
    view: ServiceView, caller: Caller, names: list[str]
) -> dict[str, tuple[str | None, bool]]:
    """Of each job its tenant, and whether the caller may see all of it."""
    found: dict[str, tuple[str | None, bool]] = {}
    for name in names:
        record = view.records.job(name)
        if record is None:
            found[name] = (None, caller.role is Role.ADMIN)
            continue
        tenant, above = record.tenant, caller.tenant
        own = caller.role is Role.TENANT and above is not None and is_below(view, tenant, above)
        found[name] = (tenant, own or caller.role is Role.ADMIN)
    return found
