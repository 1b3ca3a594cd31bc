"""`fairlead journal prune`: removes the old entries of a journal that no service writes now."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from fairlead.cli.common.durations import duration_of
from fairlead.cli.common.inputs import say
from fairlead.model.report import json_text
from fairlead.model.words import tally
from fairlead.service.journal.places import open_reader, open_store
from fairlead.service.process.clock import check_clock, wall_clock
from fairlead.service.recovery.recover import last_time
from fairlead.service.recovery.shortening import removable, shorten

PRUNE_SCHEMA = "fairlead.journal-prune/1"
MICROSECONDS = 10**6


def prune(place: str | Path, head: Path | None, args: argparse.Namespace) -> None:
    """Removes what may go, and gives the room back. Raises JournalError, DisagreementError and
    InputError: nothing is removed then, or the rest the next time."""
    keep = None if args.keep is None else round(duration_of("--keep", args.keep) * MICROSECONDS)
    open_reader(place, head)  # a new one is not made for this
    with closing(open_store(place, head)) as store:
        until = None
        if keep is not None:
            now = wall_clock()
            check_clock(now, last_time(store), is_right=args.clock_is_right)
            until = now - keep
        removed = shorten(store, until)
        more = removable(store, None) > store.start()
        store.compact()
        first, last = store.start() + 1, store.last()
        kept = [seq for seq, _ in store.snapshots()]
    if args.json:
        result = {"schema": PRUNE_SCHEMA, "removed": removed, "first": first, "last": last}
        say([json_text(result | {"snapshots": kept})], exact=True)
        return
    lines = [
        f"removed {tally(removed, 'entry')} of {store}",
        f"it begins with entry {first:,}",
    ]
    if not removed and len(kept) < 2:
        lines.append("only what two snapshots cover goes, and there are not two yet")
    elif more:
        lines.append(f"more can go once it is older than {args.keep}")
    say(lines)
