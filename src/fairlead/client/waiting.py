"""Waiting for jobs to be over."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from fairlead.client.errors import RefusedError
from fairlead.wire.kinds import JobState

if TYPE_CHECKING:
    from fairlead.client.client import Client
    from fairlead.wire.jobs import JobRow

OVER = frozenset({JobState.FINISHED, JobState.FAILED, JobState.CANCELLED})
"""The states that no job leaves."""

FEW = 20
"""So many jobs are asked for one by one; more are looked up in the list of all."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 1.0
"""Seconds between two looks: short at first, for what is short."""


def wait_for(
    client: Client, names: Sequence[str], timeout: float | None = None
) -> Iterator[dict[str, JobRow]]:
    """The jobs of these names, as often as they are looked at, until all are over or `timeout`
    seconds have passed: then the last look is what there is. Raises UnknownNameError for a job
    that is forgotten meanwhile, and ServiceError."""
    until = None if timeout is None else time.monotonic() + timeout
    rows: dict[str, JobRow] = {}
    pause = FIRST_PAUSE
    while True:
        open_ = [name for name in names if name not in rows or rows[name].state not in OVER]
        found = find_rows(client, open_)
        behind: RefusedError | None = None
        for name in open_:
            try:
                rows[name] = _same(client, name, found.get(name), rows.get(name))
            except RefusedError as error:
                if client.age is None:
                    raise
                behind = error  # one that follows may not have heard of it yet
        yield rows
        if all(name in rows and rows[name].state in OVER for name in names):
            return
        left = LONGEST_PAUSE if until is None else until - time.monotonic()
        if left <= 0:
            if behind is not None:
                raise behind
            return
        time.sleep(min(pause, left))
        pause = min(LONGEST_PAUSE, 1.5 * pause)


def find_rows(client: Client, names: Sequence[str]) -> dict[str, JobRow]:
    """Looks up jobs; one that is not known, or may be several, is left out. Raises
    ServiceError."""
    if len(names) > FEW:
        wanted = set(names)
        return {row.name: row for row in client.jobs(all=True) if row.name in wanted}
    found: dict[str, JobRow] = {}
    for name in names:
        with suppress(RefusedError):
            found[name] = client.job(name)
    return found


def _same(client: Client, name: str, row: JobRow | None, before: JobRow | None) -> JobRow:
    """The job as it is now: the very one that was found before, though other tenants have taken
    its name meanwhile. Raises RefusedError."""
    if row is not None and (before is None or row.id == before.id):
        return row
    if before is not None:
        full = (f"{before.tenant}/{name}", f"/{name}")
        for again in find_rows(client, full).values():
            if again.id == before.id:
                return again
    return row or client.job(name)
