"""`fairlead explain TENANT --live`: what a tenant of a running service has, lacks and had."""

from __future__ import annotations

import argparse
import shlex
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairlead.cli.common.remote import check_tenant, say_answer, service_of
from fairlead.cli.common.screen import Screen, table, wrap
from fairlead.cli.text.shares import over_lines
from fairlead.model.errors import InputError
from fairlead.model.words import counted, escaped, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.client.client import Client
    from fairlead.wire.fairness import JobShareNow, Shares, SharesHistory, TenantShare, WhyAnswer

SCHEMA = "fairlead.tenant-live/1"

ASKED = 10
"""So many jobs that wait are asked why: an answer takes the service a tenth of a second."""

PAST = 24 * 3600 * 10**6
"""The shares of so many microseconds are shown."""


@dataclass(frozen=True)
class TenantNow:
    """A tenant with its jobs and those below it, why the first of them wait, what the audit says of
    it, and its shares of the last day."""

    row: TenantShare
    jobs: list[JobShareNow]
    why: dict[str, WhyAnswer]
    audit: list[str]
    history: SharesHistory

    @property
    def tree(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "tenant": self.row.model_dump(mode="json"),
            "jobs": [job.model_dump(mode="json") for job in self.jobs],
            "why": [why.model_dump(mode="json", by_alias=True) for why in self.why.values()],
            "audit": self.audit,
            "history": self.history.model_dump(mode="json", by_alias=True),
        }


def run_live(args: argparse.Namespace) -> int:
    """Asks the service, and prints what it says of the tenant."""
    args.check_live(args)
    with service_of(args) as service:
        found = ask(service, args.name)
    say_answer(args, found.tree, lambda screen: lines(found, screen))
    return 0


def ask(service: Client, name: str) -> TenantNow:
    """Puts the answers together. Raises InputError where there is no such tenant."""
    shares = service.shares(jobs=True)
    row = next((each for each in shares.tenants if each.name == name), None)
    if row is None:
        _check_job(service, name)
        check_tenant(service, name)
        right = f"`fairlead jobs --all --tenant {shlex.quote(name)}` lists them"
        raise InputError(f"no job of `{escaped(name)}` waits or runs", right)
    below = _below(shares, name)
    jobs = [job for job in shares.jobs if job.tenant in below]
    waiting = [job.name for job in jobs if job.waiting][:ASKED]
    why = {job: service.why(job) for job in waiting}
    audit = service.audit()
    found = [(each.tenant, each.sentence) for each in audit.shortfalls]
    found += [(each.tenant, each.sentence) for each in audit.below_fair]
    sentences = [sentence for tenant, sentence in found if tenant in below]
    sentences += [audit.behind] if audit.behind else []
    until = time.time_ns() // 1000
    history = service.shares_history(since=max(0, until - PAST), until=until, tenant=name)
    return TenantNow(row, jobs, why, sentences, history)


def _check_job(service: Client, name: str) -> None:
    """Raises InputError where a job has the name that is no tenant's."""
    from fairlead.client.errors import RefusedError

    try:
        job = service.job(name)
    except RefusedError:  # there is none, or several
        return
    right = f"`fairlead why {shlex.quote(name)}` explains a job"
    if job.tenant != job.name:  # else it is one of its own, which is over
        right += f", and `fairlead explain {shlex.quote(job.tenant)} --live` its tenant"
    raise InputError(f"`{escaped(name)}` is a job, and --live explains tenants", right)


def _below(shares: Shares, name: str) -> set[str]:
    """The tenant and those below it. A parent stands before its children."""
    below = {name}
    for tenant in shares.tenants:
        if tenant.parent in below:
            below.add(tenant.name)
    return below


def lines(found: TenantNow, screen: Screen) -> Iterator[str]:
    """The tenant in a sentence, its jobs, what the audit says, what would help, and its past."""
    row = found.row
    has = f"{escaped(row.name)} runs {counted(row.running, 'task')}, {row.waiting} wait"
    if row.share is not None and row.fair is not None:
        gap = max(row.fair - row.share, 0.0)
        has += f". Its share is {number(row.share, 4)}, its fair share {number(row.fair, 4)}"
        has += f", {number(gap, 4)} more" if gap else ""
    yield from wrap(f"{has}.", screen)
    yield ""
    rows = [
        [
            escaped(job.name),
            str(job.running),
            str(job.waiting),
            "-" if job.fair_tasks is None else number(job.fair_tasks, 4),
            "-" if job.guaranteed is None else str(job.guaranteed),
        ]
        for job in found.jobs
    ]
    if rows:
        yield from table(["job", "runs", "waiting", "fair", "guaranteed"], rows, "<>>>>", screen)
    else:
        yield "No job of it is present."
    for heading, sentences in (
        ("What stops it", [_first(why) for why in found.why.values() if why.reasons]),
        ("What the audit says", found.audit),
        ("What would start more", [_change(why) for why in found.why.values() if why.change]),
    ):
        if sentences:
            yield ""
            yield screen.bold(heading)
            for sentence in sentences:
                yield from wrap(f"{escaped(sentence)}.", screen, indent="  ")
    yield ""
    yield screen.bold("The last day")
    yield from over_lines(found.history, screen)


def _first(why: WhyAnswer) -> str:
    return f"{why.job}: {why.reasons[0].sentence}"


def _change(why: WhyAnswer) -> str:
    assert why.change is not None  # whoever asks has looked
    return f"{why.job}: {why.change.sentence}"
