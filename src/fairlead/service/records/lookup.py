"""Whom a caller means by a job's name, and what a caller is told of one."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.model.errors import InputError
from fairlead.model.words import listing
from fairlead.service.records.book import Records
from fairlead.service.records.jobs import JobRecord
from fairlead.service.records.names import BETWEEN, LONGEST_FULL, full_name
from fairlead.service.requests import Caller, JobKey

SHOWN = 5
"""So many of the jobs that a name may mean are named; the others are counted."""


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


def owner_of(records: Records, number: int) -> tuple[str | None, str | None]:
    """Whose the job of this number is: the tenant's; of one without a tenant, the token's by which
    it came. Nobody's where it is not known."""
    job = records.jobs.get(number)
    if job is None:
        return None, None
    return job.job.tenant, job.by if job.job.tenant is None else None


def display_name(records: Records, caller: Caller, job: JobRecord) -> str:
    """The form of a job's name for this caller, by which he finds this very job: as its tenant
    called it, to the tenant itself always, and to all as long as no other tenant has one of this
    name; else `tenant/name`."""
    return display_name_of(records, caller, job.job.tenant, job.called)


def display_name_of(records: Records, caller: Caller, tenant: str | None, called: str) -> str:
    """The same of a tenant's job, which may be forgotten."""
    if caller.tenant is not None and tenant == caller.tenant:
        return called
    names = records.names
    alone = names.count(called) == (names.of(tenant, called) is not None)
    if alone and (BETWEEN not in called or names.by_full(called) is None):
        return called
    return full_name(tenant, called)


def display_names(records: Records, caller: Caller) -> Mapping[str, str]:
    """By unique name, the names that this caller is told, where they differ."""
    names = ((job.name, display_name(records, caller, job)) for job in records.names.shared())
    return {unique: name for unique, name in names if name != unique}
