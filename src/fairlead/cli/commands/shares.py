"""`fairlead shares`: what each tenant has now, and what would be fair."""

from __future__ import annotations

import argparse

from fairlead.cli.common.remote import add_service, check_tenant, say_answer, service_of
from fairlead.model.errors import InputError

EPILOG = """\
examples:
  fairlead shares
  fairlead shares --jobs    each job as well
  fairlead shares --over 6h                  their history over six hours

A share is of the tasks that a tenant could run alone in the cluster, divided by its weight. `fair`
is what the exact allocation of the present demand gives it, `below fair` the gap to that, and
`short of` what it lacks of the whole tasks that it is guaranteed.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", action="store_true", help="each job's share and tasks as well")
    parser.add_argument(
        "--over",
        metavar="TIME",
        help="the shares over the last period, as in 6h",
    )
    parser.add_argument("--tenant", metavar="NAME", help="with --over: of this tenant only")
    add_service(parser)


def run(args: argparse.Namespace) -> int:
    from fairlead.cli.text.shares import lines

    if args.tenant is not None and args.over is None:
        raise InputError("--tenant is for shares over time", "add --over, as in --over 6h")
    if args.jobs and args.over is not None:
        raise InputError("--jobs is of now, and --over of tenants over time", "choose one")
    if args.over is not None:
        return _over(args)
    with service_of(args) as service:
        # A job without a tenant is its own.
        shares = service.shares(jobs=args.jobs, own=not args.json)
    say_answer(args, shares, lambda screen: lines(shares, screen, args.jobs))
    return 0


def _over(args: argparse.Namespace) -> int:
    """Asks for the shares over time and prints them."""
    import time

    from fairlead.cli.common.durations import duration_of
    from fairlead.cli.text.shares import over_lines

    until = time.time_ns() // 1000
    since = max(0, until - round(duration_of("--over", args.over) * 10**6))
    with service_of(args) as service:
        if args.tenant is not None:
            check_tenant(service, args.tenant)
        found = service.shares_history(since=since, points=1000, tenant=args.tenant)
    say_answer(args, found, lambda screen: over_lines(found, screen))
    return 0
