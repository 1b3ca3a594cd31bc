"""`fairlead machines`: the machines, what is used of them, and how they are."""

from __future__ import annotations

import argparse
import sys

from fairlead.cli.common.inputs import say
from fairlead.cli.common.remote import add_service, service_of

EPILOG = """\
examples:
  fairlead machines
  fairlead machines --prefix gpu- --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("--prefix", metavar="TEXT", help="machines whose names begin like this")
    add_service(parser)


def run(args: argparse.Namespace) -> int:
    """Asks for the machines and prints them."""
    from fairlead.cli.common.remote import say_json
    from fairlead.cli.common.screen import screen_of
    from fairlead.cli.text.machines import lines
    from fairlead.wire.machines import Machines

    with service_of(args) as service:
        found = list(service.machines(args.prefix))
    if args.json:
        tree = Machines(machines=found).model_dump(mode="json", by_alias=True)
        del tree["next"]  # all pages are here
        say_json(tree)
    else:
        say(lines(found, screen_of(sys.stdout)))
    return 0
