"""`fairlead journal`: is a service's journal whole, what does it say, and does it still follow?"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fairlead.cli.common.inputs import add_action, forget_stdout, say_result
from fairlead.cli.main import Exit
from fairlead.model.errors import InputError, OutputError
from fairlead.model.words import tally

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fairlead.service.journal.entry import Entry
    from fairlead.service.journal.reading import SqlReader

EPILOG = """\
examples:
  fairlead journal check                             of the service's own state folder
  fairlead journal replay /srv/fairlead
  fairlead journal export postgresql://db/fairlead --out journal.jsonl
  fairlead journal prune --keep 7d                   while no service writes it
  fairlead journal adopt --old-machine-is-gone       before a service on another machine goes on
  fairlead journal trace --out history; fairlead simulate history --policies tsf,drf

A journal is only read, also while a service writes it, but by `prune`
and `adopt`. The exit code is 1 where it
is damaged or a replay decides otherwise, and 2 where there is no journal that can be read.
"""

CHECK_SCHEMA = "fairlead.journal-check/1"
REPLAY_SCHEMA = "fairlead.journal-replay/1"
EXPORT_SCHEMA = "fairlead.journal/1"

ACTIONS = {
    "adopt": "write down that the machine on which tasks ran is gone, before another goes on",
    "check": "check that no entry is missing or damaged, and that each follows from the others",
    "export": "print every entry as a line of JSON",
    "prune": "remove old entries of which two snapshots say what they did",
    "replay": "replay all events into a new core, and compare every decision",
    "trace": "write what the service did as a trace that `fairlead simulate` replays",
}


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="|".join(ACTIONS))
    for name, summary in ACTIONS.items():
        action = add_action(actions, name, summary)
        action.add_argument(
            "place",
            nargs="?",
            metavar="PLACE",
            help="a state folder, a journal's file, or a postgresql:// URL (default: the state"
            " folder)",
        )
        action.add_argument(
            "--state",
            metavar="DIR",
            help="the service's state folder (default: FAIRLEAD_STATE, or ~/.local/state/fairlead)",
        )
        if name == "export":
            action.add_argument(
                "--after",
                type=int,
                metavar="SEQ",
                help="only entries after this one (default: all that are kept)",
            )
            action.add_argument("--out", metavar="FILE", help="write there (default: print)")
        if name == "trace":
            action.add_argument(
                "--out", required=True, metavar="DIR", help="a directory that is not there yet"
            )
            continue
        action.add_argument(
            "--json",
            action="store_true",
            help="print the result as JSON" + (", as the entries are" if name == "export" else ""),
        )
        if name == "check":
            action.add_argument(
                "--recent",
                action="store_true",
                help="only the snapshots, and the entries after the older one",
            )
        if name in ("adopt", "prune"):
            action.add_argument(
                "--clock-is-right",
                action="store_true",
                help="the clock is right, however far it is from the last entry",
            )
        if name == "adopt":
            action.add_argument(
                "--old-machine-is-gone",
                dest="gone",
                action="store_true",
                help="nothing runs there any more, and it does not come back with its state folder",
            )
            action.add_argument(
                "--may-run-twice",
                action="store_true",
                help="start again what must run once and may have begun there: it may happen twice",
            )
        if name == "prune":
            action.add_argument(
                "--keep",
                metavar="TIME",
                help="keep what is younger than this, as in 30d (default: all that can go goes)",
            )


def run(args: argparse.Namespace) -> int:
    """Does what was asked; damage and disagreement are exit code 1."""
    from fairlead.service.journal.entry import CorruptJournalError, JournalError
    from fairlead.service.recovery.core_fold import DisagreementError

    reader = None
    try:
        if args.action == "prune":
            from fairlead.cli.commands.journal_prune import prune

            prune(*_place(args), args)
        elif args.action == "adopt":
            from fairlead.cli.commands.journal_adopt import adopt

            adopt(*_place(args), args)
        else:
            actions = {"check": _check, "export": _export, "replay": _replay, "trace": _trace}
            reader = _reader(args)
            actions[args.action](reader, args)
    except CorruptJournalError as error:
        print(f"error: {error}", file=sys.stderr)
        return Exit.REFUTED
    except DisagreementError as error:
        print(f"error: {error}{_way_out(reader, error.seq)}", file=sys.stderr)
        return Exit.REFUTED
    except JournalError as error:
        raise InputError(str(error)) from error
    return Exit.OK


def _way_out(reader: SqlReader | None, seq: int) -> str:
    """What ends it that this version decides otherwise at that entry; where nothing does, nothing.
    The checksums say that the entry is what was written, so it was another version that did."""
    covering = [] if reader is None else [at for at, _ in reader.snapshots() if at >= seq]
    if not covering:
        return ""
    kept = (
        "; the entry is as another version of Fairlead wrote it, and a service goes on from the"
        f" snapshot of entry {covering[-1]}: "
    )
    if len(covering) == 1:
        return f"{kept}once there is a second snapshot, `fairlead journal prune` ends this"
    return f"{kept}`fairlead journal prune`, while none runs, ends this"


def _place(args: argparse.Namespace) -> tuple[str | Path, Path | None]:
    """The place of the journal that the arguments name, and its head."""
    import os
    from pathlib import Path

    from fairlead.client.places import state_folder
    from fairlead.service.journal.places import HEAD

    state = Path(args.state) if args.state else state_folder(os.environ)
    # Of another database than the service's own, the head of the default folder says nothing.
    own = args.state or not args.place
    return args.place or state, state / HEAD if own else None


def _reader(args: argparse.Namespace) -> SqlReader:
    """The journal that is meant, to be read."""
    from fairlead.service.journal.places import open_reader

    return open_reader(*_place(args))


def _check(reader: SqlReader, args: argparse.Namespace) -> None:
    """The files, the chain, and the state that follows from the entries."""
    from fairlead.cli.serving.compiling import compile_first
    from fairlead.service.recovery.verify import verify

    reader.check()
    compile_first()
    snapshots = reader.snapshots()
    start = reader.start()
    if args.recent and snapshots:
        start = snapshots[0][0]
    found = verify(_read_entries(reader, "entries", start), snapshots, start)
    result = {
        "schema": CHECK_SCHEMA,
        "first": found.first,
        "entries": found.entries,
        "steps": found.steps,
        "time": found.time,
        "snapshot": found.snapshot,
        "digest": found.digest,
    }
    kept = "no snapshot"
    if found.snapshot is not None:
        kept = f"with a snapshot of {found.snapshot:,} entries"
    lines = [f"{reader} is whole: {tally(found.entries, 'entry')}, {kept}"]
    if start:
        whose = "those before were not checked" if args.recent else "those before were removed"
        lines.append(f"from entry {found.first:,} on ({whose})")
        if found.base > start:
            lines.append(f"each follows from those before it after entry {found.base:,}")
    say_result(args.json, lambda: result, lambda _: [*lines, *_stands(result)])


def _replay(reader: SqlReader, args: argparse.Namespace) -> None:
    from fairlead.cli.serving.compiling import compile_first
    from fairlead.service.recovery.replay import replay

    compile_first()
    start, core = reader.start(), None
    if start:
        from fairlead.service.recovery.snapshots import load
        from fairlead.service.recovery.verify import base_of

        start, data = base_of(reader.snapshots(), start)
        core, _ = load(data)
    found = replay(_read_entries(reader, "entries", start), core=core)
    size = f"{tally(found.entries, 'entry')}, {tally(found.steps, 'step')}"
    decisions = tally(found.decisions, "decision")
    decided = f"{decisions} made again, all the same, after {tally(found.events, 'event')}"
    result = {"schema": REPLAY_SCHEMA, "first": start + 1} | asdict(found)
    say_result(
        args.json,
        lambda: result,
        lambda _: [
            f"{reader}: {size}",
            *([f"from entry {start + 1:,} on, on top of a snapshot"] if start else []),
            decided,
            *_stands(result),
        ],
    )


def _export(reader: SqlReader, args: argparse.Namespace) -> None:
    """All entries, once all of them were found whole."""
    from itertools import islice

    first, last = reader.start(), reader.last()
    args.after = first if args.after is None else args.after
    if args.after < 0 or args.after > last:
        raise InputError(
            f"--after {args.after}, but the last entry is {last}", "write one from 0 on"
        )
    if args.after < first:
        raise InputError(
            f"--after {args.after}, but the entries up to {first} were removed",
            f"write one from {first} on",
        )
    if args.out is None:  # nothing is printed of a journal that turns out to be damaged
        for _ in islice(_read_entries(reader, "entries checked", args.after), last - args.after):
            pass
    entries = islice(_read_entries(reader, "entries", args.after), last - args.after)
    lines = _lines(entries, args.after, last)
    if args.out is None:
        try:
            sys.stdout.writelines(lines)
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            forget_stdout()
            raise OutputError(f"the entries cannot be written: {error.strerror}") from error
        return
    from pathlib import Path

    from fairlead.whole_file import written_whole

    # Nobody else may read it: commands are in it.
    with (
        written_whole(Path(args.out), private=True) as beside,
        beside.open("w", encoding="utf-8") as out,
    ):
        out.writelines(lines)
    size = tally(last - args.after, "entry")
    say_result(args.json, lambda: _head(args.after, last), lambda _: [f"wrote {args.out}: {size}"])


def _trace(reader: SqlReader, args: argparse.Namespace) -> None:
    from fairlead.cli.commands.journal_trace import trace

    trace(str(reader), _read_entries(reader, "entries", reader.start()), args)


def _head(after: int, last: int) -> dict[str, Any]:
    return {"schema": EXPORT_SCHEMA, "after": after, "entries": last - after}


def _lines(entries: Iterator[Entry], after: int, last: int) -> Iterator[str]:
    from fairlead.service.journal.codec import to_text

    yield to_text(_head(after, last)) + "\n"
    for entry in entries:
        yield to_text({name: getattr(entry, name) for name in entry.__slots__}) + "\n"


def _read_entries(reader: SqlReader, unit: str, after: int = 0) -> Iterator[Entry]:
    """The entries, with a bar on a terminal."""
    from tqdm import tqdm

    # disable=None: a bar on a terminal, nothing in a pipe.
    with tqdm(
        total=reader.last() - after, unit=f" {unit}", disable=None, leave=False, unit_scale=True
    ) as bar:
        for number, entry in enumerate(reader.read(after), 1):
            yield entry
            if number % 1000 == 0:
                bar.update(1000)


def _stands(result: dict[str, Any]) -> list[str]:
    """Until when it goes, and how the core stands."""
    from datetime import UTC, datetime

    if result["digest"] is None:
        return ["no service has begun to write it"]
    until = datetime.fromtimestamp(result["time"] // 10**6, UTC)
    return [f"until {until:%Y-%m-%d %H:%M:%S} UTC", f"digest {result['digest']}"]
