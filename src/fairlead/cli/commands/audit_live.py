"""`fairlead audit --live`: who has less than is guaranteed now, of a running service."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.cli.common.screen import Screen
    from fairlead.wire.fairness import LiveAudit


def run_live(args: argparse.Namespace) -> int:
    """Asks the service, and prints who is short. With --strict exit code 1 if anybody is."""
    from fairlead.cli.common.remote import say_json, service_of
    from fairlead.cli.common.screen import screen_of
    from fairlead.cli.main import Exit
    from fairlead.model.errors import InputError, Mistake

    if args.files:
        raise InputError(
            Mistake("--live takes no file", "leave the file out: what is present is audited")
        )
    with service_of(args) as service:
        found = service.audit()
    if args.json:
        say_json(found)
    else:
        say(lines(found, screen_of(sys.stdout)))
    return Exit.REFUTED if args.strict and found.shortfalls else Exit.OK


def lines(found: LiveAudit, screen: Screen) -> Iterator[str]:
    """A row for each tenant that is short, then why."""
    from fairlead.cli.common.remote import ago
    from fairlead.cli.common.screen import escaped, table, wrapped
    from fairlead.model.words import counted, number

    exact = "not computed yet" if found.exact is None else f"{ago(found.exact)} ago"
    looked = counted(found.tenants, "tenant")
    yield screen.dim(f"policy {found.policy}; {looked}; exact shares: {exact}")
    if found.problem:
        yield from wrapped(f"There is no newer one: {escaped(found.problem)}.", screen)
    yield ""
    if not found.shortfalls:
        if found.exact is not None:
            yield "Everybody has what the exact allocation of the present demand guarantees."
        return
    rows = [
        [
            escaped(short.tenant),
            number(short.guaranteed, 4),
            number(short.has, 4),
            str(short.tasks),
            "-" if short.since is None else ago(short.since, found.time / 1e6),
            short.cause,
        ]
        for short in found.shortfalls
    ]
    header = ["tenant", "guaranteed", "has", "tasks short", "for", "cause"]
    yield from table(header, rows, "<>>>><", screen)
    if found.more:
        yield f"and {found.more} more"
    yield ""
    for short in found.shortfalls:
        yield from wrapped(f"{escaped(short.sentence)}.", screen)
