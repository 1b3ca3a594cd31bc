"""`fairlead whatif --live`: what would change of the jobs and machines of a running service."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from fairlead.cli.common.remote import say_answer, service_of
from fairlead.cli.common.screen import Screen, table, wrap
from fairlead.cli.text.warnings_of_two import warnings_of_two
from fairlead.model.errors import InputError
from fairlead.model.words import escaped, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fairlead.wire.fairness import WhatIfAnswer


def run_live(args: argparse.Namespace, changes: Mapping[str, Sequence[str]]) -> int:
    """Asks the service, and prints who would gain and who would lose by these changes."""
    args.check_live(args)
    asked = {name: list(texts) for name, texts in changes.items() if texts}
    if not asked:
        raise InputError("nothing is changed", 'say what, as in --add "4 x h01"')
    with service_of(args) as service:
        found = service.whatif(**asked)
    say_answer(args, found, lambda screen: lines(found, screen))
    return 0


def lines(found: WhatIfAnswer, screen: Screen) -> Iterator[str]:
    """Tables of tasks and shares before and after, then the sentences and the warnings."""
    tree: dict[str, Any] = found.whatif
    for what, names in (("job", tree["jobs"]), ("tenant", tree["tenants"])):
        # Of a job nothing is on a scale.
        old = [row.get("after_by_scales_of_before", row["after"]) for row in names]
        moved = any(one != row["after"] for one, row in zip(old, names, strict=True))
        rows = [
            [
                escaped(row[what]),
                number(row["before"]),
                number(row["after"]),
                *[number(one)] * moved,
                row["verdict"],
            ]
            for one, row in zip(old, names, strict=True)
        ]
        unit = "tasks" if what == "job" else "share"
        header = [what, f"{unit} before", "after", *["on the old scale"] * moved, ""]
        yield from table(header, rows, "<>>" + ">" * moved + "<", screen)
        yield ""
    for sentence in found.sentences:
        yield from wrap(f"{escaped(sentence)}.", screen)
    for text in warnings_of_two(tree["warnings_before"], tree["warnings_after"]):
        yield from wrap(text, screen)
