"""`fairlead dashboard`: the service's page in the browser."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress
from pathlib import Path

from fairlead.cli.common.inputs import complain, say
from fairlead.cli.common.remote import add_address, service_of
from fairlead.client.places import ADMIN_TOKEN, state_folder

EPILOG = """\
examples:
  fairlead dashboard
  fairlead dashboard --print    the address alone, as for another machine

Sign in there with a token (`fairlead token create ann --tenant vision`); it is in no address.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--print", action="store_true", help="print the address, open nothing")
    add_address(parser)


def run(args: argparse.Namespace) -> int:
    """Sees that the service answers, says where, and opens its page."""
    import webbrowser

    from fairlead.client.errors import ServiceError

    with service_of(args) as service:
        service.version()
        address, file = f"{service.place.url}/", _file_with(service.place.token)
        say([address])
        if file is not None:
            try:
                service.me()
                complain(f"sign in with the token that is in {file}")
            except ServiceError as error:
                complain(str(error))
    if not args.print and not webbrowser.open(address):
        complain("no browser could be opened; open the address in one")
    return 0


def _file_with(token: str | None) -> Path | None:
    """The file of this user's service that the token is in; None where it is from elsewhere."""
    file = state_folder(os.environ) / ADMIN_TOKEN
    with suppress(OSError):  # there is none, or it is another user's
        if token is not None and file.read_text(encoding="ascii").strip() == token:
            return file
    return None
