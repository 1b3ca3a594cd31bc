"""`fairlead dashboard`: the service's page in the browser."""

from __future__ import annotations

import argparse

from fairlead.cli.common.inputs import say
from fairlead.cli.common.remote import add_address, complain, service_of

EPILOG = """\
examples:
  fairlead dashboard
  fairlead dashboard --print    the address alone, as for another machine

Sign in there with a token (`fairlead token create ann --tenant vision`); it is in no address.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--print", action="store_true", help="print the address, open nothing")
    add_address(parser)


def run(args: argparse.Namespace) -> int:
    """Sees that the service answers, says where, and opens its page."""
    import webbrowser

    with service_of(args) as service:
        service.version()
        address = f"{service.place.url}/"
    say([address])
    if not args.print and not webbrowser.open(address):
        complain("no browser could be opened; open the address in one")
    return 0
