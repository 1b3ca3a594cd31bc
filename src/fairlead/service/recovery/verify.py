"""Verification that a journal follows from its entries, with and without its snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairlead.scheduling.core import Core
from fairlead.service.journal.entry import CorruptJournalError, Entry
from fairlead.service.records.alike import alike
from fairlead.service.records.book import Records
from fairlead.service.recovery.recover import Recovery
from fairlead.service.recovery.snapshots import check_seq, load

Kept = tuple[int, bytes]
"""A snapshot: the entry that it is of, and its bytes."""


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a verification. `entries`: so many were seen, from the `first` on; of
    these all follow from one another after entry `base` (0: all of them). `digest`: of the core
    that follows; None: no service has begun. `snapshot`: the entry whose snapshot was gone through;
    None: there is none that this version reads."""

    entries: int
    steps: int
    time: int
    digest: str | None
    snapshot: int | None
    first: int = 1
    base: int = 0


def verify(
    entries: Iterable[Entry], snapshots: Sequence[Kept] = (), start: int = 0
) -> Verification:
    """Takes all entries to the core and the records as a service does that starts; and those after
    the newest snapshot once more on top of it, which must lead to the same.

    `start`: the entries up to that one were removed. Then those after the oldest snapshot are
    taken, on top of it. Raises CorruptJournalError, DisagreementError, and InternalError where the
    core contradicts itself in the end."""
    kept = list(snapshots)
    whole, short, base = Recovery(None, Records()), None, 0
    if start:
        base, whole = _base(kept, start)
    newest = kept[-1] if kept and kept[-1][0] > base else None
    count, step, steps = 0, 0, 0
    for entry in entries:
        count, steps, step = count + 1, steps + (entry.step != step), entry.step
        if entry.seq <= base:
            continue
        whole.take(entry)
        if short is not None:
            short.take(entry)
        elif newest is not None and newest[0] == entry.seq:
            short = _load_snapshot(*newest)
    whole.finish()
    core = whole.core
    if core is not None:
        core.check()
    if short is not None:
        short.finish()
        same = _digest(short.core) == _digest(core)
        if not same or not alike(short.records, whole.records):
            raise CorruptJournalError(
                "the snapshot and the entries after it give another state than all entries do"
            )
    return Verification(
        entries=count,
        steps=steps,
        time=whole.records.time,
        digest=_digest(core),
        snapshot=newest[0] if short is not None and newest is not None else base or None,
        first=start + 1,
        base=base,
    )


def base_of(snapshots: Sequence[Kept], start: int) -> Kept:
    """The snapshot from which the entries that are kept can be followed, where those up to `start`
    were removed. Raises CorruptJournalError where there is none."""
    if not snapshots:
        raise CorruptJournalError(
            f"the entries up to {start} were removed, and no snapshot that says what they did is"
            " whole"
        )
    return snapshots[0]


def _base(snapshots: Sequence[Kept], start: int) -> tuple[int, Recovery]:
    seq, data = base_of(snapshots, start)
    core, records = load(data)  # of another version: nothing can be said then
    check_seq(seq, records)
    return seq, Recovery(core, records)


def _load_snapshot(seq: int, data: bytes) -> Recovery | None:
    """The recovery on top of the snapshot; None where another version wrote it."""
    try:
        core, records = load(data)
    except CorruptJournalError:
        return None  # a service that starts passes over it, too: its bytes are those kept
    check_seq(seq, records)
    return Recovery(core, records)


def _digest(core: Core | None) -> str | None:
    return None if core is None else core.digest()
