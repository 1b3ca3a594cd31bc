"""`fairlead forget`: what is over is not known any more, and its name is free."""

from __future__ import annotations

import argparse

from fairlead.cli.common.remote import add_service, say_answer, service_of
from fairlead.model.words import escaped

EPILOG = """\
examples:
  fairlead forget train    removes its record and its output
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("jobs", nargs="+", metavar="JOB", help="the names of finished jobs")
    add_service(parser)


def run(args: argparse.Namespace) -> int:
    """Forgets the jobs: all of them, or none."""
    with service_of(args) as service:
        found = service.forget_jobs(*args.jobs)
    say_answer(args, found, lambda _: (f"{escaped(name)}: forgotten" for name in found.jobs))
    return 0
