"""`fairlead cancel`: drop the waiting tasks of jobs, stop the running ones."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fairlead.cli.common.remote import add_service, check_tenant, say_answer, service_of
from fairlead.model.errors import InputError
from fairlead.model.words import escaped

if TYPE_CHECKING:
    from fairlead.wire.jobs import CancelledJob

EPILOG = """\
examples:
  fairlead cancel train
  fairlead cancel sweep-1 sweep-2
  fairlead cancel --all --tenant vision    all unfinished jobs of a tenant

All of them are cancelled, or none where one is not known. Doing it again changes nothing.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="the names of jobs")
    parser.add_argument("--all", action="store_true", help="all jobs of --tenant")
    parser.add_argument("--tenant", metavar="TENANT", help="with --all: whose")
    add_service(parser)


def run(args: argparse.Namespace) -> int:
    """Cancels the jobs, and says of each how it stands."""
    if args.all != (args.tenant is not None) or args.all == bool(args.jobs):
        both = bool(args.jobs) and (args.all or args.tenant is not None)
        raise InputError(
            f"fairlead cancel: {'both jobs and a tenant are' if both else 'no job is'} named",
            "name the jobs to cancel, or all of a tenant: --all --tenant TENANT",
        )
    with service_of(args) as service:
        if args.tenant is not None:
            check_tenant(service, args.tenant)
        found = service.cancel_jobs(*args.jobs, tenant=args.tenant)
    none = f"no job of {escaped(args.tenant or '')} waits or runs"
    say_answer(args, found, lambda _: map(_line, found.jobs) if found.jobs else [none])
    return 0


def _line(job: CancelledJob) -> str:
    was = "" if job.changed else ", and was before"
    return f"{escaped(job.name)}: {job.state.value}{was}"
