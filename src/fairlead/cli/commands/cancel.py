"""`fairlead cancel`: drop the waiting tasks of jobs, stop the running ones."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import complain
from fairlead.cli.common.remote import add_service, check_tenant, say_answer, service_of, state_word
from fairlead.cli.main import Exit
from fairlead.model.errors import InputError
from fairlead.model.words import counted, escaped, listing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlead.client.client import Client
    from fairlead.wire.jobs import Cancelled, CancelledJob, JobRow

EPILOG = """\
examples:
  fairlead cancel train
  fairlead cancel sweep-1 sweep-2
  fairlead cancel --all                    all unfinished jobs of one's own tenant
  fairlead cancel --all --tenant vision    those of a tenant
  fairlead cancel --state pending --prefix sweep-

Jobs that are named are cancelled all, or none where one is not known. On a terminal it is asked
before jobs are cancelled that were not named. Doing it again changes nothing.
"""

ELSEWHERE = {
    "--name": "write the job's name alone, or --prefix TEXT for names that begin so",
    **dict.fromkeys(("--user", "--account"), "write --tenant"),
    "--force": "tasks that do not end when they are told to are killed 10 seconds later",
}
"""What other schedulers call otherwise, or have and Fairlead has not."""

NAMED = 5
"""So many of the jobs are named in the question."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.usage = "fairlead cancel [options] JOB... | --all | --state STATE | --prefix TEXT"
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="the names of jobs")
    chosen = parser.add_argument_group("jobs that are not named")
    chosen.add_argument(
        "--all", action="store_true", help="all that are not over: one's own, or of --tenant"
    )
    chosen.add_argument("--state", metavar="STATE", help="those that are pending, or running")
    chosen.add_argument("--prefix", metavar="TEXT", help="those whose names begin with this")
    chosen.add_argument(
        "--tenant", metavar="TENANT", help="whose, with those below it (default: the token's)"
    )
    chosen.add_argument("-y", "--yes", action="store_true", help="do not ask")
    add_service(parser)


def run(args: argparse.Namespace) -> int:
    """Cancels the jobs, and says of each how it stands."""
    _check(args)
    with service_of(args) as service:
        found = service.cancel_jobs(*args.jobs) if args.jobs else _cancel_chosen(service, args)
    if found is None:
        complain("nothing was cancelled")
        return Exit.BAD_INPUT
    of = "" if args.tenant is None else f" of {escaped(args.tenant)}"
    none = f"no job{of} waits or runs"
    if args.state is not None or args.prefix is not None:
        none = f"no job{of} is of that kind"
    say_answer(args, found, lambda _: map(_line, found.jobs) if found.jobs else [none])
    return 0


def _check(args: argparse.Namespace) -> None:
    """Raises InputError where it is not clear which jobs are meant."""
    from fairlead.wire.kinds import JobState

    selected = args.all or args.state is not None or args.prefix is not None
    right = "name the jobs to cancel, or choose them by --all, --state or --prefix"
    if args.jobs and (selected or args.tenant is not None):
        too = "both jobs and a tenant are named"
        if args.tenant is None:
            too = "jobs are named, and others are chosen, too"
        raise InputError(f"fairlead cancel: {too}", right)
    if not args.jobs and not selected:
        which = " (--all --tenant TENANT: all of a tenant)" if args.tenant is not None else ""
        raise InputError("fairlead cancel: no job is named", f"{right}{which}")
    if args.prefix == "":
        raise InputError("--prefix is empty, and all names begin so", "write --all for all")
    if args.state is not None:
        args.state = state_word(args.state, JobState, "a job")
        if args.state not in (JobState.PENDING, JobState.RUNNING):
            raise InputError(
                f"jobs that are {args.state.value} are over", "write --state pending or running"
            )


def _cancel_chosen(service: Client, args: argparse.Namespace) -> Cancelled | None:
    """Cancels those that the options choose; None where whoever was asked does not want it."""
    from fairlead.client.client import BATCH
    from fairlead.wire.jobs import Cancelled

    whose, own = args.tenant, None
    if whose is None:
        me = service.me()
        whose, own = me.tenant, me.tenants
    else:
        check_tenant(service, whose)
    asked = not args.yes and is_asked()
    if whose is None and own is None and not (asked or args.yes):
        raise InputError(
            "this token may cancel everybody's jobs, and no tenant is named",
            "write --tenant TENANT, or --yes where all are meant",
        )
    if not asked and args.state is None and args.prefix is None and whose is not None:
        return service.cancel_jobs(tenant=whose)  # in one step, whatever comes meanwhile
    rows = list(service.jobs(state=args.state, tenant=whose, prefix=args.prefix))
    rows = [row for row in rows if own is None or row.tenant in own]
    if rows and asked and not is_wanted(rows):
        return None
    done: list[CancelledJob] = []
    for first in range(0, len(rows), BATCH):
        names = [row.name for row in rows[first : first + BATCH]]
        done += service.cancel_jobs(*names).jobs
    return Cancelled(jobs=done)


def is_asked() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def is_wanted(rows: Sequence[JobRow]) -> bool:
    """Asks whether these jobs are to be cancelled."""
    from fairlead.wire.kinds import JobState

    running = sum(row.state is JobState.RUNNING for row in rows)
    tenants = {row.tenant for row in rows}
    of = f" of {escaped(rows[0].tenant)}" if len(tenants) == 1 else f" of {len(tenants)} tenants"
    names = listing([escaped(row.name) for row in rows], most=NAMED)
    sys.stderr.write(f"{counted(len(rows), 'job')}{of}, {running} running: {names}\n")
    sys.stderr.write("cancel all of them? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _line(job: CancelledJob) -> str:
    was = "" if job.changed else ", and was before"
    return f"{escaped(job.name)}: {job.state.value}{was}"
