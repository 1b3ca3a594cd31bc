"""`fairlead cancel`: drop what waits of a job, stop what runs."""

from __future__ import annotations

import argparse

from fairlead.cli.common.remote import add_service, check_tenant, say_answer, service_of
from fairlead.cli.common.screen import escaped
from fairlead.model.errors import InputError

EPILOG = """\
examples:
  fairlead cancel train
  fairlead cancel sweep-1 sweep-2
  fairlead cancel --all --tenant vision    everything of a tenant that is not over
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="the names of jobs")
    parser.add_argument("--all", action="store_true", help="all jobs of --tenant")
    parser.add_argument("--tenant", metavar="TENANT", help="with --all: whose")
    add_service(parser)


def run(args: argparse.Namespace) -> int:
    """Cancels the jobs, and says of each how it stands."""
    if args.all != (args.tenant is not None) or args.all == bool(args.jobs):
        raise InputError(
            "fairlead cancel: it is not said what to cancel",
            "name jobs, or everything of a tenant: --all --tenant TENANT",
        )
    with service_of(args) as service:
        names = args.jobs or [job.name for job in service.jobs(tenant=args.tenant)]
        if not names:
            check_tenant(service, args.tenant)
        for name in args.jobs:
            service.job(name)  # a name that is not known: before anything is cancelled
        found = [service.cancel(name) for name in names]
    jobs = [job.model_dump(mode="json", by_alias=True, exclude={"schema_"}) for job in found]
    tree = {"schema": "fairlead.jobs/1", "jobs": jobs}
    say_answer(args, tree, lambda _: (f"{escaped(job.name)}: {job.state.value}" for job in found))
    return 0
