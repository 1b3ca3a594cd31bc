"""`fairlead audit --live`: who has less than is guaranteed now, of a running service."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fairlead.cli.common.remote import ago, say_answer, service_of
from fairlead.cli.common.screen import Screen, table, wrap
from fairlead.cli.main import Exit
from fairlead.cli.text.shares import never_lines
from fairlead.model.words import counted, escaped, number, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.wire.fairness import LiveAudit


def run_live(args: argparse.Namespace) -> int:
    """Asks the service, and prints who is short. With --strict exit code 1 if anybody is,
    and Exit.LATER where nobody is and some are not judged yet."""
    args.check_live(args)
    with service_of(args) as service:
        found = service.audit()
    say_answer(args, found, lambda screen: lines(found, screen))
    if not args.strict:
        return Exit.OK
    if found.shortfalls:
        return Exit.REFUTED
    return Exit.LATER if found.behind else Exit.OK


def lines(found: LiveAudit, screen: Screen) -> Iterator[str]:
    """A row for each tenant that is short, then why."""
    exact = (
        "not computed yet" if found.exact is None else f"{ago(found.exact, found.time / 1e6)} ago"
    )
    looked = counted(found.tenants, "tenant")
    yield screen.dim(f"policy {found.policy}; {looked}; exact shares: {exact}")
    if found.problem:
        yield from wrap(f"There is no newer one: {escaped(found.problem)}.", screen)
    if found.behind:
        yield from wrap(sentence(found.behind), screen)
    if found.gap is not None:
        held = number(100 * (1 - found.gap), 3)
        yield f"of what is due by the exact allocation, tenants hold {held}%"
    yield ""
    if not found.shortfalls:
        if found.exact is not None and found.behind is None:
            yield "Everybody has what the exact allocation of the present demand guarantees."
        yield from _below_fair(found, screen)
        yield from never_lines(found, screen)
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
        yield from wrap(f"{escaped(short.sentence)}.", screen)
    yield from _below_fair(found, screen)
    yield from never_lines(found, screen)


def _below_fair(found: LiveAudit, screen: Screen) -> Iterator[str]:
    """A sentence for each tenant that is below its fair share and short of nothing."""
    for below in found.below_fair:
        yield ""
        yield from wrap(f"{escaped(below.sentence)}.", screen)
    if found.below_fair_more:
        yield ""
        yield f"{counted(found.below_fair_more, 'tenant')} more below the fair share, by less"
