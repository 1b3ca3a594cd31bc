"""`fairlead jobs`: the jobs that the service knows."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import say
from fairlead.cli.common.remote import add_service, service_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fairlead.cli.common.screen import Screen
    from fairlead.wire.jobs import JobRow

EPILOG = """\
examples:
  fairlead jobs                       what waits and runs
  fairlead jobs --all                 also what is over
  fairlead jobs --state failed --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("--all", action="store_true", help="also jobs that are over")
    parser.add_argument(
        "--state", metavar="STATE", help="pending, running, finished, failed or cancelled"
    )
    parser.add_argument("--tenant", metavar="TENANT", help="jobs of this tenant only")
    parser.add_argument("--prefix", metavar="TEXT", help="jobs whose names begin like this")
    add_service(parser)


def run(args: argparse.Namespace) -> int:
    """Asks for the jobs and prints them."""
    from fairlead.cli.common.remote import check_tenant, say_json, state_word
    from fairlead.cli.common.screen import screen_of
    from fairlead.wire.jobs import Jobs, JobState

    state = state_word(args.state, JobState, "a job") if args.state is not None else None
    with service_of(args) as service:
        found = list(
            service.jobs(all=args.all, state=state, tenant=args.tenant, prefix=args.prefix)
        )
        if not found and args.tenant is not None:
            check_tenant(service, args.tenant)
    if args.json:
        tree = Jobs(jobs=found).model_dump(mode="json", by_alias=True)
        del tree["next"]  # all pages are here
        say_json(tree)
    else:
        say(lines(found, screen_of(sys.stdout), everything=args.all or state is not None))
    return 0


def lines(jobs: Sequence[JobRow], screen: Screen, everything: bool = True) -> Iterable[str]:
    """A line for each job."""
    from fairlead.cli.common.remote import ago, count, done, holding, rows_or
    from fairlead.cli.common.screen import escaped

    rows = [
        [
            escaped(job.name),
            escaped(job.tenant),
            job.state.value,
            done(job.tasks),
            count(holding(job.tasks)),
            count(job.tasks.waiting),
            count(job.tasks.failed),
            ago(job.submitted),
        ]
        for job in jobs
    ]
    header = ["job", "tenant", "state", "done", "running", "waiting", "failed", "age"]
    none = "no job" if everything else "no job waits or runs (--all shows those that are over)"
    return rows_or(header, rows, "<<<>>>>>", screen, none)
