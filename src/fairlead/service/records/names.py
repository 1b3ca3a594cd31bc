"""Jobs by their names: the unique one of the journal and the core, and the one that people say.

People name a job within its tenant, and from anywhere as `tenant/name` (`/name`: of no tenant)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, count

from fairlead.model.job import Job
from fairlead.model.values import LONGEST_NAME
from fairlead.service.records.jobs import JobRecord

BETWEEN = "/"
"""Between a tenant and a name. No new job has it in its name; one of an old journal may."""

LONGEST_FULL = 2 * LONGEST_NAME + len(BETWEEN)
"""Letters of `tenant/name`."""


@dataclass
class Names:
    """All jobs that are known. Most have their bare name as the unique one, so that only the
    others are kept by name and tenant."""

    _unique: dict[str, JobRecord] = field(default_factory=dict)
    _others: dict[str, dict[str | None, JobRecord]] = field(default_factory=dict)
    _old: int = 0  # have a "/" in what they are called
    _tenants: dict[str | None, dict[int, JobRecord]] = field(default_factory=dict)

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
        self._unique[job.name] = job
        self._tenants.setdefault(job.job.tenant, {})[job.id] = job
        self._old += BETWEEN in job.called
        if job.called != job.name:
            self._others.setdefault(job.called, {})[job.job.tenant] = job

    def remove(self, job: JobRecord) -> None:
        del self._unique[job.name]
        own = self._tenants[job.job.tenant]
        del own[job.id]
        if not own:
            del self._tenants[job.job.tenant]
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

    def tenants(self) -> Iterable[str]:
        """The tenants that have jobs; not jobs that are their own."""
        return (tenant for tenant in self._tenants if tenant is not None)

    def numbers(self, tenant: str) -> Collection[int]:
        """The numbers of a tenant's own jobs, oldest first; of a job that is its own, its."""
        own = self._tenants.get(tenant)
        if own is not None:
            return own.keys()
        alone = self._unique.get(tenant)
        return () if alone is None or alone.job.tenant is not None else (alone.id,)

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


def full_name(tenant: str | None, called: str) -> str:
    """`tenant/name`; `/name` of a job without a tenant."""
    return f"{tenant or ''}{BETWEEN}{called}"


def unique_name(names: Names, taken: Collection[str], job: Job, number: int) -> str:
    """A unique name for a new job: its own where that is free, else `tenant/name`, else (where an
    old journal has a job of just that name, or it is too long) one with its number."""
    full = full_name(job.tenant, job.name)
    short = job.name[: LONGEST_NAME // 2].strip()
    numbered = (f"{short}{BETWEEN}{number}.{again}" for again in count(1))
    whole = (job.name, full) if len(full) <= LONGEST_NAME else (job.name,)
    return next(n for n in chain(whole, numbered) if n not in names and n not in taken)
