"""`fairlead tenants`: the tenants, and changes of them."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairlead.cli.common.inputs import complain, texts_of
from fairlead.cli.common.people import unknown_users
from fairlead.cli.common.remote import add_service, count, rows_or, say_answer, service_of
from fairlead.cli.common.screen import Screen
from fairlead.model.errors import InputError
from fairlead.model.words import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fairlead.client.client import Client
    from fairlead.model.tenant import Tenant
    from fairlead.wire.tenants import TenantRow

EPILOG = """\
examples:
  fairlead tenants
  fairlead tenants --apply tenants.yaml    make these tenants, or change them
"""

_FILE = (
    "write it into a file, as in tenants: [{name: vision, weight: 2}], and"
    " `fairlead tenants --apply FILE`"
)
_NEVER = "a tenant stays; with no jobs it takes nothing from others"

ELSEWHERE = {
    **dict.fromkeys(("add", "create", "set", "edit", "update", "apply"), _FILE),
    **dict.fromkeys(("--name", "--weight", "--limit", "--parent", "--pool", "--user"), _FILE),
    **dict.fromkeys(("remove", "delete", "rm", "--delete", "--remove"), _NEVER),
    **dict.fromkeys(("show", "list", "get"), "leave the word out: all tenants are listed"),
}
"""What others write to change who shares."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--apply",
        metavar="FILE",
        action="append",
        default=[],
        help="a file of tenants (or of a cluster: its tenants count): each is what it says from"
        " now on; may be repeated",
    )
    add_service(parser)


def run(args: argparse.Namespace) -> int:
    """Changes all that is to be changed, or nothing, and prints the tenants."""
    from fairlead.wire.tenants import Tenants

    with service_of(args) as service:
        found = apply(service, args.apply) if args.apply else service.tenants()
    say_answer(args, Tenants(tenants=found), lambda screen: lines(found, screen))
    return 0


def plain(tenant: Tenant) -> dict[str, Any]:
    """The tenant as the service takes it: amounts as text, which is exact."""
    fields = {
        "name": tenant.name,
        "parent": tenant.parent,
        "weight": None if tenant.weight is None else str(tenant.weight),
        "pool": None if tenant.pool is None else list(tenant.pool),
        "limit": {name: str(amount) for name, amount in tenant.limit.items()},
        "user": tenant.user,
    }
    return {name: value for name, value in fields.items() if value is not None}


def apply(service: Client, files: Sequence[str]) -> list[TenantRow]:
    """Makes or changes the tenants of the files, or none; all that there are then. Raises
    ServiceError, and InputError with places for what is wrong with them."""
    from fairlead.client.errors import RefusedError
    from fairlead.client.loopback import loopback
    from fairlead.model.reading import in_order, places

    texts = texts_of(files)
    wanted = read_tenants(texts)
    if loopback(service.place.url):
        for each in unknown_users(wanted):
            complain(f"warning: {each}")
    try:
        return service.put_tenants(*map(plain, wanted))
    except RefusedError as error:
        place = places(texts)
        found = (
            replace(each, place=each.place or place(each.about) if each.about else each.place)
            for each in error.mistakes
        )
        raise InputError(in_order(found, texts)) from error


def read_tenants(texts: Sequence[tuple[str, str]]) -> tuple[Tenant, ...]:
    """The tenants of the texts, those above before those below them. Raises InputError."""
    from fairlead.model.reading import read_parts

    cluster, _ = read_parts(texts)
    if not cluster.tenants:
        raise InputError("there is no tenant in it", "write some under `tenants:`")
    left = list(cluster.tenants)
    ordered: list[Tenant] = []
    while left:  # a circle is refused by the service: its parents come last
        open_ = {tenant.name for tenant in left}
        ready = [tenant for tenant in left if tenant.parent not in open_] or left
        ordered += ready
        left = [tenant for tenant in left if tenant not in ready]
    return tuple(ordered)


def lines(tenants: Sequence[TenantRow], screen: Screen) -> Iterable[str]:
    rows = [
        [
            escaped(tenant.name),
            escaped(tenant.parent or "-"),
            tenant.weight or ("-" if tenant.pool is None else "pool"),
            count(tenant.jobs),
            ", ".join(f"{name} {amount}" for name, amount in tenant.limit.items()) or "-",
            ", ".join(tenant.pool or ()) or "-",
        ]
        for tenant in tenants
    ]
    header, sides = ["tenant", "below", "weight", "jobs", "limit", "pool"], "<<>><<"
    if any(tenant.user is not None for tenant in tenants):  # none is shown but to admins
        header, sides = [*header, "user"], f"{sides}<"
        for row, tenant in zip(rows, tenants, strict=True):
            row.append(escaped(tenant.user or "-"))
    return rows_or(header, rows, sides, screen, "no tenant")
