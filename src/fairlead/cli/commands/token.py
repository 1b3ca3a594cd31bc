"""`fairlead token`: who may ask the service for what."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import add_action, complain
from fairlead.cli.common.remote import add_service, at, rows_or, say_answer, service_of
from fairlead.cli.common.screen import Screen
from fairlead.model.errors import InputError
from fairlead.model.words import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fairlead.wire.tokens import TokenRow

EPILOG = """\
examples:
  fairlead token create ann --tenant vision        may act for vision and tenants below it
  fairlead token create screen --role viewer       may look
  fairlead token list
  fairlead token revoke ann                        not the one in use, nor the last admin's

The token is printed once; the service keeps no more than what recognises it.
"""


NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")
"""Form of a token's name, as the API has it."""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="create|list|revoke")
    for name, summary in (
        ("create", "make a token and print it"),
        ("list", "all tokens, without their secrets"),
        ("revoke", "the next request with it is refused"),
    ):
        action = add_action(actions, name, summary)
        if name != "list":
            action.add_argument("name", metavar="NAME", help="the token's name")
        if name == "revoke":
            action.add_argument(
                "--lock-out",
                action="store_true",
                help="though it is the token in use, or the last one of an administrator",
            )
        if name == "create":
            action.add_argument(
                "--role",
                choices=("admin", "tenant", "viewer"),
                help="what it may do (default: tenant where --tenant is given)",
            )
            action.add_argument("--tenant", metavar="TENANT", help="the tenant that it may act for")
        add_service(action)


def run(args: argparse.Namespace) -> int:
    from fairlead.wire.kinds import Role
    from fairlead.wire.tokens import Tokens

    if args.action == "list":
        with service_of(args) as service:
            found = service.tokens()
        say_answer(args, Tokens(tokens=found), lambda screen: lines(found, screen))
    elif args.action == "revoke":
        with service_of(args) as service:
            service.revoke_token(args.name, lock_out=args.lock_out)
        tree = {"schema": "fairlead.revoked/1", "name": args.name}
        say_answer(args, tree, lambda _: [f"{args.name}: revoked"])
    else:
        role = args.role or ("tenant" if args.tenant else None)
        if role is None:
            raise InputError(
                "fairlead token create: the token needs a tenant or a role",
                "write --tenant TENANT, --role viewer or --role admin",
            )
        if not NAME.fullmatch(args.name):
            raise InputError(
                f"{args.name[:80]!r} is not the name of a token",
                "write small letters, digits and -, as in ada-laptop",
            )
        with service_of(args) as service:
            made = service.make_token(args.name, Role(role), args.tenant)
        say_answer(args, made, lambda _: [made.token])
        if not args.json:
            complain("Keep it safe: it is shown only once. Its user sets FAIRLEAD_TOKEN to it.")
    return 0


def lines(tokens: Sequence[TokenRow], screen: Screen) -> Iterable[str]:
    rows = [
        [escaped(each.name), each.role.value, escaped(each.tenant or "-"), at(each.made)]
        for each in tokens
    ]
    return rows_or(["token", "role", "tenant", "made"], rows, "<<<<", screen, "no token")
