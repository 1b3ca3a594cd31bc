"""`fairlead logout`: forget the sign-in at a service."""

from __future__ import annotations

import argparse
import os

from fairlead.cli.common.remote import add_service, only_text, say_answer
from fairlead.model.errors import InputError

EPILOG = """\
examples:
  fairlead logout
  fairlead logout --url https://fairlead.example

What was kept on this machine is removed. The JWT itself is good until it ends, after a few minutes
with most issuers; end the session at the issuer, too, where somebody else may have read it.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_service(parser)


def run(args: argparse.Namespace) -> int:
    """Removes the sign-in of this user at the service."""
    from fairlead.client.login import find_login, forget_login
    from fairlead.client.places import find_place

    only_text(args)
    place = find_place(args.url)
    login = find_login((place.url, *place.others), os.environ)
    if login is None:
        raise InputError(f"you are not signed in at {place.url}", "`fairlead login` signs in")
    forget_login(login)
    tree = {"schema": "fairlead.logout/1", "url": place.url}
    say_answer(args, tree, lambda _: [f"signed out at {place.url}"])
    return 0
