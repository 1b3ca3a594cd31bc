"""`fairlead journal adopt`: an operator's word that the machine on which tasks ran is gone."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from fairlead.cli.common.inputs import say
from fairlead.cli.serving.compiling import compile_first
from fairlead.model.errors import InputError
from fairlead.model.report import json_text
from fairlead.model.words import counted
from fairlead.service.journal.entry import Entry
from fairlead.service.journal.places import open_reader, open_store
from fairlead.service.process.clock import check_clock, wall_clock
from fairlead.service.recovery.configuration import ENGINE_GONE
from fairlead.service.recovery.recover import follow, newest

ADOPT_SCHEMA = "fairlead.journal-adopt/1"


def adopt(place: str | Path, head: Path | None, args: argparse.Namespace) -> None:
    """Writes the word down. Raises JournalError, DisagreementError and InputError: nothing is
    written then."""
    if not args.gone:
        raise InputError(
            "nothing tells that the old machine is gone",
            "make sure that nothing of it runs any more, then write --old-machine-is-gone",
        )
    open_reader(place, head)  # a new one is not made for this
    with closing(open_store(place, head)) as store:
        compile_first()
        core, records = newest(store)
        follow(store, core, records)
        if records.start is None:
            raise InputError(
                "no service has started with this journal", "there is nothing to adopt"
            )
        now = wall_clock()
        check_clock(now, records.time, is_right=args.clock_is_right)
        body: dict[str, object] = {"engine": records.start.engine}
        if args.may_run_twice:
            body["may_run_twice"] = True
        store.append(
            [Entry(records.seq + 1, records.step + 1, max(records.time, now), ENGINE_GONE, body)]
        )
        held = sum(len(machine.held) for machine in records.machines.values())
        name = str(store)
    if args.json:
        result = {"schema": ADOPT_SCHEMA, "attempts": held, "may_run_twice": False} | body
        say([json_text(result)], exact=True)
        return
    then = "what is `rerunnable: false` fails, as it may have begun there"
    if args.may_run_twice:
        then = "what is `rerunnable: false`, too, though it may have begun there"
    say(
        [
            f"{name}: written down that the engine is gone which had {counted(held, 'attempt')}",
            f"the next service, with another engine, starts them again; {then}",
        ]
    )
