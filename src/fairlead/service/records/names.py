"""Jobs by their names: the unique one of the journal and the core, and the one that people say.

People name a job within its tenant, and from anywhere as `tenant/name` (`/name`: of no tenant)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from typing import TYPE_CHECKING

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.values import LONGEST_NAME
from fairlead.model.words import listing
from fairlead.service.records.jobs import JobRecord
from fairlead.service.requests import Caller, JobKey

if TYPE_CHECKING:
    from fairlead.service.records.book import Records

BETWEEN = "/"
"""Between a tenant and a name. No new job has it in its name; one of an old journal may."""

LONGEST_FULL = 2 * LONGEST_NAME + len(BETWEEN)
"""Letters of `tenant/name`."""

SHOWN = 5
"""So many of the jobs that a name may mean are named; the others are counted."""


@dataclass
class Names:
    """All jobs that are known. Most have their bare name as the unique one, so that only the
    others are kept by tenant."""

    _unique: dict[str, JobRecord] = field(default_factory=dict)
    _others: dict[str, dict[str | None, JobRecord]] = field(default_factory=dict)
    _old: int = 0  # have a "/" in what they are called

    def __getitem__(self, unique: str) -> JobRecord:
        return self._unique[unique]

    def __iter__(self) -> Iterator[str]:
        return iter(self._unique)

    def __contains__(self, unique: object) -> bool:
        return unique in self._unique

    def get(self, unique: str) -> JobRecord | None:
        """The job of this unique name, if it is known."""
        return self._unique.get(unique)

    def add(self, job: JobRecord) -> None:
        """A job is new."""
        self._unique[job.name] = job
        self._old += BETWEEN in job.called
        if job.called != job.name:
            self._others.setdefault(job.called, {})[job.job.tenant] = job

    def remove(self, job: JobRecord) -> None:
        """A job is forgotten."""
        del self._unique[job.name]
        self._old -= BETWEEN in job.called
        if job.called != job.name:
            others = self._others[job.called]
            del others[job.job.tenant]
            if not others:
                del self._others[job.called]

    def of(self, tenant: str | None, called: str) -> JobRecord | None:
        """The tenant's job that is called so; `tenant` None: of those without one."""
        bare = self._unique.get(called)
        if bare is not None and bare.called == called and bare.job.tenant == tenant:
            return bare
        return self._others.get(called, {}).get(tenant)

    def count(self, called: str) -> int:
        """How many tenants have a job that is called so."""
        bare = self._unique.get(called)
        held = bare is not None and bare.called == called
        return held + len(self._others.get(called, ()))

    def all(self, called: str) -> list[JobRecord]:
        """The jobs that are called so, oldest first."""
        bare = self._unique.get(called)
        found = [] if bare is None or bare.called != called else [bare]
        return sorted([*found, *self._others.get(called, {}).values()], key=lambda job: job.id)

    def by_full(self, text: str) -> JobRecord | None:
        """The job that is `tenant/name`; the name is as short as one of these is there."""
        at = text.rfind(BETWEEN)
        while at >= 0:
            found = self.of(text[:at] or None, text[at + 1 :])
            if found is not None:
                return found
            at = text.rfind(BETWEEN, 0, at) if self._old else -1
        return None

    def shared(self) -> Iterator[JobRecord]:
        """The jobs whose unique name may not be what they are called: of several with one name,
        and those that were left of several."""
        for called in self._others:
            yield from self.all(called)


def find(records: Records, caller: Caller, key: JobKey) -> JobRecord | None:
    """The job that this caller means by a number or a name, None if there is none: one of his own
    tenant; or else by `tenant/name`; or the only one of this name below his tenant; or the only
    one that there is. Raises InputError where it may be several."""
    if isinstance(key, int):
        return records.jobs.get(key)
    if len(key) > LONGEST_FULL:
        return None
    own = None if caller.tenant is None else records.names.of(caller.tenant, key)
    if own is not None:
        return own
    named = records.names.by_full(key)
    if named is not None:
        return named
    found = records.names.all(key)
    if len(found) > 1 and caller.tenant is not None:
        below = [job for job in found if records.is_below(job.job.tenant, caller.tenant)]
        found = below or found
    if len(found) > 1:
        choices = [full_name(job.job.tenant, job.called) for job in found]
        raise InputError(
            f'{len(found)} tenants have a job "{key}"',
            f"write which one: {listing(choices, last='or', most=SHOWN)}",
        )
    return found[0] if found else None


def told(records: Records, caller: Caller, job: JobRecord) -> str:
    """What this caller is told of a job's name, by which he finds this very job: as its tenant
    called it, to the tenant itself always, and to all as long as no other tenant has one of this
    name; else `tenant/name`."""
    return told_of(records, caller, job.job.tenant, job.called)


def told_of(records: Records, caller: Caller, tenant: str | None, called: str) -> str:
    """The same of a tenant's job, which may be forgotten."""
    if caller.tenant is not None and tenant == caller.tenant:
        return called
    names = records.names
    alone = names.count(called) == (names.of(tenant, called) is not None)
    if alone and (BETWEEN not in called or names.by_full(called) is None):
        return called
    return full_name(tenant, called)


def full_name(tenant: str | None, called: str) -> str:
    """`tenant/name`; `/name` of a job without a tenant."""
    return f"{tenant or ''}{BETWEEN}{called}"


def told_otherwise(records: Records, caller: Caller) -> Mapping[str, str]:
    """By unique name, the names that this caller is told, where they differ."""
    names = ((job.name, told(records, caller, job)) for job in records.names.shared())
    return {unique: name for unique, name in names if name != unique}


def unique_name(names: Names, taken: Collection[str], job: Job, number: int) -> str:
    """A unique name for a new job: its own where that is free, else `tenant/name`, else (where an
    old journal has a job of just that name, or it is too long) one with its number."""
    full = full_name(job.tenant, job.name)
    short = job.name[: LONGEST_NAME // 2].strip()
    numbered = (f"{short}{BETWEEN}{number}.{again}" for again in count(1))
    whole = (job.name, full) if len(full) <= LONGEST_NAME else (job.name,)
    return next(n for n in chain(whole, numbered) if n not in names and n not in taken)
