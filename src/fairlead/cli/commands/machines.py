"""`fairlead machines`: the machines, what is used of them, and how they are."""

from __future__ import annotations

import argparse

from fairlead.cli.common.remote import add_service, all_pages, say_answer, service_of

EPILOG = """\
examples:
  fairlead machines
  fairlead machines --prefix gpu- --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--prefix", metavar="TEXT", help="machines whose names begin with this")
    add_service(parser)


def run(args: argparse.Namespace) -> int:
    from fairlead.cli.text.machines import lines
    from fairlead.wire.machines import Machines

    with service_of(args) as service:
        found = list(service.machines(args.prefix))
    say_answer(args, all_pages(Machines(machines=found)), lambda screen: lines(found, screen))
    return 0
