"""Taking in jobs: all of a request's or none, once for each key."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import NoReturn

from fairlead.model.errors import About, InputError, Mistake, Mistakes
from fairlead.model.job import Job
from fairlead.model.plain import plain_job
from fairlead.model.words import listing, plural
from fairlead.scheduling.events import JobCancelled, JobSubmitted
from fairlead.scheduling.why.values import never_runs
from fairlead.service.journal.codec import to_text
from fairlead.service.loop.refusals import RefusedError, refuse
from fairlead.service.loop.step import Step
from fairlead.service.loop.variables import has_gpus, variables_of_others
from fairlead.service.records.book import Totals
from fairlead.service.records.names import BETWEEN, unique_name
from fairlead.service.records.people import KeyOwner, KeyRecord, KeyTotals
from fairlead.service.records.sizes import job_bytes, key_bytes
from fairlead.service.requests import Caller, SubmitJobs, SubmittedJobs, Warned, Wrong
from fairlead.service.settings import Limits
from fairlead.wire.kinds import Role

LONGEST_KEY = 255

ENOUGH = 1000
"""Mistakes after which no more are looked for: others wait meanwhile."""

AT_ONCE = 50
"""Jobs that the core looks at before others' answers may go first."""

_WRITTEN = "unfinished jobs of {} bytes (commands, environments, calls, names)"

_FEWER_KEYS = "wait until some are old enough to be forgotten, or send none"


def submit(step: Step, limits: Limits, request: SubmitJobs) -> SubmittedJobs:
    """Takes in the jobs. Raises RefusedError or InputError, and changes nothing then."""
    caller = request.caller
    if caller.role is Role.VIEWER:
        refuse(Wrong.FORBIDDEN, "a viewer submits no jobs")
    jobs = tuple(_with_tenant(job, caller) for job in request.jobs)
    if not jobs:
        refuse(Wrong.INPUT, "there is no job", "write at least one")
    strangers = _strangers(step, jobs, caller)
    if strangers:
        raise RefusedError(Wrong.FORBIDDEN, strangers)
    asked = owner = None
    if request.key is not None:
        if not 0 < len(request.key) <= LONGEST_KEY:
            refuse(Wrong.INPUT, "the key is empty or too long", f"use 1 to {LONGEST_KEY} letters")
        asked = _hash(jobs)
        owner = step.records.key_owner(caller.token, request.key)
        before = _find_key(step, owner)
        if before is not None:
            return _again(step, before, asked, request.key, jobs)
        _check_keys(step, limits, owner, jobs)
    unique = _with_unique_names(step, jobs)
    mistakes = _mistakes(step, limits, jobs, unique)
    warnings = _warnings(step, jobs, {each.about[1] for each in mistakes})
    if request.strict:
        mistakes += [Mistake(each.sentence, about=("job", each.job)) for each in warnings]
    mistakes.report()
    _check_limits(step, limits, unique)
    _check_terms(step, limits, unique)
    ids: list[int] = []
    try:
        for job, given in zip(unique, jobs, strict=True):
            number = step.records.next_id + step.numbers
            event = JobSubmitted(step.time, job)
            called = {} if job is given else {"called": given.name}
            body = {"id": number, "by": caller.token, "key": request.key, "request": asked}
            step.apply(event, **body, **called)
            step.numbers += 1
            ids.append(number)
    except InputError as error:
        # Seldom: what only the core sees, be it the policy that has no scale for one of them.
        for number, job in zip(ids, unique, strict=False):
            step.apply(JobCancelled(step.time, job.name))
            step.note("job_forgotten", job=job.name, id=number)
        raise InputError(_as_given(error.mistakes, unique, jobs)) from error
    step.submissions |= {job.name: number for job, number in zip(unique, ids, strict=True)}
    step.called |= {(job.tenant, job.name) for job in jobs}
    names = tuple(job.name for job in jobs)
    if owner is not None and asked is not None:
        step.keys[owner] = KeyRecord(asked, ids, list(names), step.time)
        totals = step.key_additions.setdefault(owner[1], KeyTotals())
        totals.keys += 1
        totals.bytes += key_bytes(owner, names)
    for job in unique:
        _add(step.additions.setdefault(_tenant(job), Totals()), job)
    warnings += _of_simulations(jobs)
    return SubmittedJobs(tuple(ids), names, warnings=warnings)


def _warnings(
    step: Step, jobs: Iterable[Job], wrong: Container[str | int] = ()
) -> tuple[Warned, ...]:
    """Of those of the jobs that could never run, why; and machines that they name and that are not
    there, which can be said of `wrong` ones too."""
    prospects = step.core.prospects()
    found = []
    for job in jobs:
        step.pause()
        reasons = () if job.name in wrong else prospects.never(job)
        why = never_runs(reasons) if reasons else ""
        slips = [each for each in prospects.slips(job) if each not in why]
        found += [Warned(job.name, each) for each in (why, *slips) if each]
    return tuple(found)


def _of_simulations(jobs: Iterable[Job]) -> tuple[Warned, ...]:
    """Of those of the jobs that say when they come, that a service does not wait for it."""
    found = []
    for job in jobs:
        names = [name for name in ("arrive", "every", "repeat") if getattr(job, name) is not None]
        if names:
            has = "have" if len(names) > 1 else "has"
            said = f"{listing(names)} {has} a meaning in simulations alone: it was submitted once"
            found.append(Warned(job.name, f"{said}, now"))
    return tuple(found)


def _with_tenant(job: Job, caller: Caller) -> Job:
    """The job of the caller's tenant, if it names none."""
    if job.tenant is not None or caller.role is not Role.TENANT:
        return job
    return job.of(caller.tenant, job.name)


def _with_unique_names(step: Step, jobs: tuple[Job, ...]) -> tuple[Job, ...]:
    """The jobs as the core and the journal are to have them."""
    taken = set(step.submissions)
    found = []
    for number, job in enumerate(jobs, step.records.next_id + step.numbers):
        name = unique_name(step.records.names, taken, job, number)
        taken.add(name)
        found.append(job if name == job.name else job.of(job.tenant, name))
    return tuple(found)


def _as_given(
    mistakes: Iterable[Mistake], unique: Iterable[Job], jobs: Iterable[Job]
) -> tuple[Mistake, ...]:
    """The mistakes, about jobs by the names that were given."""
    names: dict[About, str] = {
        ("job", job.name): given.name for job, given in zip(unique, jobs, strict=True)
    }
    return tuple(
        replace(mistake, about=("job", names[mistake.about[:2]], *mistake.about[2:]))
        if mistake.about[:2] in names
        else mistake
        for mistake in mistakes
    )


def _strangers(step: Step, jobs: Iterable[Job], caller: Caller) -> list[Mistake]:
    """Of each job that is not the caller's: tenants submit for themselves and for those below."""
    if caller.role is Role.ADMIN:
        return []
    return [
        Mistake(
            f'this token may not submit for tenant "{job.tenant}"',
            f'write tenant "{caller.tenant}" or one below it',
            about=("job", job.name, "tenant"),
        )
        for job in jobs
        if caller.tenant is None or not step.records.is_below(job.tenant, caller.tenant)
    ]


def _hash(jobs: tuple[Job, ...]) -> str:
    text = to_text({"jobs": [plain_job(job) for job in jobs]})
    return hashlib.sha256(text.encode()).hexdigest()


def _find_key(step: Step, owner: KeyOwner) -> KeyRecord | None:
    return step.keys.get(owner) or step.records.keys.get(owner)


def _check_keys(step: Step, limits: Limits, owner: KeyOwner, jobs: tuple[Job, ...]) -> None:
    """Refuses a key more than a tenant may have: keys are kept whatever becomes of their jobs, and
    so are the names of these."""
    known = step.records.key_totals.get(owner[1], KeyTotals())
    taken = step.key_additions.get(owner[1], KeyTotals())
    if known.keys + taken.keys >= limits.keys_per_tenant:
        refuse(
            Wrong.TOO_MANY,
            f"{limits.keys_per_tenant} keys of this tenant are known, which is the most",
            _FEWER_KEYS,
        )
    added = key_bytes(owner, [job.name for job in jobs])
    would = known.bytes + taken.bytes + added
    if added > limits.key_bytes_per_tenant:
        most = limits.key_bytes_per_tenant
        said = f"keys of a tenant, with the names of their jobs, may take {most} bytes at most"
        _refuse_ever(said, added)
    if would > limits.key_bytes_per_tenant:
        refuse(
            Wrong.TOO_MANY,
            "the keys of this tenant that are known, with the names of their jobs, would take"
            f" {would} bytes, and {limits.key_bytes_per_tenant} is the most",
            _FEWER_KEYS,
        )


def _again(
    step: Step, before: KeyRecord, asked: str, key: str, jobs: tuple[Job, ...]
) -> SubmittedJobs:
    """The answer to what was accepted before, strictly or not: nothing is new, also where jobs of
    it are forgotten. It warns of those that are still there."""
    if before.request != asked:
        refuse(
            Wrong.CONFLICT,
            f'the key "{key}" was used for other jobs',
            "use another key, or submit the same jobs",
        )
    names = {number: name for name, number in step.submissions.items()}
    names |= {
        number: step.records.jobs[number].name
        for number in before.ids
        if number in step.records.jobs
    }
    there = {
        name
        for number, name in zip(before.ids, before.names, strict=True)
        if names.get(number) in step.core.ids.jobs
    }
    present = [job for job in jobs if job.name in there]
    warnings = _warnings(step, present) + _of_simulations(jobs)
    return SubmittedJobs(tuple(before.ids), tuple(before.names), again=True, warnings=warnings)


def _mistakes(
    step: Step, limits: Limits, jobs: tuple[Job, ...], unique: tuple[Job, ...]
) -> Mistakes:
    """Everything that is wrong with the jobs, found before the first is submitted. `unique`: the
    same jobs by their unique names."""
    if len(jobs) > limits.jobs_per_request:
        refuse(
            Wrong.INPUT, f"{len(jobs)} jobs at once", f"submit at most {limits.jobs_per_request}"
        )
    mistakes = Mistakes()
    named: set[str] = set()
    gpus = cache(lambda: has_gpus(step.records))
    seen: set[tuple[str | None, str]] = set()
    for job in jobs:
        step.pause()
        about, called = ("job", job.name), (job.tenant, job.name)
        record = step.records.names.of(*called)
        if record is not None or called in seen or called in step.called:
            over = record is not None and record.over and called not in seen
            named.add(job.name)
            mistakes.add(
                about,
                "there was a job of this name, and it is not forgotten yet"
                if over
                else "there is a job of this name",
                "give it another name" + (", or forget that one" if over else ""),
            )
        seen.add(called)
        if BETWEEN in job.name:
            mistakes.add(
                about,
                f'the name of a job holds no "{BETWEEN}": TENANT{BETWEEN}NAME is a job of that'
                " tenant",
                f'write "{job.name.replace(BETWEEN, "-")}"',
            )
        if job.name in (".", ".."):
            mistakes.add(about, "this cannot be the name of a job", "write letters")
        if job.command is None and job.call is None:
            mistakes.add(about, "it does not say what it runs", 'write command: "sleep 60"')
        mistakes += variables_of_others(job, gpus)
        if job.tasks is None:
            mistakes.add(about, "it does not say how many tasks it has", "write tasks: 1")
        elif job.tasks > limits.tasks_per_job:
            mistakes.add(
                (*about, "tasks"),
                f"{job.tasks} tasks are more than one job may have",
                f"write at most {limits.tasks_per_job}",
            )
    # A name that is taken is said once, be it of a job that is over, which the core has forgotten.
    of_core = _as_given(_mistakes_of_core(step, unique), unique, jobs)
    mistakes += [each for each in of_core if each.about[2:] or each.about[1] not in named]
    return mistakes


def _mistakes_of_core(step: Step, jobs: tuple[Job, ...]) -> Iterator[Mistake]:
    """Those of the first jobs, once they are so many that nobody reads them all."""
    found = 0
    for first in range(0, len(jobs), AT_ONCE):
        if found >= ENOUGH:
            return
        step.pause()
        mistakes = step.core.job_mistakes(jobs[first : first + AT_ONCE])
        found += len(mistakes)
        yield from mistakes


def _check_limits(step: Step, limits: Limits, jobs: tuple[Job, ...]) -> None:
    """Refuses what would be more than anybody may have."""
    more_of: dict[str, Totals] = {}
    for job in jobs:
        _add(more_of.setdefault(_tenant(job), Totals()), job)
    records = step.records
    for tenant, more in more_of.items():
        has, taken = records.totals.get(tenant, Totals()), step.additions.get(tenant, Totals())
        for what, have, added, most in (
            ("unfinished job", has.jobs + taken.jobs, more.jobs, limits.jobs_per_tenant),
            ("unfinished task", has.tasks + taken.tasks, more.tasks, limits.tasks_per_tenant),
            (_WRITTEN, has.bytes + taken.bytes, more.bytes, limits.bytes_per_tenant),
        ):
            if added > most:
                said = _number_of(what, most)
                _refuse_ever(f'tenant "{tenant}" may have {said} at most', added)
            if have + added > most:
                refuse(
                    Wrong.TOO_MANY,
                    f'tenant "{tenant}" has {_number_of(what, have)}, and {most} is the most'
                    f" that it may have: {added} more are not taken",
                    "wait until some finish",
                )
    known_tasks = len(records.table) - records.table.free
    new_jobs = sum(each.jobs for each in step.additions.values())
    new_tasks = sum(each.tasks for each in step.additions.values())
    more_tasks = sum(each.tasks for each in more_of.values())
    for what, have, added, most in (
        ("jobs", len(records.jobs) + new_jobs, len(jobs), limits.jobs),
        ("tasks", known_tasks + new_tasks, more_tasks, limits.tasks),
    ):
        if added > most:
            _refuse_ever(f"{most} {what} may be known at most", added)
        if have + added > most:
            refuse(
                Wrong.TOO_MANY,
                f"{have} {what} are known, and {most} is the most: {added} more are not taken",
                "wait until some finish and are forgotten, or forget some",
            )


def _refuse_ever(limit: str, added: int) -> NoReturn:
    """Refuses what is by itself more than there may be: no waiting makes room for it."""
    refuse(Wrong.INPUT, f"{limit}: {added} at once are never taken", "submit less at once")


def _check_terms(step: Step, limits: Limits, jobs: tuple[Job, ...]) -> None:
    """Refuses constraints of more terms than the jobs of a tenant may have: each has a bit of
    every job. A tenant's are counted only where all have as many, as that goes through its jobs."""
    book, most = step.core.book, limits.terms_per_tenant
    new = book.new_terms(jobs)
    if not new or len(book.ids.terms) + new <= most:
        return
    for tenant in {job.tenant for job in jobs if job.tenant is not None}:
        step.pause()
        own = [job for job in jobs if job.tenant == tenant]
        has = book.terms_of_tenant(tenant, own)
        if has > most and (alone := len(book.terms_of_all(own))) > most:
            said = f'the constraints of the jobs of tenant "{tenant}" may have {most} terms at most'
            _refuse_ever(said, alone)
        if has > most:
            refuse(
                Wrong.TOO_MANY,
                f'the constraints of the unfinished jobs of tenant "{tenant}" would have {has}'
                f" different terms, and {most} is the most that they may have",
                "use a label of which many machines have the same value, or wait until some finish",
            )


def _number_of(what: str, count: int) -> str:
    """`1 unfinished task`, `2 unfinished tasks`; where the number stands within, that text."""
    return what.format(count) if "{}" in what else f"{count} {plural(what, count)}"


def _add(totals: Totals, job: Job) -> None:
    totals.jobs += 1
    totals.tasks += int(job.tasks or 0)
    totals.bytes += job_bytes(job)


def _tenant(job: Job) -> str:
    return job.name if job.tenant is None else job.tenant
