"""`fairlead jobs`: the jobs that the service knows."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fairlead.cli.common.remote import (
    add_service,
    ago,
    all_pages,
    check_tenant,
    count,
    done,
    holding,
    rows_or,
    say_answer,
    service_of,
    state_word,
)
from fairlead.cli.common.screen import Screen
from fairlead.model.words import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fairlead.wire.jobs import JobRow

EPILOG = """\
examples:
  fairlead jobs                       waiting and running jobs
  fairlead jobs --all                 finished ones as well
  fairlead jobs --state failed --json
"""

ELSEWHERE = {
    **dict.fromkeys(("--user", "-u", "--account", "-A", "--me"), "write --tenant TENANT"),
    **dict.fromkeys(("--name", "-n"), "write --prefix TEXT"),
    **dict.fromkeys(("-t", "--states"), "write --state STATE"),
    "--running": "write --state running",
    "--pending": "write --state pending",
    "--limit": "write --state, --tenant or --prefix: all that they leave are listed",
}
"""What other schedulers call otherwise."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all", action="store_true", help="finished, failed and cancelled jobs as well"
    )
    parser.add_argument(
        "--state", metavar="STATE", help="pending, running, finished, failed or cancelled"
    )
    parser.add_argument("--tenant", metavar="TENANT", help="jobs of this tenant only")
    parser.add_argument("--prefix", metavar="TEXT", help="jobs whose names begin with this")
    add_service(parser)


def run(args: argparse.Namespace) -> int:
    from fairlead.wire.jobs import Jobs
    from fairlead.wire.kinds import JobState

    state = state_word(args.state, JobState, "a job") if args.state is not None else None
    with service_of(args) as service:
        found = list(
            service.jobs(all=args.all, state=state, tenant=args.tenant, prefix=args.prefix)
        )
        if not found and args.tenant is not None:
            check_tenant(service, args.tenant)
        now = service.now
    everything = args.all or state is not None
    page = all_pages(Jobs(jobs=found))
    some = "job" if args.tenant is None and not args.prefix else "such job"
    say_answer(args, page, lambda screen: lines(found, screen, everything, now, some))
    return 0


def lines(
    jobs: Sequence[JobRow],
    screen: Screen,
    everything: bool = True,
    now: float | None = None,
    some: str = "job",
) -> Iterable[str]:
    """A row for each job. `now`: of the service's clock."""
    rows = [
        [
            escaped(job.name),
            escaped(job.tenant),
            job.state.value,
            done(job.tasks),
            count(holding(job.tasks)),
            count(job.tasks.waiting),
            count(job.tasks.failed),
            ago(job.submitted, now),
        ]
        for job in jobs
    ]
    header = ["job", "tenant", "state", "done", "running", "waiting", "failed", "age"]
    none = f"no {some}"
    if not everything:
        none += " is waiting or running (--all also lists finished ones)"
    return rows_or(header, rows, "<<<>>>>>", screen, none)
